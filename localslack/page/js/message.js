/** One message: its author, its time, its content, and what can be done with it. */

import { avatar } from "./avatar.js";
import { drawBlocks } from "./blocks.js";
import { personName } from "./context.js";
import { el, icon } from "./dom.js";
import { mrkdwn } from "./inline.js";
import { menuButton } from "./menu.js";
import { clock, fullTime } from "./time.js";

/**
 * @typedef {object} Message As the page's API tells it.
 * @property {string} ts
 * @property {string} channel_id
 * @property {string} user_id
 * @property {string} text
 * @property {object[]} blocks
 * @property {string|null} thread_ts
 * @property {boolean} is_ephemeral
 * @property {boolean} is_edited
 * @property {boolean} is_app
 * @property {number} reply_count
 *
 * @typedef {object} MessageActions
 * @property {(message: Message) => void} openThread Absent in a thread panel.
 * @property {(message: Message) => import("./menu.js").MenuItem[]} menuItems
 * @property {(message: Message) => import("./elements.js").Surface} surface
 */

/**
 * Draw a message as a list item.
 *
 * @param {Message} message
 * @param {import("./context.js").Context} ctx
 * @param {MessageActions} actions
 * @param {{compact: boolean, failure: string|null, inThread: boolean}} look compact: by the same author
 *   right after another, so the name and the face are left out.
 * @returns {HTMLLIElement}
 */
export function drawMessage(message, ctx, actions, { compact, failure, inThread }) {
  const name = personName(ctx, message.user_id);
  const classes = ["message", compact && "compact", message.is_ephemeral && "ephemeral"];
  return el("li", {
    class: classes.filter(Boolean).join(" "), "data-ts": message.ts, tabindex: "-1",
    "aria-label": spoken(message, name, ctx),
  },
    compact ? el("span", { class: "gutter" }, stamp(message, ctx)) : avatar({ name, id: message.user_id, isBot: message.is_app }),
    el("div", { class: "message-main" },
      message.is_ephemeral && el("div", { class: "only-you" }, icon("eye"), "Only visible to you"),
      !compact && el("div", { class: "message-head" }, el("span", { class: "author" }, name),
        message.is_app && el("span", { class: "badge" }, "app"), stamp(message, ctx)),
      el("div", { class: "message-body" }, content(message, ctx, actions)),
      failure && el("div", { class: "message-failure", role: "alert" }, icon("warning"), failure),
      !inThread && message.reply_count > 0 && repliesButton(message, actions)),
    toolbar(message, actions, inThread));
}

function content(message, ctx, actions) {
  const surface = actions.surface(message);
  const edited = message.is_edited && !message.is_ephemeral && el("span", { class: "edited" }, " (edited)");
  const body = message.blocks.length
    ? drawBlocks(message.blocks, surface)
    : el("div", { class: "text" }, mrkdwn(message.text, ctx), edited);
  return [body, message.blocks.length ? edited : null];
}

function stamp(message, ctx) {
  const seconds = Number(message.ts);
  return el("time", {
    class: "stamp", datetime: new Date(seconds * 1000).toISOString(), title: fullTime(seconds, ctx.zone),
  }, clock(seconds, ctx.zone));
}

function spoken(message, name, ctx) {
  const who = message.is_ephemeral ? `${name}, only visible to you` : name;
  return `${who}, ${clock(Number(message.ts), ctx.zone)}`;
}

function repliesButton(message, actions) {
  const count = message.reply_count;
  return el("button", { type: "button", class: "replies", onclick: () => actions.openThread(message) },
    icon("reply"), `${count} ${count === 1 ? "reply" : "replies"}`);
}

function toolbar(message, actions, inThread) {
  if (message.is_ephemeral) return null;
  const reply = !inThread && el("button", {
    type: "button", class: "icon-button", "aria-label": "Reply in thread", title: "Reply in thread",
    onclick: () => actions.openThread(message),
  }, icon("reply"));
  const more = menuButton({ label: "More message actions", align: "end", items: () => actions.menuItems(message) });
  return el("div", { class: "toolbar", role: "group", "aria-label": "Message actions" }, reply, more);
}
