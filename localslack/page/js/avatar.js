/** Faces made of initials and a colour of their own; no pictures are fetched. */

import { el } from "./dom.js";

const HUES = 12;

/**
 * Draw a face.
 *
 * @param {{name: string, id: string, small?: boolean, labelled?: boolean, isBot?: boolean}} person
 *   labelled: speak the name (where no name stands beside it).
 * @returns {HTMLElement}
 */
export function avatar({ name, id, small = false, labelled = false, isBot = false }) {
  const speech = labelled && name ? { role: "img", "aria-label": name } : { "aria-hidden": "true" };
  const classes = ["avatar", `hue-${hueOf(id)}`, small && "avatar-small", isBot && "avatar-bot"];
  return el("span", { class: classes.filter(Boolean).join(" "), title: labelled ? name : null, "data-initials": initials(name), ...speech });
}

/** @param {string} name @returns {string} One or two characters. */
export function initials(name) {
  const words = name.replace(/[^\p{L}\p{N}\s_.-]/gu, "").split(/[\s_.-]+/u).filter(Boolean);
  if (!words.length) return "?";
  const first = (word) => [...word][0].toLocaleUpperCase();
  return words.length === 1 ? first(words[0]) : first(words[0]) + first(words.at(-1));
}

function hueOf(id) {
  let hash = 0;
  for (const character of id) hash = (hash * 31 + character.codePointAt(0)) >>> 0;
  return hash % HUES;
}
