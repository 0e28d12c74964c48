/** Which addresses may become links, and which of them lead back into this workspace. */

import { el } from "./dom.js";

const PROTOCOLS = new Set(["http:", "https:", "mailto:"]);

/**
 * Return the address if a person may follow it, else null.
 *
 * @param {unknown} address
 * @returns {string|null} Absolute http, https or mailto address.
 */
export function safeUrl(address) {
  if (typeof address !== "string") return null;
  try {
    const url = new URL(address);
    return PROTOCOLS.has(url.protocol) ? url.href : null;
  } catch {
    return null;
  }
}

/**
 * Read a permalink of this workspace.
 *
 * @param {string} address
 * @param {string} teamUrl The workspace's own address, as auth.test gives it.
 * @returns {{channel: string, ts: string|null, threadTs: string|null}|null} null for any other address.
 */
export function parsePermalink(address, teamUrl) {
  const href = safeUrl(address);
  const home = safeUrl(teamUrl);
  if (!href || !home) return null;
  const url = new URL(href);
  if (url.host !== new URL(home).host) return null;
  const match = /^\/archives\/([A-Z0-9]+)(?:\/p(\d{10})(\d{6}))?\/?$/.exec(url.pathname);
  if (!match) return null;
  return {
    channel: match[1],
    ts: match[2] ? `${match[2]}.${match[3]}` : null,
    threadTs: url.searchParams.get("thread_ts"),
  };
}

/**
 * Make an anchor; unsafe addresses become plain text that says so on hover.
 *
 * @param {string} address
 * @param {Array<Node|string>} children
 * @param {import("./context.js").Context} ctx
 * @param {Record<string, unknown>} [attributes]
 * @returns {HTMLElement}
 */
export function anchor(address, children, ctx, attributes = {}) {
  const href = safeUrl(address);
  if (!href) return el("span", { class: "dead-link", title: "Not a web address, so not a link" }, children);
  const inside = parsePermalink(href, ctx.teamUrl);
  if (!inside) {
    return el("a", { href, target: "_blank", rel: "noopener noreferrer", ...attributes }, children);
  }
  const { onclick, ...rest } = attributes;
  const follow = (event) => {
    event.preventDefault();
    onclick?.(event);
    ctx.openPermalink(inside);
  };
  return el("a", { href, rel: "noopener noreferrer", ...rest, onclick: follow }, children);
}
