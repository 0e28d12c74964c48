/** One choice list with a filter, for every kind of select that Slack has. */

import { el, fill, icon, uniqueId } from "./dom.js";
import { place } from "./popup.js";

/**
 * @typedef {object} Choice
 * @property {string} value
 * @property {string} text
 * @property {string} [description]
 * @property {string} [group]
 *
 * @typedef {object} ComboboxOptions
 * @property {string} id Of the input, for its label.
 * @property {string} label Spoken name where no label element names the input.
 * @property {string} placeholder
 * @property {(query: string) => Promise<Choice[]>|Choice[]} load Choices for what has been typed.
 * @property {Choice[]} selected
 * @property {boolean} multiple
 * @property {number} [maximum] Of selected choices.
 * @property {Record<string, string>} [attributes] More attributes of the input.
 * @property {(selected: Choice[]) => void} onChange
 */

const SHOWN_CHOICES = 100;

/**
 * Make a combobox (ARIA 1.2 pattern: the input keeps the focus, the list is described to it).
 *
 * @param {ComboboxOptions} options
 * @returns {HTMLElement}
 */
export function combobox(options) {
  return new Combobox(options).root;
}

class Combobox {
  constructor(options) {
    this.options = options;
    this.selected = [...options.selected];
    this.choices = [];
    this.active = -1;
    this.request = 0;
    this.list = el("ul", { class: "combo-list", role: "listbox", id: uniqueId("list"), "aria-label": options.label });
    if (options.multiple) this.list.setAttribute("aria-multiselectable", "true");
    this.list.hidden = true;
    this.input = this.makeInput();
    this.chips = options.multiple ? el("ul", { class: "chips", "aria-label": "Chosen" }) : null;
    this.root = el("div", { class: options.multiple ? "combo combo-multi" : "combo" }, this.chips,
      el("div", { class: "combo-field" }, this.input, icon("down")), this.list);
    this.showSelection();
  }

  makeInput() {
    return el("input", {
      type: "text", role: "combobox", id: this.options.id, class: "field", autocomplete: "off",
      spellcheck: "false", placeholder: this.options.placeholder, "aria-label": this.options.label,
      "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": this.list.id,
      ...this.options.attributes,
      onclick: () => this.open(""),
      oninput: () => this.open(this.input.value),
      onkeydown: (event) => this.onKey(event),
      onblur: () => this.close(),
    });
  }

  get isOpen() {
    return !this.list.hidden;
  }

  async open(query) {
    const request = (this.request += 1);
    const choices = await this.options.load(query.trim().toLowerCase());
    if (request !== this.request || !this.input.isConnected) return;
    this.choices = choices.slice(0, SHOWN_CHOICES);
    this.list.hidden = false;
    this.input.setAttribute("aria-expanded", "true");
    this.drawChoices(choices.length - this.choices.length);
    this.activate(this.choices.length ? Math.max(0, this.choices.findIndex((choice) => this.has(choice))) : -1);
    place(this.list, this.input, { matchWidth: true });
  }

  close() {
    this.request += 1;
    this.list.hidden = true;
    this.active = -1;
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
    this.input.value = this.options.multiple ? "" : (this.selected[0]?.text ?? "");
  }

  drawChoices(left) {
    let group;
    const rows = this.choices.flatMap((choice, index) => {
      const heading = choice.group && choice.group !== group;
      group = choice.group;
      return [heading && el("li", { class: "combo-group", role: "presentation" }, choice.group), this.row(choice, index)];
    });
    if (!this.choices.length) rows.push(el("li", { class: "combo-note", role: "presentation" }, "No match"));
    if (left > 0) rows.push(el("li", { class: "combo-note", role: "presentation" }, `${left} more: type to narrow down`));
    fill(this.list, rows);
  }

  row(choice, index) {
    return el(
      "li",
      {
        role: "option", id: `${this.list.id}-${index}`, "aria-selected": String(this.has(choice)),
        // The press must not move the focus, or the list would close before the click.
        onpointerdown: (event) => event.preventDefault(),
        onclick: () => this.choose(choice),
      },
      el("span", {}, choice.text),
      choice.description && el("span", { class: "combo-detail" }, choice.description),
    );
  }

  activate(index) {
    this.active = index;
    for (const [at, row] of [...this.list.querySelectorAll("[role=option]")].entries()) {
      row.classList.toggle("active", at === index);
      if (at === index) row.scrollIntoView({ block: "nearest" });
    }
    if (index < 0) this.input.removeAttribute("aria-activedescendant");
    else this.input.setAttribute("aria-activedescendant", `${this.list.id}-${index}`);
  }

  has(choice) {
    return this.selected.some((one) => one.value === choice.value);
  }

  choose(choice) {
    const { multiple, maximum = Infinity } = this.options;
    if (!multiple) this.selected = [choice];
    else if (this.has(choice)) this.selected = this.selected.filter((one) => one.value !== choice.value);
    else if (this.selected.length < maximum) this.selected = [...this.selected, choice];
    this.changed();
  }

  changed() {
    this.close();
    this.showSelection();
    this.options.onChange([...this.selected]);
  }

  showSelection() {
    if (!this.chips) {
      this.input.value = this.selected[0]?.text ?? "";
      return;
    }
    this.chips.hidden = this.selected.length === 0;
    fill(this.chips, this.selected.map((choice) => this.chip(choice)));
  }

  chip(choice) {
    const remove = () => {
      this.selected = this.selected.filter((one) => one.value !== choice.value);
      this.changed();
      this.input.focus();
    };
    return el("li", { class: "chip" }, choice.text,
      el("button", { type: "button", "aria-label": `Remove ${choice.text}`, onclick: remove }, icon("close")));
  }

  onKey(event) {
    const last = this.choices.length - 1;
    const handled = {
      ArrowDown: () => (this.isOpen ? this.activate(Math.min(this.active + 1, last)) : this.open("")),
      ArrowUp: () => (this.isOpen ? this.activate(Math.max(this.active - 1, 0)) : this.open("")),
      Enter: () => this.onEnter(),
      Escape: () => this.isOpen && this.close(),
      Backspace: () => this.removeLast(),
    }[event.key];
    if (!handled) return;
    const wasOpen = this.isOpen;
    handled();
    // Enter must not submit the form around it, not even where it only opens the list.
    if (event.key === "Enter" || event.key.startsWith("Arrow") || (wasOpen && event.key !== "Backspace")) {
      event.preventDefault();
      // An Escape that closes the list must not close the dialog around it.
      event.stopPropagation();
    }
  }

  onEnter() {
    if (!this.isOpen) this.open("");
    else if (this.choices[this.active]) this.choose(this.choices[this.active]);
  }

  removeLast() {
    if (!this.options.multiple || this.input.value || !this.selected.length) return;
    this.selected = this.selected.slice(0, -1);
    this.changed();
  }
}
