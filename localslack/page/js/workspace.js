/** Turning the stand-in's JSON into the page's own records. */

/** @typedef {import("./context.js").Person} Person */
/** @typedef {import("./context.js").Channel} Channel */

/**
 * @param {object[]} rows
 * @returns {Map<string, Person>}
 */
export function readPeople(rows) {
  return new Map(rows.map((row) => [row.id, {
    id: row.id, label: row.label, realName: row.real_name, title: row.title, tz: row.tz,
    isBot: row.is_bot, isGuest: row.is_guest, isAdmin: row.is_admin, isDeleted: row.deleted,
  }]));
}

/**
 * @param {object[]} rows
 * @returns {Map<string, Channel>}
 */
export function readChannels(rows) {
  return new Map(rows.map((row) => [row.id, {
    id: row.id, name: row.name, kind: row.kind, isArchived: row.is_archived, isMember: row.is_member,
    topic: row.topic, purpose: row.purpose, memberCount: row.member_count, members: row.members,
  }]));
}

/** Messages of one place, by ts; the same ts replaces. */
export class Conversation {
  constructor() {
    this.byTs = new Map();
    this.hasEarlier = false;
    this.hasLater = false;
    /** The thread that the wanted message belongs to, where it is a reply. */
    this.threadTs = null;
  }

  /** @param {import("./message.js").Message} message */
  put(message) {
    this.byTs.set(message.ts, message);
  }

  /** @param {string} ts */
  remove(ts) {
    this.byTs.delete(ts);
  }

  /** @returns {import("./message.js").Message[]} Oldest first. */
  get messages() {
    return [...this.byTs.values()].sort((a, b) => (a.ts < b.ts ? -1 : a.ts > b.ts ? 1 : 0));
  }
}
