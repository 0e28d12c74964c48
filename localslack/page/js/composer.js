/** Where a person types: plain messages, and slash commands that are offered while typing. */

import { el, fill, icon, uniqueId } from "./dom.js";

/**
 * @typedef {object} Command
 * @property {string} command With its slash.
 * @property {string} description
 * @property {string} usage_hint
 *
 * @typedef {object} Suggestion
 * @property {string} title
 * @property {string} detail
 * @property {string} [complete] Text put into the field.
 * @property {() => void} [run] Done instead of completing.
 */

/** A text field with suggestions; Enter sends, Shift+Enter makes a line. */
export class Composer {
  /**
   * @param {{label: string, onSend: (text: string) => Promise<boolean>, suggest: (text: string) => Suggestion[],
   *   hintFor: (text: string) => string, extra?: HTMLElement}} options onSend: true empties the field.
   */
  constructor(options) {
    this.options = options;
    this.suggestions = [];
    this.active = -1;
    this.list = el("ul", { class: "suggestions", role: "listbox", id: uniqueId("suggest"), "aria-label": "Commands and shortcuts" });
    this.list.hidden = true;
    this.hint = el("span", { class: "usage", id: uniqueId("hint") });
    this.field = this.makeField();
    this.sendButton = el("button", { type: "button", class: "icon-button send", "aria-label": "Send", title: "Send", onclick: () => this.send() }, icon("send"));
    this.root = el("div", { class: "composer" }, this.list,
      el("div", { class: "composer-box" }, this.field,
        el("div", { class: "composer-foot" }, options.extra ?? null, this.hint, this.sendButton)));
    this.refresh();
  }

  makeField() {
    return el("textarea", {
      class: "composer-field", rows: "1", "aria-label": this.options.label, placeholder: this.options.label,
      "aria-autocomplete": "list", "aria-controls": this.list.id, "aria-describedby": this.hint.id,
      oninput: () => this.refresh(),
      onkeydown: (event) => this.onKey(event),
      onblur: () => this.hideSuggestions(),
      onfocus: () => this.refresh(),
    });
  }

  get text() {
    return this.field.value;
  }

  set text(value) {
    this.field.value = value;
    this.refresh();
  }

  /** Name the field after the place it writes to. */
  setLabel(label) {
    this.field.setAttribute("aria-label", label);
    this.field.placeholder = label;
  }

  focus() {
    this.field.focus();
  }

  refresh() {
    this.field.style.height = "auto";
    this.field.style.height = `${Math.min(this.field.scrollHeight, 200)}px`;
    this.hint.textContent = this.options.hintFor(this.text);
    this.sendButton.disabled = this.text.trim() === "";
    this.suggestions = this.options.suggest(this.text);
    if (this.suggestions.length && document.activeElement === this.field) this.showSuggestions();
    else this.hideSuggestions();
  }

  showSuggestions() {
    fill(this.list, this.suggestions.map((one, index) => el("li", {
      role: "option", id: `${this.list.id}-${index}`, "aria-selected": "false",
      onpointerdown: (event) => event.preventDefault(), onclick: () => this.accept(one),
    }, el("strong", {}, one.title), el("span", { class: "suggestion-detail" }, one.detail))));
    this.list.hidden = false;
    this.activate(0);
  }

  hideSuggestions() {
    this.list.hidden = true;
    this.active = -1;
    this.field.removeAttribute("aria-activedescendant");
  }

  activate(index) {
    this.active = index;
    [...this.list.children].forEach((row, at) => row.setAttribute("aria-selected", String(at === index)));
    this.list.children[index]?.scrollIntoView({ block: "nearest" });
    this.field.setAttribute("aria-activedescendant", `${this.list.id}-${index}`);
  }

  accept(suggestion) {
    if (suggestion.run) {
      this.text = "";
      suggestion.run();
      return;
    }
    this.text = suggestion.complete;
    this.field.setSelectionRange(this.text.length, this.text.length);
  }

  onKey(event) {
    if (event.isComposing) return;
    const count = this.suggestions.length;
    const open = !this.list.hidden && count > 0;
    if (open && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      this.activate((this.active + (event.key === "ArrowDown" ? 1 : count - 1)) % count);
    } else if (open && (event.key === "Enter" || (event.key === "Tab" && !event.shiftKey))) {
      event.preventDefault();
      this.accept(this.suggestions[this.active]);
    } else if (open && event.key === "Escape") {
      event.preventDefault();
      this.hideSuggestions();
    } else if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      this.send();
    }
  }

  async send() {
    const text = this.text.trim();
    if (!text || this.sending) return;
    this.sending = true;
    this.text = "";
    try {
      // What could not be sent comes back, unless the person has begun something else meanwhile.
      if (!(await this.options.onSend(text)) && this.text === "") this.text = text;
    } finally {
      this.sending = false;
    }
  }
}

/**
 * What to offer for a text that starts with a slash.
 *
 * @param {string} text
 * @param {Command[]} commands
 * @param {Array<{name: string, description: string, run: () => void}>} shortcuts
 * @returns {Suggestion[]} Nothing once a command stands complete.
 */
export function suggestCommands(text, commands, shortcuts) {
  if (!/^\/\S*$/.test(text)) return [];
  const typed = text.toLowerCase();
  const offered = commands
    .filter((one) => one.command.startsWith(typed))
    .map((one) => ({ title: `${one.command} ${one.usage_hint}`.trim(), detail: one.description, complete: `${one.command} ` }));
  const named = shortcuts
    .filter((one) => one.name.toLowerCase().includes(typed.slice(1)))
    .map((one) => ({ title: one.name, detail: one.description, run: one.run }));
  return [...offered, ...named];
}

/**
 * The usage hint of the command that a text starts with, else an empty text.
 *
 * @param {string} text
 * @param {Command[]} commands
 * @returns {string}
 */
export function usageHint(text, commands) {
  const found = commands.find((one) => text === one.command || text.startsWith(`${one.command} `));
  return found?.usage_hint ? `${found.command} ${found.usage_hint}` : "";
}
