/** Where the keyboard is: remembering it, and giving it back after something was drawn anew or closed. */

/**
 * Remember which control has the focus, by names that survive a new drawing.
 *
 * @param {HTMLElement} root
 * @returns {object|null}
 */
export function rememberFocus(root) {
  const node = document.activeElement;
  if (!root.contains(node) || node === root) return null;
  const { action, block } = node.dataset;
  return {
    node, ts: node.closest("[data-ts]")?.dataset.ts, action, block, text: node.textContent,
    selection: "selectionStart" in node ? [node.selectionStart, node.selectionEnd] : null,
  };
}

/**
 * Give the focus back to where it was: the same control, else the one that replaced it, else its message.
 *
 * @param {HTMLElement} root
 * @param {object|null} focus From rememberFocus.
 */
export function restoreFocus(root, focus) {
  if (!focus || focus.node === document.activeElement) return;
  if (focus.node.isConnected) {
    focusBack(focus.node);
    return;
  }
  const home = focus.ts ? root.querySelector(`[data-ts="${CSS.escape(focus.ts)}"]`) : root;
  if (!home) return;
  const controls = [...home.querySelectorAll("[data-action]")];
  const same = controls.filter((one) => one.dataset.action === focus.action);
  const found = same.find((one) => one.dataset.block === focus.block && one.textContent === focus.text)
    ?? same.find((one) => one.textContent === focus.text) ?? same.find((one) => one.dataset.block === focus.block);
  (found ?? home).focus({ preventScroll: true });
  if (found && focus.selection?.[0] !== null && focus.selection && "setSelectionRange" in found) {
    found.setSelectionRange(...focus.selection);
  }
}

/**
 * Focus a control, also one that is shown only while its message has the focus.
 *
 * @param {HTMLElement} node
 */
export function focusBack(node) {
  node.closest("[data-ts]")?.focus({ preventScroll: true });
  node.focus({ preventScroll: true });
}
