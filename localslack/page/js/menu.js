/** Menus that open from a button: message actions, overflow menus, the app's shortcuts. */

import { append, el, icon } from "./dom.js";
import { focusBack } from "./focus.js";
import { layerOf, place } from "./popup.js";

/**
 * @typedef {object} MenuItem
 * @property {Node[]|string} label
 * @property {string} [detail] A quieter second line.
 * @property {string} [group] Items of a new group start with its heading.
 * @property {() => void} onSelect
 */

let open = null;

/**
 * Open a menu beside a button; the first item takes the focus, and the button gets it back at the end.
 *
 * @param {HTMLElement} button
 * @param {MenuItem[]} items
 * @param {{label: string, align?: "start"|"end"}} options
 */
export function openMenu(button, items, { label, align = "start" }) {
  closeMenu();
  const panel = el("div", { class: "menu", role: "menu", "aria-label": label });
  let group = null;
  for (const item of items) {
    if (item.group && item.group !== group) {
      panel.append(el("div", { class: "menu-group", role: "presentation" }, item.group));
      group = item.group;
    }
    panel.append(drawItem(item));
  }
  if (!items.length) panel.append(el("div", { class: "menu-empty", role: "menuitem", tabindex: "-1" }, "Nothing here"));
  layerOf(button).append(panel);
  place(panel, button, { align });
  button.setAttribute("aria-expanded", "true");
  open = { panel, button };
  panel.addEventListener("keydown", onKey);
  document.addEventListener("pointerdown", onOutside, true);
  window.addEventListener("resize", closeMenu);
  entries(panel)[0]?.focus();
}

/** Close the open menu, if any. */
export function closeMenu({ restoreFocus = false } = {}) {
  if (!open) return;
  const { panel, button } = open;
  open = null;
  document.removeEventListener("pointerdown", onOutside, true);
  window.removeEventListener("resize", closeMenu);
  panel.remove();
  if (restoreFocus === true) focusBack(button);
  button.setAttribute("aria-expanded", "false");
}

/**
 * Make a button that opens a menu.
 *
 * @param {{label: string, icon?: string, className?: string, align?: "start"|"end", items: () => MenuItem[]}} options
 * @param {...(Node|string)} children Shown instead of the icon.
 * @returns {HTMLButtonElement}
 */
export function menuButton({ label, icon: name = "more", className = "icon-button", align, items }, ...children) {
  const button = el("button", {
    type: "button", class: className, "aria-haspopup": "menu", "aria-expanded": "false", title: label,
    "aria-label": label,
    onclick: () => (open?.button === button ? closeMenu({ restoreFocus: true }) : openMenu(button, items(), { label, align })),
    onkeydown: (event) => {
      if (event.key !== "ArrowDown" || open) return;
      event.preventDefault();
      openMenu(button, items(), { label, align });
    },
  });
  append(button, children.length ? children : [icon(name)]);
  return button;
}

function drawItem(item) {
  const select = () => {
    closeMenu({ restoreFocus: true });
    item.onSelect();
  };
  return el(
    "button",
    { type: "button", class: "menu-item", role: "menuitem", tabindex: "-1", onclick: select },
    el("span", { class: "menu-label" }, item.label),
    item.detail && el("span", { class: "menu-detail" }, item.detail),
  );
}

function entries(panel) {
  return [...panel.querySelectorAll("[role=menuitem]")];
}

function onOutside(event) {
  if (open && !open.panel.contains(event.target) && !open.button.contains(event.target)) closeMenu();
}

function onKey(event) {
  const all = entries(event.currentTarget);
  const at = all.indexOf(document.activeElement);
  const moves = { ArrowDown: at + 1, ArrowUp: at - 1 + all.length, Home: 0, End: all.length - 1 };
  if (event.key in moves) {
    event.preventDefault();
    all[moves[event.key] % all.length].focus();
  } else if (event.key === "Escape" || event.key === "Tab") {
    event.preventDefault();
    // Escape inside a dialog must close the menu only.
    event.stopPropagation();
    closeMenu({ restoreFocus: true });
  } else if (event.key.length === 1) {
    const letter = event.key.toLowerCase();
    const order = [...all.slice(at + 1), ...all.slice(0, at + 1)];
    order.find((item) => item.textContent.trim().toLowerCase().startsWith(letter))?.focus();
  }
}
