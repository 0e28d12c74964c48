/** The line above the messages: which channel, what it is for, how many are in it. */

import { channelTitle } from "./context.js";
import { el, fill, icon } from "./dom.js";

const SIGNS = { public: "hash", private: "lock", im: "reply", mpim: "people" };

/**
 * Draw the head of a channel; null where the person has none to look at.
 *
 * @param {HTMLElement} root
 * @param {import("./context.js").Channel|null} channel
 * @param {import("./context.js").Context} ctx
 */
export function drawChannelHead(root, channel, ctx) {
  if (!channel) {
    fill(root, el("h1", {}, "No channel"));
    return;
  }
  const count = channel.memberCount;
  const members = channel.kind === "im" ? null : `${count} ${count === 1 ? "member" : "members"}`;
  fill(root, icon(SIGNS[channel.kind]), el("h1", {}, channelTitle(ctx, channel)),
    el("span", { class: "topic" }, channel.topic || channel.purpose), members && el("span", { class: "member-count" }, members));
}

/**
 * Draw the head of the app's Home tab.
 *
 * @param {HTMLElement} root
 * @param {string} appName
 */
export function drawHomeHead(root, appName) {
  fill(root, icon("app"), el("h1", {}, appName), el("span", { class: "topic" }, "Home"));
}
