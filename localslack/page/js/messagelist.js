/** A list of messages that changes in place: day dividers, grouping, scrolling, keyboard. */

import { el, uniqueId } from "./dom.js";
import { rememberFocus, restoreFocus } from "./focus.js";
import { drawMessage } from "./message.js";
import { dayLabel, moment } from "./time.js";

/** @typedef {import("./message.js").Message} Message */

const GROUP_SECONDS = 300;
const NEAR_END_PX = 80;

/** Draws messages into an <ol> inside a scrolling box, and draws anew only what has changed. */
export class MessageList {
  /**
   * @param {{scroller: HTMLElement, list: HTMLElement, actions: import("./message.js").MessageActions,
   *   inThread?: boolean}} parts
   */
  constructor({ scroller, list, actions, inThread = false }) {
    Object.assign(this, { scroller, list, actions, inThread });
    this.rows = new Map();
    this.failures = new Map();
    this.firstBlocks = new Map();
    list.addEventListener("keydown", (event) => this.onKey(event));
    list.addEventListener("focusin", (event) => this.onFocus(event));
  }

  /** Forget everything drawn, before another channel is shown. */
  reset() {
    this.rows.clear();
    this.failures.clear();
    this.firstBlocks.clear();
    this.list.replaceChildren();
  }

  /** Show a sentence under a message, or take it away with null. */
  setFailure(ts, sentence) {
    if (sentence) this.failures.set(ts, sentence);
    else this.failures.delete(ts);
  }

  /**
   * Bring the list in line with these messages.
   *
   * @param {Message[]} messages Oldest first.
   * @param {import("./context.js").Context} ctx
   */
  draw(messages, ctx) {
    const wasAtEnd = this.isAtEnd();
    const focus = rememberFocus(this.list);
    const rows = new Map();
    const changed = [];
    let previous = null;
    for (const message of messages) {
      if (newDay(previous, message, ctx)) this.addDay(rows, message, ctx);
      this.addMessage(rows, { message, previous, ctx, changed });
      previous = message;
    }
    this.place(rows);
    this.rove();
    restoreFocus(this.list, focus);
    this.follow(changed, wasAtEnd);
  }

  addDay(rows, message, ctx) {
    const label = dayLabel(Number(message.ts), ctx.zone, ctx.now());
    const key = `day ${label}`;
    const drawn = this.rows.get(key) ?? { node: el("li", { class: "day" }, el("span", {}, label)) };
    rows.set(key, drawn);
  }

  addMessage(rows, { message, previous, ctx, changed }) {
    const compact = groups(previous, message, ctx);
    const failure = this.failures.get(message.ts) ?? null;
    const signature = JSON.stringify([message, compact, failure, ctx.zone, ctx.me]);
    const old = this.rows.get(message.ts);
    if (old?.signature === signature) {
      rows.set(message.ts, old);
      return;
    }
    const look = { compact, failure, inThread: this.inThread };
    rows.set(message.ts, { signature, node: drawMessage(message, ctx, this.actions, look) });
    changed.push({ message, isNew: !old, turned: this.turnsPage(message) });
  }

  /** Whether the first block says something else than before: another page or view in the same message. */
  turnsPage(message) {
    const first = JSON.stringify(message.blocks[0] ?? null);
    const before = this.firstBlocks.get(message.ts);
    this.firstBlocks.set(message.ts, first);
    return before !== undefined && before !== first;
  }

  place(rows) {
    const nodes = [...rows.values()].map((row) => row.node);
    const wanted = new Set(nodes);
    for (const child of [...this.list.children]) if (!wanted.has(child)) child.remove();
    nodes.forEach((node, index) => {
      if (this.list.children[index] !== node) this.list.insertBefore(node, this.list.children[index] ?? null);
    });
    this.rows = rows;
  }

  /** Keep the newest in view for one who was there; show a long or turned message from its start. */
  follow(changed, wasAtEnd) {
    const last = changed.at(-1);
    if (!last) return;
    const node = this.rows.get(last.message.ts).node;
    const startsAbove = node.getBoundingClientRect().top < this.scroller.getBoundingClientRect().top;
    if (!last.isNew) {
      if (last.turned && startsAbove) this.toTop(node);
      return;
    }
    if (!wasAtEnd && changed.length === 1) return;
    if (node.offsetHeight > this.scroller.clientHeight) this.toTop(node);
    else this.scrollToEnd();
  }

  toTop(node) {
    this.scroller.scrollTop += node.getBoundingClientRect().top - this.scroller.getBoundingClientRect().top - 8;
  }

  scrollToEnd() {
    this.scroller.scrollTop = this.scroller.scrollHeight;
  }

  isAtEnd() {
    const { scrollHeight, scrollTop, clientHeight } = this.scroller;
    return scrollHeight - scrollTop - clientHeight < NEAR_END_PX;
  }

  /** Jump to a message and mark it for a moment. Returns whether it is here. */
  reveal(ts) {
    const node = this.rows.get(ts)?.node;
    if (!node) return false;
    node.scrollIntoView({ block: "center" });
    node.classList.add("revealed");
    setTimeout(() => node.classList.remove("revealed"), 3000);
    node.focus({ preventScroll: true });
    return true;
  }

  /** Put the focus on a message; where the list stands does not change. */
  focus(ts) {
    this.rows.get(ts)?.node.focus({ preventScroll: true });
  }

  messageNodes() {
    return [...this.list.querySelectorAll(":scope > .message")];
  }

  /** One message of the list is a tab stop: the one that had the focus last, else the newest. */
  rove() {
    const nodes = this.messageNodes();
    const current = nodes.find((node) => node.tabIndex === 0) ?? nodes.at(-1);
    for (const node of nodes) node.tabIndex = node === current ? 0 : -1;
  }

  onFocus(event) {
    const current = event.target.closest(".message");
    if (!current || current.parentElement !== this.list) return;
    for (const node of this.messageNodes()) node.tabIndex = node === current ? 0 : -1;
  }

  onKey(event) {
    const nodes = this.messageNodes();
    const at = nodes.indexOf(event.target);
    if (at < 0) return;
    const moves = { ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: nodes.length - 1 };
    if (!(event.key in moves)) return;
    event.preventDefault();
    nodes[Math.max(0, Math.min(moves[event.key], nodes.length - 1))].focus();
  }
}

/**
 * Make the <ol> of a list, with its spoken name.
 *
 * @param {string} label
 * @returns {HTMLOListElement}
 */
export function makeList(label) {
  return el("ol", { class: "messages", id: uniqueId("messages"), "aria-label": label });
}

function newDay(previous, message, ctx) {
  if (!previous) return true;
  const day = (one) => moment(Number(one.ts), ctx.zone).dayNumber;
  return day(previous) !== day(message);
}

function groups(previous, message, ctx) {
  if (!previous || previous.user_id !== message.user_id || previous.is_ephemeral || message.is_ephemeral) return false;
  if (previous.is_app !== message.is_app || newDay(previous, message, ctx)) return false;
  return Number(message.ts) - Number(previous.ts) < GROUP_SECONDS;
}
