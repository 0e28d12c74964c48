/** The app's modals: a stack of views that the stand-in owns and this page shows. */

import { drawBlocks, inputPlaces } from "./blocks.js";
import { makeDialog } from "./dialog.js";
import { el, fill, icon } from "./dom.js";
import { textObject } from "./inline.js";
import { rememberFocus, restoreFocus } from "./focus.js";
import { missingEntries } from "./requirements.js";
import { Values } from "./values.js";

/**
 * @typedef {object} View As the page's API tells it.
 * @property {string} id
 * @property {object} title @property {object|null} submit @property {object|null} close
 * @property {object[]} blocks
 * @property {Record<string, string>} errors
 */

/** Shows the top of the stack in one dialog. */
export class Modals {
  /**
   * @param {{context: () => import("./context.js").Context,
   *   act: (view: View, action: object, values: Values) => Promise<string|null>,
   *   submit: (view: View, values: Values) => Promise<string|null>,
   *   close: (view: View, all: boolean) => Promise<void>}} door Promises of a sentence, or null when all is well.
   */
  constructor(door) {
    this.door = door;
    this.stack = [];
    this.values = new Map();
    this.errors = new Map();
    // The cross closes the whole stack, as at Slack; Escape and the lower button close the top.
    const made = makeDialog({
      className: "dialog-modal", onCancel: () => this.close({ all: false }), onCross: () => this.close({ all: true }),
    });
    Object.assign(this, made);
    this.back = el("button", { type: "button", class: "icon-button", "aria-label": "Back", onclick: () => this.close({ all: false }) }, icon("back"));
    made.head.prepend(this.back);
    this.form = el("form", { class: "dialog-form", novalidate: true, onsubmit: (event) => this.submit(event) });
    this.dialog.append(this.form);
    document.body.append(this.dialog);
  }

  get top() {
    return this.stack.at(-1) ?? null;
  }

  /**
   * Show this stack.
   *
   * @param {View[]} views Top last.
   */
  show(views) {
    const before = this.top?.id;
    const complaints = JSON.stringify(this.top?.errors ?? {});
    this.stack = views;
    for (const id of this.values.keys()) if (!views.some((view) => view.id === id)) this.values.delete(id);
    if (!this.top) {
      this.hide();
      return;
    }
    const isNew = this.top.id !== before;
    this.failure = null;
    this.draw();
    if (!this.dialog.open) {
      this.opener = rememberFocus(document.body);
      this.dialog.showModal();
    }
    if (isNew) this.focusFirst();
    // The app's complaints may come before the answer to the submission or after it.
    else if (Object.keys(this.top.errors).length && JSON.stringify(this.top.errors) !== complaints) this.focusError();
  }

  hide() {
    if (!this.dialog.open) return;
    this.dialog.close();
    restoreFocus(document.body, this.opener);
  }

  draw() {
    const view = this.top;
    const ctx = this.door.context();
    const focus = rememberFocus(this.form);
    const scroll = this.form.querySelector(".dialog-body")?.scrollTop ?? 0;
    fill(this.title, textObject(view.title, ctx));
    this.back.hidden = this.stack.length < 2;
    const surface = this.surface(view, ctx);
    surface.values.keepOnly(inputPlaces(view.blocks));
    const body = el("div", { class: "dialog-body" }, drawBlocks(view.blocks, surface));
    fill(this.form, body,
      this.failure && el("div", { class: "dialog-failure", role: "alert" }, icon("warning"), this.failure), this.foot(view, ctx));
    // A view that begins with something else is another answer, to be read from its top.
    const drawn = `${view.id} ${JSON.stringify(view.blocks[0])}`;
    if (this.drawn === drawn) body.scrollTop = scroll;
    this.drawn = drawn;
    restoreFocus(this.form, focus);
  }

  foot(view, ctx) {
    const close = el("button", { type: "button", class: "button", onclick: () => this.close({ all: false }) },
      view.close ? textObject(view.close, ctx) : "Close");
    const submit = view.submit && el("button", { type: "submit", class: "button primary", "data-action": "submit", "data-block": "foot" }, textObject(view.submit, ctx));
    return el("footer", { class: "dialog-foot" }, close, submit);
  }

  surface(view, ctx) {
    if (!this.values.has(view.id)) this.values.set(view.id, new Values());
    const values = this.values.get(view.id);
    return {
      ctx, kind: "modal", values, errors: { ...view.errors, ...this.errors.get(view.id) },
      dispatch: async (action) => this.report(await this.door.act(view, action, values)),
    };
  }

  report(sentence) {
    this.failure = sentence;
    if (sentence && this.top) this.draw();
    return sentence === null;
  }

  focusFirst() {
    const first = this.form.querySelector("[data-autofocus]") ?? this.form.querySelector(".dialog-body input, .dialog-body textarea");
    (first ?? this.title).focus();
  }

  async submit(event) {
    event.preventDefault();
    const view = this.top;
    if (!view.submit) return;
    const values = this.values.get(view.id);
    const missing = missingEntries(view.blocks, values);
    this.errors.set(view.id, missing);
    if (Object.keys(missing).length) {
      this.draw();
      this.focusError();
      return;
    }
    this.busy(true);
    const sentence = await this.door.submit(view, values);
    this.busy(false);
    this.report(sentence);
    this.focusError();
  }

  busy(isBusy) {
    const button = this.form.querySelector("[type=submit]");
    if (isBusy) button?.setAttribute("aria-busy", "true");
    else button?.removeAttribute("aria-busy");
  }

  focusError() {
    this.form.querySelector("[aria-invalid=true]")?.focus();
  }

  async close({ all }) {
    if (this.top) await this.door.close(this.top, all);
  }
}
