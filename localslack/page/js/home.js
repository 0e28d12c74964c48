/** The app's Home tab. */

import { drawBlocks, inputPlaces } from "./blocks.js";
import { el, fill, icon } from "./dom.js";
import { rememberFocus, restoreFocus } from "./focus.js";
import { Values } from "./values.js";

/** Draws the published Home view of the acting person. */
export class HomeTab {
  /**
   * @param {HTMLElement} root
   * @param {import("./app.js").App} app
   */
  constructor(root, app) {
    this.root = root;
    this.app = app;
    this.values = new Map();
    this.failure = null;
  }

  /** @param {import("./modals.js").View|null} view null until the app has published one. */
  draw(view) {
    this.view = view;
    const focus = rememberFocus(this.root);
    const scroll = this.root.scrollTop;
    if (view) this.drawView(view);
    else fill(this.root, el("p", { class: "quiet empty" }, "The app has not shown its Home tab yet."));
    this.root.scrollTop = scroll;
    restoreFocus(this.root, focus);
  }

  drawView(view) {
    const key = `${this.app.me} ${view.id}`;
    if (!this.values.has(key)) this.values.set(key, new Values());
    const values = this.values.get(key);
    values.keepOnly(inputPlaces(view.blocks));
    const surface = { ctx: this.app.context(), kind: "home", values, errors: {}, dispatch: (action) => this.act(view, action, values) };
    fill(this.root, el("div", { class: "home" },
      this.failure && el("div", { class: "message-failure", role: "alert" }, icon("warning"), this.failure),
      drawBlocks(view.blocks, surface)));
  }

  async act(view, action, values) {
    this.failure = await this.app.attempt("action", { view_id: view.id, action, values: values.toJSON() });
    if (this.failure) this.draw(this.view);
    return this.failure === null;
  }
}
