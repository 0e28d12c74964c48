/** The panel with one thread: its first message, its replies, and a field to reply. */

import { ask } from "./api.js";
import { Composer } from "./composer.js";
import { el, fill, icon } from "./dom.js";
import { focusBack } from "./focus.js";
import { makeList, MessageList } from "./messagelist.js";
import { Notices } from "./notices.js";
import { Conversation } from "./workspace.js";

/** Shows and follows one thread at a time. */
export class ThreadPanel {
  /**
   * @param {HTMLElement} root
   * @param {import("./app.js").App} app
   */
  constructor(root, app) {
    this.root = root;
    this.app = app;
    this.rootTs = null;
    this.conversation = new Conversation();
    const scroller = el("div", { class: "scroller", tabindex: "-1" });
    this.list = new MessageList({ scroller, list: makeList("Messages of the thread"), actions: app.messageActions(), inThread: true });
    scroller.append(this.list.list);
    const box = el("div", { class: "notices", role: "alert" });
    this.notices = new Notices(box);
    this.composer = new Composer({
      label: "Reply", onSend: (text) => this.app.say(text, this.rootTs, this.notices), suggest: () => [], hintFor: () => "",
    });
    this.closeButton = el("button", { type: "button", class: "icon-button", "aria-label": "Close the thread", onclick: () => this.close() }, icon("close"));
    fill(root, el("header", { class: "place" }, icon("reply"), el("h2", {}, "Thread"), this.closeButton), scroller, box, this.composer.root);
  }

  get isOpen() {
    return this.rootTs !== null;
  }

  /**
   * Open the thread that a message starts or belongs to.
   *
   * @param {import("./message.js").Message} message
   * @param {string|null} [reveal] A reply to jump to.
   * @returns {Promise<boolean>} Whether that reply is there; true where none was wanted.
   */
  async open(message, reveal = null) {
    this.returnTo = document.activeElement;
    this.rootTs = message.thread_ts ?? message.ts;
    const wanted = this.rootTs;
    const answer = await ask("thread", { query: { user: this.app.me, channel: message.channel_id, ts: wanted } });
    if (wanted !== this.rootTs) return true;
    this.channelId = message.channel_id;
    this.conversation = new Conversation();
    answer.messages.forEach((one) => this.conversation.put(one));
    this.root.hidden = false;
    document.body.classList.add("thread-open");
    this.composer.root.hidden = !this.app.mayWrite();
    this.notices.clear();
    this.list.reset();
    this.draw();
    if (reveal && this.list.reveal(reveal)) return true;
    (this.app.mayWrite() ? this.composer : this.closeButton).focus();
    return reveal === null;
  }

  close() {
    if (!this.isOpen) return;
    this.rootTs = null;
    this.root.hidden = true;
    document.body.classList.remove("thread-open");
    if (this.returnTo?.isConnected) focusBack(this.returnTo);
  }

  draw() {
    if (this.isOpen) this.list.draw(this.conversation.messages, this.app.context());
  }

  /** @param {import("./message.js").Message} message New or changed. */
  onMessage(message) {
    if (!this.isOpen || message.channel_id !== this.channelId) return;
    if (message.ts !== this.rootTs && message.thread_ts !== this.rootTs) return;
    this.list.setFailure(message.ts, null);
    this.conversation.put(message);
    this.draw();
  }

  /** @param {string} ts */
  onDeleted(ts) {
    this.conversation.remove(ts);
    this.draw();
  }
}
