/** Drawing the leaves of text: mentions, links, dates, emoji, and whole mrkdwn trees. */

import { channelName, personName } from "./context.js";
import { el } from "./dom.js";
import { anchor } from "./links.js";
import { parseMrkdwn } from "./mrkdwn.js";
import { formatDate, fullTime } from "./time.js";

/** @typedef {import("./context.js").Context} Context */

/**
 * Draw an emoji by name; an unknown one stays as :name:.
 *
 * @param {string} name Without colons; a skin tone after "::" is dropped.
 * @param {Context} ctx
 * @param {string|null} [character] Used where the sender told it.
 * @returns {Node}
 */
export function emoji(name, ctx, character = null) {
  const found = character ?? emojiCharacter(name, ctx);
  if (!found) return document.createTextNode(`:${name}:`);
  return el("span", { class: "emoji", role: "img", "aria-label": name.replaceAll("_", " "), title: `:${name}:` }, found);
}

/** Slack writes woman-shrugging and flag-de where the list has woman_shrugging and de. */
function emojiCharacter(name, ctx) {
  const base = name.split("::")[0];
  const names = [base, base.replaceAll("-", "_"), base.replace(/^flag-/, "")];
  return names.map((one) => (Object.hasOwn(ctx.emoji, one) ? ctx.emoji[one] : null)).find(Boolean) ?? null;
}

/** Draw a mention of a person. */
export function userMention(id, label, ctx) {
  const name = ctx.people.has(id) ? personName(ctx, id) : (label ?? id);
  return el("span", { class: id === ctx.me ? "mention mention-me" : "mention" }, `@${name.replace(/^@/, "")}`);
}

/** Draw a mention of a channel: a way there for one who can see it, else Slack's "private channel". */
export function channelMention(id, label, ctx) {
  const { text, known } = channelName(ctx, id);
  if (!known) return el("span", { class: "mention mention-closed" }, label ? `#${label}` : text);
  const open = () => ctx.openChannel(id);
  return el("button", { type: "button", class: "mention mention-link", onclick: open }, `#${text}`);
}

/** Draw @here, @channel or @everyone. */
export function broadcast(range) {
  return el("span", { class: "mention mention-broadcast" }, `@${range}`);
}

/**
 * Draw a date in the viewer's zone.
 *
 * @param {{timestamp: number, pattern: string, url: string|null, fallback: string}} date
 * @param {Context} ctx
 * @returns {HTMLElement}
 */
export function dateText(date, ctx) {
  const stamp = new Date(date.timestamp * 1000);
  // Slack shows the fallback where it cannot show the moment; no number, or a year beyond JavaScript's.
  if (Number.isNaN(stamp.getTime())) return el("span", {}, date.fallback);
  const text = formatDate(date.timestamp, date.pattern, { zone: ctx.zone, now: ctx.now() });
  const time = el("time", { datetime: stamp.toISOString(), title: fullTime(date.timestamp, ctx.zone) }, text);
  return date.url ? anchor(date.url, [time], ctx) : time;
}

/** Draw a code block. Focusable, because a wide one scrolls. */
export function codeBlock(...children) {
  return el("pre", { class: "code-block", tabindex: "0", role: "region", "aria-label": "Code" }, el("code", {}, children));
}

const DRAW = {
  text: (node) => document.createTextNode(node.text),
  break: () => el("br"),
  bold: (node, ctx) => el("strong", {}, drawNodes(node.children, ctx)),
  italic: (node, ctx) => el("em", {}, drawNodes(node.children, ctx)),
  strike: (node, ctx) => el("s", {}, drawNodes(node.children, ctx)),
  quote: (node, ctx) => el("blockquote", {}, drawNodes(node.children, ctx)),
  code: (node) => el("code", { class: "code" }, node.text),
  pre: (node) => codeBlock(node.text),
  link: (node, ctx) => anchor(node.url, drawNodes(node.children, ctx), ctx),
  user: (node, ctx) => userMention(node.id, node.label, ctx),
  channel: (node, ctx) => channelMention(node.id, node.label, ctx),
  usergroup: (node) => el("span", { class: "mention" }, node.label ?? "@group"),
  broadcast: (node) => broadcast(node.range),
  date: (node, ctx) => dateText(node, ctx),
  emoji: (node, ctx) => emoji(node.name, ctx),
};

/**
 * Draw parsed mrkdwn.
 *
 * @param {Array<object>} nodes
 * @param {Context} ctx
 * @returns {Node[]}
 */
export function drawNodes(nodes, ctx) {
  return nodes.map((node) => DRAW[node.type](node, ctx));
}

/**
 * Draw mrkdwn source.
 *
 * @param {string} source
 * @param {Context} ctx
 * @param {{verbatim?: boolean}} [options]
 * @returns {Node[]}
 */
export function mrkdwn(source, ctx, options) {
  return drawNodes(parseMrkdwn(source, options), ctx);
}

/**
 * Draw plain text with :emoji: and line breaks, as in buttons and headers.
 *
 * @param {string} source
 * @param {Context} ctx
 * @param {{withEmoji?: boolean}} [options]
 * @returns {Node[]}
 */
export function plain(source, ctx, { withEmoji = true } = {}) {
  const parts = withEmoji ? source.split(/(:[a-z0-9_+-]+:)/) : [source];
  return parts.filter(Boolean).flatMap((part) => {
    const name = withEmoji && /^:([a-z0-9_+-]+):$/.exec(part)?.[1];
    if (name && emojiCharacter(name, ctx)) return [emoji(name, ctx)];
    return part.split("\n").flatMap((line, index) => (index ? [el("br"), line] : [line]));
  });
}

/**
 * Draw one of Slack's text objects.
 *
 * @param {{type: string, text: string, emoji?: boolean, verbatim?: boolean}|null|undefined} object
 * @param {Context} ctx
 * @returns {Node[]}
 */
export function textObject(object, ctx) {
  if (!object) return [];
  if (object.type === "mrkdwn") return mrkdwn(object.text, ctx, { verbatim: object.verbatim === true });
  return plain(object.text, ctx, { withEmoji: object.emoji !== false });
}
