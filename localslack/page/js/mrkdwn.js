/**
 * Slack's mrkdwn, read into a tree of plain objects. Pure: knows nothing of the page.
 *
 * Nodes: {type: "text", text} · "bold" | "italic" | "strike" | "quote" {children} · "code" | "pre" {text} ·
 * "link" {url, children} · "user" | "channel" | "usergroup" {id, label} · "broadcast" {range} ·
 * "date" {timestamp, pattern, url, fallback} · "emoji" {name} · "break".
 */

const STYLES = { "*": "bold", _: "italic", "~": "strike" };
const FENCE = "```";
const WORD = /[\p{L}\p{N}]/u;
// Slack gives no limit; this one keeps hostile text from costing quadratic time.
const STYLED_CHARACTERS = 3000;

/**
 * Read mrkdwn.
 *
 * @param {string} source Escaped as Slack wants it: &amp; &lt; &gt;, and <...> for links and mentions.
 * @param {{verbatim?: boolean}} [options] Without verbatim, bare addresses and @here become live, as at Slack.
 * @returns {Array<object>}
 */
export function parseMrkdwn(source, { verbatim = false } = {}) {
  const nodes = [];
  const parts = splitFences(source);
  for (const part of parts) {
    if (part.fenced) nodes.push({ type: "pre", text: unescape(plainEntities(part.text)) });
    else nodes.push(...parseLines(part.text, { verbatim }));
  }
  return nodes;
}

/** Turn Slack's three escapes back into characters, once. */
export function unescape(text) {
  return text.replace(/&(amp|lt|gt);/g, (_, name) => ({ amp: "&", lt: "<", gt: ">" })[name]);
}

function splitFences(source) {
  const parts = [];
  let rest = source;
  for (;;) {
    const open = rest.indexOf(FENCE);
    const close = open < 0 ? -1 : rest.indexOf(FENCE, open + 3);
    if (close < 0 || close === open + 3) return [...parts, { fenced: false, text: rest }];
    // The line breaks around a code block belong to the block.
    parts.push({ fenced: false, text: rest.slice(0, open).replace(/\n$/, "") });
    parts.push({ fenced: true, text: rest.slice(open + 3, close).replace(/^\n|\n$/g, "") });
    rest = rest.slice(close + 3).replace(/^\n/, "");
  }
}

/** Inside code, links and mentions show what a reader would see, without being live. */
function plainEntities(text) {
  return text.replace(/<([^<>\n]+)>/g, (whole, body) => {
    const [target, label] = splitOnce(body, "|");
    if (label !== null) return label;
    return /^(https?:|mailto:)/.test(target) ? target : whole;
  });
}

function parseLines(text, options) {
  const nodes = [];
  let quote = [];
  let plain = [];
  const flushQuote = () => {
    if (quote.length) nodes.push({ type: "quote", children: parseInline(quote.join("\n"), options) });
    quote = [];
  };
  const flushPlain = () => {
    if (plain.length) nodes.push(...parseInline(plain.join("\n"), options));
    plain = [];
  };
  for (const line of text === "" ? [] : text.split("\n")) {
    const quoted = /^(?:&gt;|>) ?(.*)$/s.exec(line);
    if (quoted) flushPlain();
    else flushQuote();
    (quoted ? quote : plain).push(quoted ? quoted[1] : line);
  }
  flushPlain();
  flushQuote();
  return nodes;
}

/**
 * Read the inside of one run of lines.
 *
 * @param {string} text
 * @param {{verbatim: boolean}} options
 * @returns {Array<object>}
 */
function parseInline(text, options) {
  const nodes = [];
  let buffer = "";
  const flush = () => {
    if (buffer) nodes.push(...parsePlain(buffer, options));
    buffer = "";
  };
  for (let at = 0; at < text.length; ) {
    const found = readEntity(text, at, options) ?? readCode(text, at) ?? readStyle(text, at, options)
      ?? readEmoji(text, at) ?? readBreak(text, at);
    if (found) {
      flush();
      nodes.push(found.node);
      at = found.end;
    } else {
      buffer += text[at];
      at += 1;
    }
  }
  flush();
  return nodes;
}

function readBreak(text, at) {
  return text[at] === "\n" ? { node: { type: "break" }, end: at + 1 } : null;
}

function readCode(text, at) {
  const match = text[at] === "`" ? /^`([^`\n]+)`/.exec(text.slice(at)) : null;
  return match && { node: { type: "code", text: unescape(plainEntities(match[1])) }, end: at + match[0].length };
}

function readEmoji(text, at) {
  if (text[at] !== ":") return null;
  const match = /^:([a-z0-9_+'-]+)(?:::skin-tone-[2-6])?:/.exec(text.slice(at, at + 100));
  // 10:30:45 is a time, not an emoji.
  if (!match || /^\d+$/.test(match[1]) && match[1] !== "100") return null;
  return { node: { type: "emoji", name: match[1] }, end: at + match[0].length };
}

/** *bold*, _italic_ and ~strike~ stand at word edges, hold no blank at their own edges, never themselves. */
function readStyle(text, at, options) {
  const mark = text[at];
  const type = STYLES[mark];
  const { within = "" } = options;
  if (!type || within.includes(mark) || WORD.test(text[at - 1] ?? "") || text[at - 1] === mark) return null;
  if (/\s/.test(text[at + 1] ?? " ")) return null;
  const newline = text.indexOf("\n", at);
  const stop = Math.min(newline < 0 ? text.length : newline, at + STYLED_CHARACTERS);
  for (let end = text.indexOf(mark, at + 2); end > 0 && end < stop; end = text.indexOf(mark, end + 1)) {
    const next = text[end + 1] ?? "";
    if (/\s/.test(text[end - 1]) || next === mark || WORD.test(next)) continue;
    const inside = text.slice(at + 1, end);
    if (splitsEntity(inside)) continue;
    return { node: { type, children: parseInline(inside, { ...options, within: within + mark }) }, end: end + 1 };
  }
  return null;
}

function splitsEntity(inside) {
  return inside.lastIndexOf("<") > inside.lastIndexOf(">") || (inside.match(/`/g) ?? []).length % 2 === 1;
}

function readEntity(text, at, options) {
  if (text[at] !== "<") return null;
  const match = /^<([^<>\n]+)>/.exec(text.slice(at));
  if (!match) return null;
  const node = entity(match[1], options);
  return node && { node, end: at + match[0].length };
}

function entity(body, options) {
  const [target, label] = splitOnce(body, "|");
  const shown = label ? unescape(label) : null;
  if (target.startsWith("@")) return { type: "user", id: target.slice(1), label: shown };
  if (target.startsWith("#")) return { type: "channel", id: target.slice(1), label: shown };
  if (target.startsWith("!")) return command(target.slice(1), shown);
  // What is neither a mention nor an address, such as <b>, is text.
  if (!/^[a-z][a-z0-9+.-]*:/i.test(target)) return { type: "text", text: `<${unescape(body)}>` };
  const url = unescape(target);
  const children = label ? parseLabel(label, options) : [{ type: "text", text: url.replace(/^mailto:/, "") }];
  return { type: "link", url, children };
}

/** A link's label may be styled but holds no further links. */
function parseLabel(label, options) {
  return parseInline(label.replaceAll("<", "&lt;"), { ...options, verbatim: true });
}

function command(body, label) {
  const [name, ...rest] = body.split("^");
  if (name === "date") {
    const [timestamp, pattern = "", url = null] = rest;
    return { type: "date", timestamp: Number(timestamp), pattern, url: url && unescape(url), fallback: label ?? "" };
  }
  if (name === "subteam") return { type: "usergroup", id: rest[0] ?? "", label };
  if (["here", "channel", "everyone"].includes(name)) return { type: "broadcast", range: name };
  return { type: "text", text: label ?? `<${unescape(`!${body}`)}>` };
}

/** Plain text, in which Slack itself finds addresses and broadcasts unless told verbatim. */
function parsePlain(text, { verbatim }) {
  if (verbatim) return [{ type: "text", text: unescape(text) }];
  const nodes = [];
  let last = 0;
  const live = /https?:\/\/[^\s<>"]+[^\s<>"'.,;:!?)\]}]|(?<![\p{L}\p{N}@])@(?:here|channel|everyone)\b/gu;
  for (const match of text.matchAll(live)) {
    if (match.index > last) nodes.push({ type: "text", text: unescape(text.slice(last, match.index)) });
    nodes.push(liveNode(unescape(match[0])));
    last = match.index + match[0].length;
  }
  if (last < text.length) nodes.push({ type: "text", text: unescape(text.slice(last)) });
  return nodes;
}

function liveNode(found) {
  if (found.startsWith("@")) return { type: "broadcast", range: found.slice(1) };
  return { type: "link", url: found, children: [{ type: "text", text: found }] };
}

function splitOnce(text, mark) {
  const at = text.indexOf(mark);
  return at < 0 ? [text, null] : [text.slice(0, at), text.slice(at + 1)];
}
