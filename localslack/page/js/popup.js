/** Placing small panels beside the control that opened them. */

/**
 * Put a panel below its anchor, or above where there is no room, inside the window.
 *
 * @param {HTMLElement} panel With `position: fixed`.
 * @param {HTMLElement} anchor
 * @param {{matchWidth?: boolean, align?: "start"|"end"}} [options]
 */
export function place(panel, anchor, { matchWidth = false, align = "start" } = {}) {
  const box = anchor.getBoundingClientRect();
  if (matchWidth) panel.style.minWidth = `${Math.min(box.width, window.innerWidth - 16)}px`;
  const { offsetWidth: width, offsetHeight: height } = panel;
  const below = window.innerHeight - box.bottom - 8;
  const top = height <= below || below > box.top ? box.bottom + 4 : box.top - height - 4;
  const wished = align === "end" ? box.right - width : box.left;
  panel.style.left = `${Math.max(8, Math.min(wished, window.innerWidth - width - 8))}px`;
  panel.style.top = `${Math.max(8, Math.min(top, window.innerHeight - height - 8))}px`;
}

/**
 * Where a panel stands in the document: in its anchor's landmark, or dialog, which is a layer of its own.
 *
 * @param {HTMLElement} anchor
 * @returns {HTMLElement}
 */
export function layerOf(anchor) {
  return anchor.closest("dialog, main, aside") ?? document.body;
}
