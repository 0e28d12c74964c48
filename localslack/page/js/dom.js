/** Making elements. Nothing in this page ever parses markup: text goes in as text nodes only. */

/**
 * Make an element.
 *
 * @param {string} tag
 * @param {Record<string, unknown>} [attributes] A function under a key like "onclick" is added as a
 *   listener; `true` sets an empty attribute; null, undefined and false set nothing.
 * @param {...(Node|string|null|undefined|false|Array)} children Strings become text nodes.
 * @returns {HTMLElement}
 */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) setAttribute(node, name, value);
  append(node, children);
  return node;
}

/**
 * Append children, flattening lists and skipping nothings.
 *
 * @param {Node} node
 * @param {Array} children
 */
export function append(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false || child === "") continue;
    node.append(child);
  }
}

/**
 * Replace everything inside a node.
 *
 * @param {Element} node
 * @param {...(Node|string|null)} children
 */
export function fill(node, ...children) {
  node.replaceChildren();
  append(node, children);
}

function setAttribute(node, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name.startsWith("on")) {
    if (typeof value !== "function") throw new TypeError(`${name} takes a function`);
    node.addEventListener(name.slice(2), value);
  } else {
    node.setAttribute(name, value === true ? "" : String(value));
  }
}

let counter = 0;

/**
 * Make an id that is unique in this page.
 *
 * @param {string} prefix
 * @returns {string}
 */
export function uniqueId(prefix) {
  counter += 1;
  return `${prefix}-${counter}`;
}

const SVG = "http://www.w3.org/2000/svg";

const PATHS = {
  hash: "M6.5 2.5 5 13.5M11 2.5 9.5 13.5M2.5 6h11M2.5 10h11",
  lock: "M4 7.5h8v6H4zM5.5 7.5V5a2.5 2.5 0 0 1 5 0v2.5",
  people: "M6 8a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM1.5 13.5c0-2.5 2-4 4.5-4s4.5 1.5 4.5 4M11 8a2 2 0 1 0 0-4M12 9.7c1.6.4 2.5 1.7 2.5 3.8",
  menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
  close: "M3.5 3.5l9 9M12.5 3.5l-9 9",
  back: "M9.5 3 4.5 8l5 5",
  more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  send: "M2.5 8 13.5 3 10 13.5 7.5 9z",
  reply: "M3 4h10v7H8l-3 2.5V11H3z",
  bolt: "M9 1.5 3.5 9H8l-1 5.5L12.5 7H8z",
  down: "M4 6l4 4 4-4",
  app: "M3 3h4v4H3zM9 3h4v4H9zM3 9h4v4H3zM9 9h4v4H9z",
  eye: "M1.5 8C3.5 4.5 6 3.5 8 3.5s4.5 1 6.5 4.5c-2 3.5-4.5 4.5-6.5 4.5S3.5 11.5 1.5 8zM8 10a2 2 0 1 0 0-4 2 2 0 0 0 0 4z",
  warning: "M8 2 14.5 13.5h-13zM8 6.5v3.5M8 11.8v.01",
  image: "M2.5 3h11v10h-11zM2.5 11l3-3 2.5 2.5 2-2 3.5 3",
  external: "M6 3.5H3v9.5h9.5v-3M9 2.5h4.5V7M13.5 2.5 7.5 8.5",
};

/**
 * Draw one of the page's own icons; hidden from screen readers.
 *
 * @param {keyof PATHS} name
 * @returns {SVGElement}
 */
export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("class", `icon icon-${name}`);
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", PATHS[name]);
  svg.append(path);
  return svg;
}
