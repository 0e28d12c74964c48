/** Interactive elements: buttons, overflow menus, selects, dates, choices and text inputs. */

import { channelTitle } from "./context.js";
import { combobox } from "./combobox.js";
import { askConfirmation } from "./dialog.js";
import { el, icon, uniqueId } from "./dom.js";
import { textObject } from "./inline.js";
import { anchor, parsePermalink, safeUrl } from "./links.js";
import { menuButton } from "./menu.js";

/**
 * @typedef {object} Surface Where blocks stand: a message, a modal or the Home tab.
 * @property {import("./context.js").Context} ctx
 * @property {"message"|"modal"|"home"} kind
 * @property {import("./values.js").Values} values
 * @property {Record<string, string>} errors Sentences by block_id, from the last submission.
 * @property {(action: object) => Promise<boolean>} dispatch Sends block_actions; true when the app took it.
 *
 * @typedef {object} Place
 * @property {string} blockId
 * @property {boolean} live Whether a change is sent to the app at once.
 * @property {string|null} labelId Element that names the input.
 * @property {string|null} describedBy Ids of hint and error.
 * @property {boolean} invalid
 * @property {boolean} required
 */

const LONGEST_BUSY_MS = 8000;

/** Element types that hold an entry. */
const INPUTS = {
  plain_text_input: textInput,
  email_text_input: (element, place, surface) => textInput(element, place, surface, "email"),
  url_text_input: (element, place, surface) => textInput(element, place, surface, "url"),
  number_input: (element, place, surface) => textInput(element, place, surface, "text"),
  datepicker: (element, place, surface) => native(element, place, surface, { type: "date", name: "date" }),
  timepicker: (element, place, surface) => native(element, place, surface, { type: "time", name: "time" }),
  checkboxes: (element, place, surface) => optionGroup(element, place, surface, "checkbox"),
  radio_buttons: (element, place, surface) => optionGroup(element, place, surface, "radio"),
};

/**
 * Draw an element.
 *
 * @param {object} element
 * @param {Place} place
 * @param {Surface} surface
 * @returns {Node}
 */
export function drawElement(element, place, surface) {
  if (element.type === "button") return button(element, place, surface);
  if (element.type === "overflow") return overflow(element, place, surface);
  if (element.type === "image") return image(element);
  const draw = INPUTS[element.type] ?? (element.type.endsWith("_select") ? select : null);
  if (draw) return draw(element, place, surface);
  return el("span", { class: "undrawn" }, `This page does not draw “${element.type}”.`);
}

/**
 * Show an image without fetching it: the page asks nothing of other machines.
 *
 * @param {{image_url?: string, alt_text?: string}} element
 * @returns {HTMLElement}
 */
export function image(element) {
  return el("span", { class: "image-stand-in", role: "img", "aria-label": element.alt_text ?? "" },
    icon("image"), el("span", { "aria-hidden": "true" }, element.alt_text ?? "image"));
}

/** Send an action, after Slack's confirm question where the element has one. */
async function send(element, action, surface) {
  return (await isConfirmed(element, surface.ctx)) && surface.dispatch(action);
}

async function isConfirmed(element, ctx) {
  const { confirm } = element;
  if (!confirm) return true;
  return askConfirmation({
    title: textObject(confirm.title, ctx), text: textObject(confirm.text, ctx),
    confirm: textObject(confirm.confirm, ctx), deny: textObject(confirm.deny, ctx),
    danger: confirm.style === "danger",
  });
}

function button(element, place, surface) {
  const attributes = {
    class: `button ${element.style ?? ""}`.trim(),
    "data-action": element.action_id, "data-block": place.blockId,
    "aria-label": element.accessibility_label,
  };
  const action = { type: "button", block_id: place.blockId, action_id: element.action_id, value: element.value ?? null };
  const press = async (event) => {
    const node = event.currentTarget;
    if (node.getAttribute("aria-busy") === "true" || !(await isConfirmed(element, surface.ctx))) return;
    if (!safeUrl(element.url)) node.setAttribute("aria-busy", "true");
    const taken = await surface.dispatch(action);
    // A taken press stays busy until something comes of it, which may be never.
    if (taken) setTimeout(() => node.removeAttribute("aria-busy"), LONGEST_BUSY_MS);
    else node.removeAttribute("aria-busy");
  };
  const label = textObject(element.text, surface.ctx);
  if (safeUrl(element.url)) return anchor(element.url, [label, icon("external")], surface.ctx, { ...attributes, class: `${attributes.class} link`, onclick: press });
  return el("button", { type: "button", ...attributes, onclick: press }, label);
}

/** Open an option's address: a permalink inside the page, any other web address in a new tab. */
function follow(address, ctx) {
  const url = safeUrl(address);
  const inside = url && parsePermalink(url, ctx.teamUrl);
  if (inside) ctx.openPermalink(inside);
  else if (url) window.open(url, "_blank", "noopener,noreferrer");
}

function overflow(element, place, surface) {
  const items = () => element.options.map((option) => ({
    label: textObject(option.text, surface.ctx),
    detail: option.description?.text,
    onSelect: () => {
      follow(option.url, surface.ctx);
      send(element, { type: "overflow", block_id: place.blockId, action_id: element.action_id, selected_option: option }, surface);
    },
  }));
  const node = menuButton({ label: "More choices", className: "button overflow", align: "end", items });
  node.dataset.action = element.action_id;
  node.dataset.block = place.blockId;
  return node;
}

/** Attributes that tie an input to its label, hint and error. */
function tied(element, place) {
  return {
    "data-action": element.action_id, "data-block": place.blockId,
    "aria-labelledby": place.labelId, "aria-describedby": place.describedBy,
    "aria-invalid": place.invalid ? "true" : null, "aria-required": place.required ? "true" : null,
  };
}

function remember(element, place, surface, state) {
  surface.values.set(place.blockId, element.action_id, { type: element.type, ...state });
}

function announce(element, place, surface, state) {
  remember(element, place, surface, state);
  if (!place.live) return;
  send(element, { type: element.type, block_id: place.blockId, action_id: element.action_id, ...state }, surface);
}

function textInput(element, place, surface, type = "text") {
  const start = surface.values.start(place.blockId, element.action_id, () => ({
    type: element.type, value: element.initial_value ?? null,
  }));
  const config = element.dispatch_action_config?.trigger_actions_on ?? ["on_enter_pressed"];
  const attributes = {
    class: "field", maxlength: element.max_length, placeholder: element.placeholder?.text,
    "aria-label": place.labelId ? null : (element.placeholder?.text ?? "Text"), ...tied(element, place),
  };
  const read = () => (input.value === "" ? null : input.value);
  const typed = () => (config.includes("on_character_entered") ? announce : remember)(element, place, surface, { value: read() });
  const entered = (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || element.multiline) return;
    if (!place.live || !config.includes("on_enter_pressed")) return;
    event.preventDefault();
    announce(element, place, surface, { value: read() });
  };
  const input = element.multiline
    ? el("textarea", { rows: "4", ...attributes, oninput: typed })
    : el("input", { type, autocomplete: "off", ...attributes, oninput: typed, onkeydown: entered });
  input.value = start.value ?? "";
  if (element.focus_on_load) input.setAttribute("data-autofocus", "");
  return input;
}

function native(element, place, surface, { type, name }) {
  const field = `selected_${name}`;
  const start = surface.values.start(place.blockId, element.action_id, () => ({
    type: element.type, [field]: element[`initial_${name}`] ?? null,
  }));
  const changed = () => announce(element, place, surface, { [field]: input.value || null });
  const input = el("input", {
    type, class: "field field-short", "aria-label": place.labelId ? null : (element.placeholder?.text ?? name),
    ...tied(element, place), onchange: changed,
  });
  input.value = start[field] ?? "";
  return input;
}

function optionGroup(element, place, surface, type) {
  const several = type === "checkbox";
  const field = several ? "selected_options" : "selected_option";
  const start = surface.values.start(place.blockId, element.action_id, () => ({
    type: element.type, [field]: element[several ? "initial_options" : "initial_option"] ?? (several ? [] : null),
  }));
  const chosen = new Set([start[field] ?? []].flat().map((option) => option.value));
  const name = uniqueId("group");
  const changed = () => {
    const picked = element.options.filter((_, index) => boxes[index].checked);
    announce(element, place, surface, { [field]: several ? picked : (picked[0] ?? null) });
  };
  const boxes = element.options.map((option) => {
    const box = el("input", { type, name, "data-action": element.action_id, "data-block": place.blockId, onchange: changed });
    box.checked = chosen.has(option.value);
    return box;
  });
  const rows = element.options.map((option, index) => el("label", { class: "option" }, boxes[index],
    el("span", {}, textObject(option.text, surface.ctx),
      option.description && el("span", { class: "option-detail" }, textObject(option.description, surface.ctx)))));
  return el("div", {
    class: "options", role: several ? "group" : "radiogroup", "aria-labelledby": place.labelId,
    "aria-label": place.labelId ? null : "Choices", "aria-describedby": place.describedBy,
  }, rows);
}

/** How each kind of select finds its choices and names its state. */
const SELECTS = {
  static: { one: "selected_option", many: "selected_options", initial: "option", choices: optionChoices },
  users: { one: "selected_user", many: "selected_users", initial: "user", choices: userChoices },
  channels: { one: "selected_channel", many: "selected_channels", initial: "channel", choices: channelChoices },
  conversations: { one: "selected_conversation", many: "selected_conversations", initial: "conversation", choices: channelChoices },
};

function select(element, place, surface) {
  const multiple = element.type.startsWith("multi_");
  const kind = SELECTS[element.type.replace("multi_", "").replace("_select", "")];
  if (!kind) return el("span", { class: "undrawn" }, `This page does not draw “${element.type}”.`);
  const field = multiple ? kind.many : kind.one;
  const all = kind.choices(element, surface.ctx);
  const start = surface.values.start(place.blockId, element.action_id, () => ({
    type: element.type, [field]: initial(element, kind, multiple),
  }));
  const ids = [start[field] ?? []].flat().map((one) => (typeof one === "string" ? one : one.value));
  const changed = (picked) => {
    const values = picked.map((choice) => choice.option ?? choice.value);
    announce(element, place, surface, { [field]: multiple ? values : (values[0] ?? null) });
  };
  const placeholder = element.placeholder?.text ?? (multiple ? "Choose some" : "Choose one");
  return combobox({
    id: uniqueId("select"), label: place.labelId ? null : placeholder, placeholder, multiple,
    maximum: element.max_selected_items, attributes: tied(element, place),
    selected: all.filter((choice) => ids.includes(choice.value)),
    load: (query) => all.filter((choice) => choice.text.toLowerCase().includes(query)),
    onChange: changed,
  });
}

function initial(element, kind, multiple) {
  if (!multiple) return element[`initial_${kind.initial}`] ?? null;
  return element[`initial_${kind.initial}s`] ?? [];
}

function optionChoices(element) {
  const groups = element.option_groups ?? [{ label: null, options: element.options ?? [] }];
  return groups.flatMap((group) => group.options.map((option) => ({
    value: option.value, text: option.text.text, description: option.description?.text, group: group.label?.text, option,
  })));
}

function userChoices(_element, ctx) {
  const people = [...ctx.people.values()].filter((person) => !person.isDeleted);
  return people
    .map((person) => ({ value: person.id, text: person.label, description: person.realName === person.label ? "" : person.realName }))
    .sort((a, b) => a.text.localeCompare(b.text));
}

function channelChoices(element, ctx) {
  const include = element.type.includes("channels") ? ["public"] : element.filter?.include;
  return [...ctx.channels.values()]
    .filter((channel) => !channel.isArchived && (!include || include.includes(channel.kind)))
    .map((channel) => ({ value: channel.id, text: `${channel.kind.endsWith("im") ? "" : "#"}${channelTitle(ctx, channel)}` }))
    .sort((a, b) => a.text.localeCompare(b.text));
}
