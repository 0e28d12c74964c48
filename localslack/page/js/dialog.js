/** Dialogs on the browser's own <dialog>: it keeps the focus inside and gives it back at the end. */

import { el, icon, uniqueId } from "./dom.js";

/**
 * Make a modal dialog that is not shown yet.
 *
 * @param {{className?: string, onCancel: () => void, onCross?: () => void}} options onCancel: Escape was
 *   pressed; onCross: the cross in the corner was, which means the same unless told otherwise.
 * @returns {{dialog: HTMLDialogElement, title: HTMLElement, head: HTMLElement}}
 */
export function makeDialog({ className = "", onCancel, onCross = onCancel }) {
  const title = el("h2", { class: "dialog-title", id: uniqueId("dialog"), tabindex: "-1" });
  const head = el("header", { class: "dialog-head" }, title,
    el("button", { type: "button", class: "icon-button dialog-close", "aria-label": "Close", onclick: onCross }, icon("close")));
  const dialog = el("dialog", { class: `dialog ${className}`, "aria-labelledby": title.id }, head);
  const cancel = (event) => {
    event.preventDefault();
    onCancel();
  };
  dialog.addEventListener("cancel", cancel);
  // Chromium closes a dialog at the second Escape whatever "cancel" says; a stopped key never gets there.
  dialog.addEventListener("keydown", (event) => event.key === "Escape" && cancel(event));
  return { dialog, title, head };
}

/**
 * Ask for a confirmation, as Slack's `confirm` objects do.
 *
 * @param {{title: Node[], text: Node[], confirm: Node[], deny: Node[], danger: boolean}} question
 * @returns {Promise<boolean>}
 */
export function askConfirmation(question) {
  return new Promise((resolve) => {
    const end = (answer) => {
      dialog.close();
      dialog.remove();
      resolve(answer);
    };
    const { dialog, title } = makeDialog({ className: "dialog-small", onCancel: () => end(false) });
    title.append(...question.title);
    const yes = el("button", { type: "button", class: question.danger ? "button danger" : "button primary", onclick: () => end(true) }, question.confirm);
    const no = el("button", { type: "button", class: "button", onclick: () => end(false) }, question.deny);
    dialog.append(el("div", { class: "dialog-body" }, question.text), el("footer", { class: "dialog-foot" }, no, yes));
    document.body.append(dialog);
    dialog.showModal();
    (question.danger ? no : yes).focus();
  });
}
