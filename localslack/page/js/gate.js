/** What is shown instead of the page where it cannot be used. */

import { el } from "./dom.js";

const TITLES = {
  0: "The local Slack is not running",
  401: "This page needs the address that was printed in the terminal",
  403: "This page was opened under an address that the local Slack does not accept",
};

/**
 * Show why the page cannot be used, instead of an empty frame.
 *
 * @param {Error & {status?: number}} error
 */
export function showGate(error) {
  const title = TITLES[error.status] ?? "The page could not start";
  document.body.replaceChildren(el("main", { class: "gate" }, el("h1", {}, title), el("p", {}, error.message),
    el("p", { class: "quiet" }, "The address ends in ?token=… and is printed when the local Slack starts.")));
}
