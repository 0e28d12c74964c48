/** Short sentences near the composer: what failed, and what the person may do. */

import { el, icon } from "./dom.js";

/** A box of notices; each can be dismissed, and all go when something new is sent. */
export class Notices {
  /** @param {HTMLElement} root An element with role="alert" or aria-live. */
  constructor(root) {
    this.root = root;
  }

  /**
   * Show a sentence.
   *
   * @param {string} sentence
   * @param {{kind?: "error"|"info"}} [options]
   */
  show(sentence, { kind = "error" } = {}) {
    const close = () => note.remove();
    const note = el("div", { class: `notice notice-${kind}` }, icon(kind === "error" ? "warning" : "eye"),
      el("span", { class: "notice-text" }, sentence),
      el("button", { type: "button", class: "icon-button", "aria-label": "Dismiss", onclick: close }, icon("close")));
    this.root.append(note);
  }

  clear() {
    this.root.replaceChildren();
  }
}
