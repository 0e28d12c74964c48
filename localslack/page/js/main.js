/** Start: take the token out of the address, read the workspace, show the page. */

import { ApiError, ask, takeToken } from "./api.js";
import { App } from "./app.js";
import { el } from "./dom.js";

const REFUSALS = {
  0: "The local Slack is not running",
  401: "This page needs the address that was printed in the terminal",
  403: "This page was opened under an address that the local Slack does not accept",
};

/** Show why the page cannot be used, instead of an empty frame. */
function showGate(error) {
  const title = REFUSALS[error.status] ?? "The page could not start";
  document.body.replaceChildren(el("main", { class: "gate" }, el("h1", {}, title), el("p", {}, error.message),
    el("p", { class: "quiet" }, "The address ends in ?token=… and is printed when the local Slack starts.")));
}

async function start() {
  takeToken();
  const [workspace, emoji] = await Promise.all([ask("workspace"), ask("emoji")]);
  const app = new App(workspace, emoji);
  await app.start();
}

start().catch((error) => {
  if (!(error instanceof ApiError)) console.error(error);
  showGate(error);
});
