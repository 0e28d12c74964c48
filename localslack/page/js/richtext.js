/** Drawing rich_text blocks: sections, lists, quotes and preformatted text. */

import { el } from "./dom.js";
import { broadcast, channelMention, codeBlock, dateText, emoji, userMention } from "./inline.js";
import { anchor } from "./links.js";

/** @typedef {import("./context.js").Context} Context */

/**
 * Draw a rich_text block.
 *
 * @param {object} block
 * @param {Context} ctx
 * @returns {HTMLElement}
 */
export function richText(block, ctx) {
  return el("div", { class: "rich-text" }, drawParts(block.elements ?? [], ctx));
}


function drawParts(parts, ctx) {
  return parts.map((part) => {
    if (part.type === "rich_text_list") return list(part, ctx);
    if (part.type === "rich_text_preformatted") return preformatted(part, ctx);
    if (part.type === "rich_text_quote") return el("blockquote", {}, inlines(part.elements, ctx));
    return el("div", { class: "rich-section" }, inlines(part.elements, ctx));
  });
}

/** A code block; with a border it stands inside a quote. */
function preformatted(part, ctx) {
  const code = codeBlock(inlines(part.elements, ctx, { literal: true }));
  return part.border ? el("blockquote", {}, code) : code;
}

function list(part, ctx) {
  const ordered = part.style === "ordered";
  const indent = Math.min(Math.max(Number(part.indent) || 0, 0), 8);
  const attributes = { class: `rich-list indent-${indent}` };
  if (ordered && part.offset) attributes.start = Number(part.offset) + 1;
  const items = (part.elements ?? []).map((item) => el("li", {}, inlines(item.elements, ctx)));
  return el(ordered ? "ol" : "ul", attributes, items);
}

function inlines(elements = [], ctx, { literal = false } = {}) {
  return elements.map((element) => styled(leaf(element, ctx, literal), element.style ?? {}));
}

function leaf(element, ctx, literal) {
  switch (element.type) {
    case "text":
      return literal ? element.text : lines(element.text);
    case "link":
      return anchor(element.url, [element.text || element.url], ctx);
    case "emoji":
      return emoji(element.name, ctx, fromCodePoints(element.unicode));
    case "user":
      return userMention(element.user_id, null, ctx);
    case "channel":
      return channelMention(element.channel_id, null, ctx);
    case "usergroup":
      return el("span", { class: "mention" }, "@group");
    case "broadcast":
      return broadcast(element.range);
    case "date":
      return dateText(
        { timestamp: element.timestamp, pattern: element.format, url: element.url ?? null, fallback: element.fallback ?? "" },
        ctx,
      );
    case "color":
      return el("code", { class: "code" }, element.value);
    default:
      return `[${element.type}]`;
  }
}

function lines(text) {
  return text.split("\n").flatMap((line, index) => (index ? [el("br"), line] : [line]));
}

function styled(node, style) {
  let drawn = node;
  if (style.code) drawn = el("code", { class: "code" }, drawn);
  if (style.strike) drawn = el("s", {}, drawn);
  if (style.italic) drawn = el("em", {}, drawn);
  if (style.bold) drawn = el("strong", {}, drawn);
  return drawn;
}

function fromCodePoints(unicode) {
  if (typeof unicode !== "string" || !/^[0-9a-f]{2,6}(-[0-9a-f]{2,6})*$/i.test(unicode)) return null;
  const points = unicode.split("-").map((point) => parseInt(point, 16));
  return points.every((point) => point <= 0x10ffff) ? String.fromCodePoint(...points) : null;
}
