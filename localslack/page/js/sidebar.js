/** The list of channels, and the choice of who is acting. */

import { avatar } from "./avatar.js";
import { channelTitle } from "./context.js";
import { el, fill, icon } from "./dom.js";

const FILTER_FROM = 12;

/** Draws the sidebar. */
export class Sidebar {
  /**
   * @param {{root: HTMLElement, onChannel: (id: string) => void, onHome: () => void, onActingAs: (id: string) => void}} options
   */
  constructor(options) {
    this.options = options;
    this.wanted = "";
    this.root = options.root;
    this.filter = el("input", {
      type: "search", class: "field channel-filter", placeholder: "Find a channel", "aria-label": "Find a channel",
      oninput: () => {
        this.wanted = this.filter.value.trim().toLowerCase();
        this.drawList();
      },
    });
    this.list = el("div", { class: "channel-list" });
    this.acting = el("div", { class: "acting" });
    fill(this.root, this.acting, this.filter, this.list);
  }

  /**
   * @param {{ctx: import("./context.js").Context, current: string|null, unread: Set<string>, app: object}} state
   *   current: a channel id, or "home".
   */
  draw(state) {
    this.state = state;
    this.filter.hidden = state.ctx.channels.size < FILTER_FROM;
    this.drawActing();
    this.drawList();
  }

  drawActing() {
    const { ctx } = this.state;
    const drawnFor = `${ctx.me} ${ctx.people.size}`;
    if (this.drawnFor === drawnFor) return;
    this.drawnFor = drawnFor;
    const people = [...ctx.people.values()].filter((one) => !one.isBot).sort((a, b) => a.label.localeCompare(b.label));
    const select = el("select", { class: "field", onchange: () => this.options.onActingAs(select.value) },
      people.map((one) => el("option", { value: one.id, selected: one.id === ctx.me, disabled: one.isDeleted && one.id !== ctx.me }, nameOf(one))));
    const me = ctx.people.get(ctx.me);
    fill(this.acting, avatar({ name: me?.label ?? "", id: ctx.me }),
      el("label", { class: "acting-label" }, el("span", {}, "Acting as"), select));
  }

  drawList() {
    const { ctx, app } = this.state;
    const title = (channel) => channelTitle(ctx, channel).toLowerCase();
    const all = [...ctx.channels.values()].filter((channel) => title(channel).includes(this.wanted))
      .sort((a, b) => title(a).localeCompare(title(b)));
    const isRoom = (channel) => channel.kind === "public" || channel.kind === "private";
    const mine = all.filter((channel) => isRoom(channel) && channel.isMember && !channel.isArchived);
    const others = all.filter((channel) => isRoom(channel) && !channel.isMember && !channel.isArchived);
    const archived = all.filter((channel) => channel.isArchived);
    const direct = all.filter((channel) => !isRoom(channel) && !channel.isArchived);
    const focused = this.list.contains(document.activeElement) ? document.activeElement.dataset.channel : null;
    fill(this.list,
      this.group("Channels", mine), this.group("Direct messages", direct),
      app?.has_home ? this.appGroup(app) : null,
      this.group("Channels you have not joined", others), this.group("Archived", archived),
      all.length === 0 && this.wanted ? el("p", { class: "quiet" }, "No channel has this name.") : null);
    if (focused) this.list.querySelector(`[data-channel="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  }

  group(title, channels) {
    if (!channels.length) return null;
    return el("section", { class: "channel-group", "aria-label": title }, el("h2", {}, title),
      el("ul", {}, channels.map((channel) => el("li", {}, this.channel(channel)))));
  }

  channel(channel) {
    const { ctx, current, unread } = this.state;
    const isNew = unread.has(channel.id);
    const name = channelTitle(ctx, channel);
    const classes = ["channel", channel.isArchived && "archived", isNew && "unread"].filter(Boolean).join(" ");
    const extra = [channel.kind === "private" && "private", channel.isArchived && "archived", isNew && "unread"].filter(Boolean);
    return el("button", {
      type: "button", class: classes, "data-channel": channel.id, "aria-current": channel.id === current ? "page" : null,
      title: name,
      onclick: () => this.options.onChannel(channel.id),
    }, this.sign(channel), el("span", { class: "channel-name" }, name),
    extra.length > 0 && el("span", { class: "visually-hidden" }, `, ${extra.join(", ")}`), isNew && el("span", { class: "dot" }));
  }

  sign(channel) {
    const { ctx } = this.state;
    if (channel.kind === "im") {
      const other = channel.members.find((id) => id !== ctx.me) ?? ctx.me;
      return avatar({ name: ctx.people.get(other)?.label ?? "", id: other, small: true });
    }
    return icon({ public: "hash", private: "lock", mpim: "people" }[channel.kind]);
  }

  appGroup(app) {
    const current = this.state.current === "home";
    return el("section", { class: "channel-group", "aria-label": "Apps" }, el("h2", {}, "Apps"),
      el("ul", {}, el("li", {}, el("button", {
        type: "button", class: "channel", "data-channel": "home", "aria-current": current ? "page" : null, onclick: () => this.options.onHome(),
      }, avatar({ name: app.name, id: app.bot_user_id, small: true, isBot: true }), el("span", { class: "channel-name" }, app.name)))));
  }
}

function nameOf(person) {
  const kind = person.isDeleted ? "deactivated" : person.isGuest ? "guest" : person.isAdmin ? "admin" : "";
  return kind ? `${person.label} (${kind})` : person.label;
}
