/** The messages of one channel, with the notes around them. */

import { ask } from "./api.js";
import { el } from "./dom.js";
import { makeList, MessageList } from "./messagelist.js";
import { Conversation } from "./workspace.js";

/** Shows one channel at a time; its parts stay in place, so that focus and scrolling do. */
export class ChannelView {
  /**
   * @param {HTMLElement} root The scrolling box.
   * @param {import("./app.js").App} app
   */
  constructor(root, app) {
    this.root = root;
    this.app = app;
    this.conversation = new Conversation();
    this.channelId = null;
    this.list = new MessageList({ scroller: root, list: makeList("Messages"), actions: app.messageActions() });
    const button = (text, onclick) => el("button", { type: "button", class: "button earlier", onclick }, text);
    this.earlier = button("Earlier messages", () => this.readEarlier());
    this.later = button("Jump to the newest messages", () => app.openChannel(this.channelId));
    this.empty = el("p", { class: "quiet empty" }, "Nothing here yet.");
    this.archived = el("p", { class: "closed-note" }, "This channel is archived: it can be read, not written to.");
    this.joinName = el("p");
    this.preview = el("div", { class: "closed-note" }, this.joinName,
      el("button", { type: "button", class: "button primary", onclick: () => this.join() }, "Join channel"));
    root.append(this.earlier, this.empty, this.list.list, this.later, this.archived, this.preview);
  }

  /**
   * Read and show a channel.
   *
   * @param {string|null} channelId
   * @param {string|null} around A ts to read around, else the newest messages are read.
   */
  async open(channelId, around) {
    this.channelId = channelId;
    await this.read(around);
    // Another channel may have been opened before this one's answer came.
    if (this.channelId !== channelId) return;
    this.list.reset();
    this.draw();
    this.list.scrollToEnd();
  }

  async read(around = null) {
    const conversation = new Conversation();
    const channel = this.channelId;
    if (channel) {
      const answer = await ask("messages", { query: { user: this.app.me, channel, around } });
      answer.messages.forEach((message) => conversation.put(message));
      conversation.hasEarlier = answer.has_earlier;
      conversation.hasLater = answer.has_later;
      conversation.threadTs = answer.thread_ts;
    }
    if (channel === this.channelId) this.conversation = conversation;
  }

  async readEarlier() {
    const first = this.conversation.messages[0];
    const answer = await ask("messages", { query: { user: this.app.me, channel: this.channelId, before: first?.ts } });
    const fromEnd = this.root.scrollHeight - this.root.scrollTop;
    answer.messages.forEach((message) => this.conversation.put(message));
    this.conversation.hasEarlier = answer.has_earlier;
    this.draw();
    this.root.scrollTop = this.root.scrollHeight - fromEnd;
    if (first) this.list.focus(first.ts);
  }

  /** Show the newest messages, wherever the list stands. */
  async toEnd() {
    if (this.conversation.hasLater) {
      await this.read();
      this.draw();
    }
    this.list.scrollToEnd();
  }

  async join() {
    const sentence = await this.app.attempt("join", { channel: this.channelId });
    if (sentence) this.app.notices.show(sentence);
  }

  /** @param {import("./message.js").Message} message New or changed, of this channel. */
  put(message) {
    this.list.setFailure(message.ts, null);
    this.conversation.put(message);
    this.draw();
  }

  /** @param {(message: import("./message.js").Message) => boolean} unwanted */
  dropWhere(unwanted) {
    const gone = this.conversation.messages.filter(unwanted);
    if (!gone.length) return;
    gone.forEach((message) => this.conversation.remove(message.ts));
    this.draw();
  }

  draw() {
    const channel = this.app.channels.get(this.channelId);
    this.earlier.hidden = !this.conversation.hasEarlier;
    this.later.hidden = !this.conversation.hasLater;
    this.empty.hidden = this.conversation.byTs.size > 0;
    this.archived.hidden = !channel?.isArchived;
    this.preview.hidden = !channel || channel.isArchived || channel.isMember;
    this.joinName.textContent = channel ? `You are looking at #${channel.name} without having joined it.` : "";
    this.list.draw(this.conversation.messages, this.app.context());
  }
}
