/** What Slack's client itself refuses before an app hears of a submission. Pure. */

/**
 * Find inputs whose entries cannot be submitted.
 *
 * @param {object[]} blocks
 * @param {import("./values.js").Values} values
 * @returns {Record<string, string>} A sentence by block_id.
 */
export function missingEntries(blocks, values) {
  const found = {};
  for (const block of blocks.filter((one) => one.type === "input")) {
    const sentence = refusal(block, values.get(block.block_id, block.element.action_id));
    if (sentence) found[block.block_id] = sentence;
  }
  return found;
}

function refusal(block, state) {
  const { type, ...entry } = state ?? {};
  const value = Object.values(entry)[0] ?? null;
  const isEmpty = value === null || value === "" || (Array.isArray(value) && value.length === 0);
  if (isEmpty) return block.optional ? null : "Please complete this required field.";
  const { min_length: least = 0, max_length: most = Infinity } = block.element;
  if (typeof value === "string" && value.length < least) return `This needs at least ${least} characters.`;
  if (typeof value === "string" && value.length > most) return `This takes at most ${most} characters.`;
  return FORMS[type] && !FORMS[type].test(value) ? SENTENCES[type] : null;
}

const FORMS = {
  email_text_input: /^\S+@\S+\.\S+$/,
  url_text_input: /^https?:\/\/\S+$/,
  number_input: /^-?\d+(\.\d+)?$/,
};

const SENTENCES = {
  email_text_input: "Please enter an e-mail address.",
  url_text_input: "Please enter a web address.",
  number_input: "Please enter a number.",
};
