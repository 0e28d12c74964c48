/** Drawing Block Kit blocks, in messages, modals and the Home tab. */

import { avatar } from "./avatar.js";
import { el, icon, uniqueId } from "./dom.js";
import { drawElement, image } from "./elements.js";
import { plain, textObject } from "./inline.js";
import { anchor, safeUrl } from "./links.js";
import { richText } from "./richtext.js";

/** @typedef {import("./elements.js").Surface} Surface */

const DRAW = {
  section, context, actions, header, input, image: imageBlock,
  divider: () => el("hr", { class: "block divider" }),
  rich_text: (block, surface) => el("div", { class: "block" }, richText(block, surface.ctx)),
  markdown: (block, surface) => el("div", { class: "block" }, plain(block.text, surface.ctx)),
  video: (block, surface) => el("div", { class: "block" }, anchor(block.title_url ?? block.video_url, [textObject(block.title, surface.ctx)], surface.ctx)),
};

/**
 * Draw blocks in order.
 *
 * @param {object[]} blocks
 * @param {Surface} surface
 * @returns {HTMLElement[]}
 */
export function drawBlocks(blocks, surface) {
  return blocks.map((block) => (DRAW[block.type] ?? undrawn)(block, surface));
}

/**
 * Where the inputs of these blocks are.
 *
 * @param {object[]} blocks
 * @returns {Array<[string, string]>} Pairs of block_id and action_id.
 */
export function inputPlaces(blocks) {
  return blocks.flatMap((block) => {
    const elements = [...(block.type === "actions" ? block.elements : []), block.element, block.accessory];
    return elements.filter((element) => element?.action_id).map((element) => [block.block_id, element.action_id]);
  });
}

function undrawn(block) {
  return el("div", { class: "block undrawn" }, `This page does not draw blocks of the type “${block.type}”.`);
}

function place(block, changes = {}) {
  return { blockId: block.block_id ?? "", live: true, labelId: null, describedBy: null, invalid: false, required: false, ...changes };
}

function section(block, surface) {
  const text = block.text && el("div", { class: "text" }, textObject(block.text, surface.ctx));
  const fields = block.fields?.length
    && el("div", { class: "fields" }, block.fields.map((field) => el("div", { class: "text" }, textObject(field, surface.ctx))));
  const accessory = block.accessory
    && el("div", { class: "accessory" }, drawElement(block.accessory, place(block), surface));
  return el("div", { class: accessory ? "block section with-accessory" : "block section" }, el("div", { class: "section-main" }, text, fields), accessory);
}

function context(block, surface) {
  return el("div", { class: "block context" }, block.elements.map((element) =>
    element.type === "image"
      ? avatar({ name: element.alt_text ?? "", id: idByName(element.alt_text, surface.ctx), small: true, labelled: true })
      : el("span", { class: "text" }, textObject(element, surface.ctx))));
}

/** An image in a context line is most often a face: its colour is the person's own where the name is known. */
function idByName(name, ctx) {
  return [...ctx.people.values()].find((person) => person.label === name || person.realName === name)?.id ?? name ?? "";
}

function actions(block, surface) {
  return el("div", { class: "block actions" }, block.elements.map((element) => drawElement(element, place(block), surface)));
}

function header(block, surface) {
  // A view's title is the level above; a message stands at the same depth.
  return el("h3", { class: "block header" }, textObject(block.text, surface.ctx));
}

function imageBlock(block, surface) {
  const url = safeUrl(block.image_url);
  return el("figure", { class: "block image" },
    block.title && el("figcaption", {}, textObject(block.title, surface.ctx)),
    image(block),
    url && anchor(url, ["Open the image", icon("external")], surface.ctx, { class: "image-link" }));
}

function input(block, surface) {
  const error = surface.errors[block.block_id];
  const ids = { label: uniqueId("label"), hint: uniqueId("hint"), error: uniqueId("error") };
  const describedBy = [block.hint && ids.hint, error && ids.error].filter(Boolean).join(" ") || null;
  const element = drawElement(block.element, place(block, {
    live: block.dispatch_action === true, labelId: ids.label, describedBy, invalid: Boolean(error), required: block.optional !== true,
  }), surface);
  const label = el("div", { class: "label", id: ids.label }, textObject(block.label, surface.ctx),
    block.optional && el("span", { class: "optional" }, " (optional)"));
  label.addEventListener("click", () => element.querySelector?.("input")?.focus() ?? element.focus?.());
  return el("div", { class: error ? "block input has-error" : "block input" }, label, element,
    block.hint && el("div", { class: "hint", id: ids.hint }, textObject(block.hint, surface.ctx)),
    error && el("div", { class: "field-error", id: ids.error }, icon("warning"), error));
}
