/** What a person has entered in the inputs of one view or message, in the form of Slack's view.state. */

/** One surface's entries; the same block_id and action_id keep their entry across updates. */
export class Values {
  constructor() {
    this.entries = new Map();
  }

  /** @returns {object|undefined} For example {type: "plain_text_input", value: "x"}. */
  get(blockId, actionId) {
    return this.entries.get(key(blockId, actionId))?.state;
  }

  /** Remember an entry; blockId and actionId name the place. */
  set(blockId, actionId, state) {
    this.entries.set(key(blockId, actionId), { blockId, actionId, state });
  }

  /** Forget the entries of inputs that are no longer drawn. */
  keepOnly(places) {
    const wanted = new Set(places.map(([blockId, actionId]) => key(blockId, actionId)));
    for (const name of this.entries.keys()) if (!wanted.has(name)) this.entries.delete(name);
  }

  /** @returns {Record<string, Record<string, object>>} By block_id, then action_id. */
  toJSON() {
    const values = {};
    for (const { blockId, actionId, state } of this.entries.values()) {
      values[blockId] ??= {};
      values[blockId][actionId] = state;
    }
    return values;
  }

  /** The entry of one input, or what `make` says it starts with. */
  start(blockId, actionId, make) {
    const found = this.get(blockId, actionId);
    if (found) return found;
    const state = make();
    this.set(blockId, actionId, state);
    return state;
  }
}

function key(blockId, actionId) {
  return JSON.stringify([blockId, actionId]);
}
