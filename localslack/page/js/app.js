/** The page as a whole: what is shown, who is acting, and what happens when something changes. */

import { ApiError, ask } from "./api.js";
import { ChannelView } from "./channelview.js";
import { Composer, suggestCommands, usageHint } from "./composer.js";
import { channelTitle, personName } from "./context.js";
import { el, icon } from "./dom.js";
import { drawChannelHead, drawHomeHead } from "./head.js";
import { HomeTab } from "./home.js";
import { LiveChanges } from "./livechanges.js";
import { menuButton } from "./menu.js";
import { Modals } from "./modals.js";
import { Notices } from "./notices.js";
import { Sidebar } from "./sidebar.js";
import { ThreadPanel } from "./thread.js";
import { Values } from "./values.js";
import { readChannels, readPeople } from "./workspace.js";

const ACTING_KEY = "localslack-acting-as";
const PLACE_KEY = "localslack-place";
const byId = (id) => document.getElementById(id);

/** Wires the parts together; one per page. */
export class App {
  /**
   * @param {object} workspace Answer of /page/api/workspace.
   * @param {Record<string, string>} emoji
   */
  constructor(workspace, emoji) {
    this.team = workspace.team;
    this.app = workspace.app;
    this.people = readPeople(workspace.people);
    this.emoji = emoji;
    this.channels = new Map();
    this.unread = new Set();
    this.entries = new Map();
    this.drafts = new Map();
    this.channelId = null;
    this.atHome = false;
    const stored = sessionStorage.getItem(ACTING_KEY);
    this.me = this.people.has(stored) ? stored : workspace.acting_user_id;
    this.makeParts();
  }

  makeParts() {
    this.notices = new Notices(byId("notices"));
    this.sidebar = new Sidebar({
      root: byId("sidebar"), onChannel: (id) => this.openChannel(id), onHome: () => this.openHome(), onActingAs: (id) => this.actAs(id),
    });
    this.view = new ChannelView(byId("channel"), this);
    this.thread = new ThreadPanel(byId("thread"), this);
    this.home = new HomeTab(byId("home"), this);
    this.modals = new Modals({
      context: () => this.context(),
      act: (view, action, values) => this.attempt("action", { view_id: view.id, action, values: values.toJSON() }),
      submit: (view, values) => this.attempt("submit", { view_id: view.id, values: values.toJSON() }),
      close: (view, all) => this.attempt("close", { view_id: view.id, all }),
    });
    this.composer = new Composer({
      label: "Message", onSend: (text) => this.say(text, null), extra: this.shortcutButton(),
      suggest: (text) => suggestCommands(text, this.app.commands, this.globalShortcuts()),
      hintFor: (text) => (text === "" ? this.invitation() : usageHint(text, this.app.commands)),
    });
    this.live = new LiveChanges(this, byId("connection"));
    byId("composer").append(this.composer.root);
    byId("sidebar-toggle").append(icon("menu"));
    byId("sidebar-toggle").addEventListener("click", () => this.toggleSidebar());
    byId("main").addEventListener("click", () => this.toggleSidebar(false));
    window.addEventListener("unhandledrejection", (event) => this.onFailure(event));
    document.addEventListener("keydown", (event) => event.key === "Escape" && !event.defaultPrevented && this.onEscape());
  }

  /** What an empty field says to somebody who is here for the first time. */
  invitation() {
    const [first] = this.app.commands;
    return first ? `Type ${first.command} and what you look for` : "";
  }

  /** Show the page for the acting person; what was ephemeral before this load is gone, as at Slack. */
  async start() {
    byId("team-name").textContent = this.team.name;
    await ask("reload", { body: { user: this.me } });
    await this.enter(sessionStorage.getItem(PLACE_KEY));
  }

  async enter(place) {
    await this.loadChannels();
    await this.live.follow(this.me);
    await this.loadViews();
    if (place === "home" && this.app.has_home) await this.openHome();
    else await this.openChannel(this.channels.has(place) ? place : this.firstChannel());
  }

  firstChannel() {
    const all = [...this.channels.values()].filter((one) => !one.isArchived);
    const mine = all.filter((one) => one.isMember && (one.kind === "public" || one.kind === "private"));
    return (mine.find((one) => one.name === "general") ?? mine[0] ?? all[0])?.id ?? null;
  }

  /** @returns {import("./context.js").Context} */
  context() {
    return {
      teamUrl: this.team.url, me: this.me, zone: this.people.get(this.me)?.tz ?? "UTC", now: () => Date.now() / 1000,
      people: this.people, channels: this.channels, emoji: this.emoji,
      openPermalink: (link) => this.openPermalink(link), openChannel: (id) => this.openChannel(id),
    };
  }

  messageActions() {
    return {
      openThread: (message) => this.thread.open(message),
      menuItems: (message) => this.menuItems(message),
      surface: (message) => this.surface(message),
    };
  }

  surface(message) {
    const key = entriesKey(this.me, message);
    if (!this.entries.has(key)) this.entries.set(key, new Values());
    const values = this.entries.get(key);
    const place = { channel: message.channel_id, ts: message.ts, thread_ts: message.thread_ts };
    return {
      ctx: this.context(), kind: "message", values, errors: {},
      dispatch: async (action) => {
        const sentence = await this.attempt("action", { ...place, action, values: values.toJSON() });
        this.showFailure(message, sentence);
        return sentence === null;
      },
    };
  }

  showFailure(message, sentence) {
    for (const place of [this.view, this.thread]) {
      place.list.setFailure(message.ts, sentence);
      place.draw();
    }
  }

  /** Do something as the acting person; answers a sentence when it failed, else null. */
  async attempt(path, body) {
    try {
      const answer = await ask(path, { body: { user: this.me, ...body } });
      return answer.ok ? null : (answer.error?.text ?? "Something went wrong.");
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return error.message;
    }
  }

  /** Send what was typed; answers whether the field may forget it. */
  async say(text, threadTs, notices = this.notices) {
    const channel = this.channelId;
    const draftKey = this.draftKey;
    notices.clear();
    // What one says, and what is answered to it, is seen at the end of the channel.
    if (threadTs === null) await this.view.toEnd();
    const sentence = await this.attempt("say", { channel, text, thread_ts: threadTs });
    if (!sentence) return true;
    notices.show(sentence);
    if (this.draftKey === draftKey) return false;
    // The person has gone elsewhere meanwhile: the text waits where it was typed.
    this.drafts.set(draftKey, text);
    return true;
  }

  get draftKey() {
    return `${this.me} ${this.channelId}`;
  }

  globalShortcuts() {
    return this.app.shortcuts.filter((one) => one.type === "global").map((one) => ({
      name: one.name, description: one.description, run: () => this.runShortcut({ callback_id: one.callback_id }),
    }));
  }

  async runShortcut(body) {
    this.notices.clear();
    const sentence = await this.attempt("shortcut", body);
    if (sentence) this.notices.show(sentence);
  }

  shortcutButton() {
    const items = () => this.globalShortcuts().map((one) => ({
      label: one.name, detail: one.description, group: this.app.name, onSelect: one.run,
    }));
    return this.app.shortcuts.some((one) => one.type === "global") ? menuButton({ label: "Shortcuts", icon: "bolt", items }) : null;
  }

  menuItems(message) {
    const own = [
      { label: "Copy link", onSelect: () => this.copyLink(message) },
    ];
    const shortcuts = this.app.shortcuts.filter((one) => one.type === "message").map((one) => ({
      label: one.name, detail: one.description, group: this.app.name,
      onSelect: () => this.runShortcut({ callback_id: one.callback_id, channel: message.channel_id, ts: message.ts, thread_ts: message.thread_ts }),
    }));
    return [...own, ...shortcuts];
  }

  async copyLink(message) {
    const link = `${this.team.url}archives/${message.channel_id}/p${message.ts.replace(".", "")}`;
    try {
      await navigator.clipboard.writeText(link);
      this.announce("Link copied");
    } catch (error) {
      if (!(error instanceof DOMException)) throw error;
      this.notices.show(link, { kind: "info" });
    }
  }

  // What is shown.

  async loadChannels() {
    const answer = await ask("channels", { query: { user: this.me } });
    this.channels = readChannels(answer.channels);
  }

  async loadViews() {
    const answer = await ask("views", { query: { user: this.me } });
    this.homeView = answer.home;
    this.modals.show(answer.views);
  }

  async openChannel(id, { around = null } = {}) {
    this.keepDraft();
    this.atHome = false;
    this.channelId = id;
    this.unread.delete(id);
    sessionStorage.setItem(PLACE_KEY, id ?? "");
    this.thread.close();
    this.notices.clear();
    this.toggleSidebar(false);
    await this.view.open(id, around);
    if (this.channelId !== id) return;
    this.drawAll();
    this.composer.text = this.drafts.get(this.draftKey) ?? "";
    if (!matchMedia("(pointer: coarse)").matches) this.composer.focus();
  }

  keepDraft() {
    if (this.channelId) this.drafts.set(this.draftKey, this.composer.text);
  }

  async openHome() {
    this.keepDraft();
    this.atHome = true;
    this.channelId = null;
    sessionStorage.setItem(PLACE_KEY, "home");
    this.thread.close();
    this.notices.clear();
    this.toggleSidebar(false);
    this.drawAll();
    const sentence = await this.attempt("home", {});
    if (sentence) this.notices.show(sentence);
  }

  /** @param {import("./modals.js").View} home */
  showHome(home) {
    this.homeView = home;
    if (this.atHome) this.home.draw(home);
  }

  markUnread(channelId) {
    this.unread.add(channelId);
    this.drawSidebar();
  }

  async actAs(id) {
    const place = this.atHome ? "home" : this.channelId;
    this.keepDraft();
    this.me = id;
    this.channelId = null;
    this.unread.clear();
    sessionStorage.setItem(ACTING_KEY, id);
    await this.enter(place);
    this.announce(`Acting as ${personName(this.context(), id)}`);
  }

  async openPermalink({ channel, ts, threadTs }) {
    if (!this.channels.has(channel)) {
      this.notices.show(`${personName(this.context(), this.me)} cannot see the channel of this link.`, { kind: "info" });
      return;
    }
    if (this.modals.top) await this.modals.close({ all: true });
    await this.openChannel(channel, { around: ts });
    if (!ts) return;
    const root = this.view.conversation.threadTs ?? threadTs ?? ts;
    const message = this.view.conversation.byTs.get(root);
    if (!this.view.list.reveal(root)) {
      this.notices.show("This message is not in the local workspace. The link itself is right: at Slack it would open there.", { kind: "info" });
    } else if (root !== ts && !(await this.thread.open(message, ts))) {
      this.thread.notices.show("This reply is not in the local workspace, only the first message of its thread is.", { kind: "info" });
    }
  }

  drawAll() {
    this.drawSidebar();
    this.drawPlace();
    this.composer.root.hidden = this.atHome || !this.mayWrite();
    byId("home").hidden = !this.atHome;
    byId("channel").hidden = this.atHome;
    if (this.atHome) this.home.draw(this.homeView);
    else this.view.draw();
  }

  drawSidebar() {
    const current = this.atHome ? "home" : this.channelId;
    this.sidebar.draw({ ctx: this.context(), current, unread: this.unread, app: this.app });
  }

  mayWrite() {
    const channel = this.channels.get(this.channelId);
    return Boolean(channel && !channel.isArchived && channel.isMember);
  }

  placeName() {
    const channel = this.channels.get(this.channelId);
    if (this.atHome || !channel) return this.atHome ? this.app.name : "No channel";
    return `${channel.kind.endsWith("im") ? "" : "#"}${channelTitle(this.context(), channel)}`;
  }

  drawPlace() {
    const channel = this.channels.get(this.channelId) ?? null;
    document.title = `${this.placeName()} · ${this.team.name}`;
    if (channel) this.composer.setLabel(`Message ${this.placeName()}`);
    if (this.atHome) drawHomeHead(byId("place"), this.app.name);
    else drawChannelHead(byId("place"), channel, this.context());
  }

  toggleSidebar(wanted = !document.body.classList.contains("sidebar-open")) {
    document.body.classList.toggle("sidebar-open", wanted);
    byId("sidebar-toggle").setAttribute("aria-expanded", String(wanted));
  }

  onEscape() {
    if (document.body.classList.contains("sidebar-open")) {
      this.toggleSidebar(false);
      byId("sidebar-toggle").focus();
    } else if (this.thread.isOpen) {
      this.thread.close();
    }
  }

  /** A question that the stand-in did not answer is told where the person looks. */
  onFailure(event) {
    if (!(event.reason instanceof ApiError)) return;
    event.preventDefault();
    this.notices.show(event.reason.message);
  }

  /** Read everything again, after a lost connection is back. */
  async readAgain() {
    await this.loadChannels();
    await this.loadViews();
    await this.view.read();
    this.drawAll();
  }

  /** New content of a message starts with empty inputs, as the stand-in's own record of them does. */
  forgetEntries(message) {
    const known = this.view.conversation.byTs.get(message.ts);
    if (known && JSON.stringify(known.blocks) !== JSON.stringify(message.blocks)) this.entries.delete(entriesKey(this.me, message));
  }

  /** Have a screen reader say something; the same sentence twice is said twice. */
  announce(sentence) {
    byId("live").replaceChildren(el("p", {}, sentence));
  }
}

function entriesKey(userId, message) {
  return `${userId} ${message.channel_id} ${message.ts}`;
}
