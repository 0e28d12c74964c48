/** What changes by itself: messages, views, channels, and the connection that tells of them. */

import { ApiError, ask, LiveFeed } from "./api.js";
import { personName } from "./context.js";
import { showGate } from "./gate.js";

const SPOKEN_CHARACTERS = 200;

/** Carries the live feed of the acting person into the page. */
export class LiveChanges {
  /**
   * @param {import("./app.js").App} app
   * @param {HTMLElement} status Where a lost connection is told.
   */
  constructor(app, status) {
    this.app = app;
    this.status = status;
    this.feed = null;
  }

  /**
   * Follow a person, and nobody else any more.
   *
   * @param {string} userId
   * @returns {Promise<void>} From its end on, nothing is missed.
   */
  follow(userId) {
    this.feed?.close();
    this.feed = new LiveFeed(userId, {
      onChange: (change) => this.onChange(change),
      onStatus: (connected, again) => this.onStatus(connected, again),
    });
    return this.feed.ready;
  }

  onStatus(connected, again) {
    this.status.textContent = connected ? "" : "Reconnecting…";
    if (again) this.app.readAgain();
    if (!connected) this.checkToken();
  }

  /** A stand-in that was started anew has another token; then trying again is no use. */
  async checkToken() {
    try {
      await ask("views", { query: { user: this.app.me } });
    } catch (error) {
      if (!(error instanceof ApiError) || error.status === 0) return;
      this.feed.close();
      showGate(error);
    }
  }

  async onChange(change) {
    const handlers = {
      message: () => this.onMessage(change, { isNew: true }),
      ephemeral: () => this.onMessage(change, { isNew: true }),
      message_changed: () => this.onMessage(change, { isNew: false }),
      message_deleted: () => this.onDeleted(change),
      view: () => this.app.modals.show(change.views),
      home: () => this.app.showHome(change.home),
      channel: () => this.app.loadChannels().then(() => this.app.drawAll()),
      reload: () => this.app.view.dropWhere((message) => message.is_ephemeral),
    };
    settle();
    await handlers[change.kind]?.();
  }

  onMessage({ channel_id: channelId, message }, { isNew }) {
    if (!message) return;
    const { app } = this;
    const isOwn = message.user_id === app.me && !message.is_app;
    const concerns = isNew && !isOwn && Boolean(app.channels.get(channelId)?.isMember);
    if (concerns) this.tell(message);
    if (!isNew) app.forgetEntries(message);
    app.thread.onMessage(message);
    if (channelId === app.channelId) this.show(message);
    else if (concerns) app.markUnread(channelId);
  }

  /** Replies stand in their thread only; while older messages are shown, a new one waits behind the gap. */
  show(message) {
    const { conversation } = this.app.view;
    const isReply = message.thread_ts && message.thread_ts !== message.ts;
    if (!isReply && (conversation.byTs.has(message.ts) || !conversation.hasLater)) this.app.view.put(message);
  }

  tell(message) {
    const who = personName(this.app.context(), message.user_id);
    const how = message.is_ephemeral ? ", only visible to you" : "";
    this.app.announce(`${who}${how}: ${message.spoken.slice(0, SPOKEN_CHARACTERS)}`);
  }

  onDeleted({ channel_id: channelId, ts }) {
    this.app.thread.onDeleted(ts);
    if (channelId === this.app.channelId) this.app.view.dropWhere((message) => message.ts === ts);
  }
}

/** Whatever a pressed button of a message waited for, something has come. */
function settle() {
  for (const button of document.querySelectorAll(".main [aria-busy=true], .thread [aria-busy=true]")) {
    button.removeAttribute("aria-busy");
  }
}
