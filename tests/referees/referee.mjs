// Slack's own Node clients against a local Slack. Prints one JSON line: what they were told.
//
// Usage: node referee.mjs API_URL BOT_TOKEN APP_TOKEN CHANNEL, from a folder whose node_modules holds the
// packages of package.json. It ends after one command that was acked, answered by a message and by a modal.
import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(join(process.cwd(), "package.json"));
const { WebClient, LogLevel } = require("@slack/web-api");
const { SocketModeClient } = require("@slack/socket-mode");

const [apiUrl, botToken, appToken, channel] = process.argv.slice(2);
const web = new WebClient(botToken, { slackApiUrl: apiUrl, logLevel: LogLevel.ERROR });
const socket = new SocketModeClient({
  appToken,
  logLevel: LogLevel.ERROR,
  clientOptions: { slackApiUrl: apiUrl },
});

const report = { versions: process.version };
const done = new Promise((resolve, reject) => {
  socket.on("slash_commands", async ({ ack, body }) => {
    try {
      await ack();
      report.command = body.command;
      report.text = body.text;
      const posted = await web.chat.postMessage({ channel, text: "from node" });
      report.posted = posted.ts;
      const opened = await web.views.open({
        trigger_id: body.trigger_id,
        view: { type: "modal", title: { type: "plain_text", text: "Node" }, blocks: [] },
      });
      report.view = opened.view.id;
      const refused = await web.views
        .open({ trigger_id: body.trigger_id, view: { type: "modal", title: { type: "plain_text", text: "x" }, blocks: [] } })
        .catch((error) => error.data.error);
      report.refused = refused;
      const pages = [];
      for await (const page of web.paginate("conversations.list", { limit: 2 })) {
        pages.push(page.channels.map((each) => each.id));
      }
      report.pages = pages;
      resolve();
    } catch (error) {
      reject(error);
    }
  });
});

report.user = (await web.auth.test()).user_id;
await socket.start();
await done;
await socket.disconnect();
console.log(JSON.stringify(report));
