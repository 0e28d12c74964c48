/** Start: take the token out of the address, read the workspace, show the page. */

import { ApiError, ask, takeToken } from "./api.js";
import { App } from "./app.js";
import { showGate } from "./gate.js";

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
