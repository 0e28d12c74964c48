/**
 * What a renderer needs to know about the workspace and the person who is looking.
 *
 * @typedef {object} Person
 * @property {string} id
 * @property {string} label
 * @property {string} realName
 * @property {string} title
 * @property {string} tz
 * @property {boolean} isBot
 * @property {boolean} isGuest
 * @property {boolean} isDeleted
 *
 * @typedef {object} Channel
 * @property {string} id
 * @property {string} name
 * @property {"public"|"private"|"im"|"mpim"} kind
 * @property {boolean} isArchived
 * @property {boolean} isMember
 * @property {string} topic
 * @property {number} memberCount
 * @property {string[]} members Of direct messages only.
 *
 * @typedef {object} Context
 * @property {string} teamUrl
 * @property {string} me User id of the acting person.
 * @property {string} zone IANA zone of the acting person.
 * @property {() => number} now Unix seconds.
 * @property {Map<string, Person>} people
 * @property {Map<string, Channel>} channels The channels the acting person can see.
 * @property {Record<string, string>} emoji Characters by name, without colons.
 * @property {(link: {channel: string, ts: string|null, threadTs: string|null}) => void} openPermalink
 * @property {(channelId: string) => void} openChannel
 */

/**
 * The name that the page shows for a user id; never empty.
 *
 * @param {Context} ctx
 * @param {string} userId
 * @returns {string}
 */
export function personName(ctx, userId) {
  return ctx.people.get(userId)?.label || userId || "unknown";
}

/**
 * The name of a channel for one who can see it; Slack's own words for one who cannot.
 *
 * @param {Context} ctx
 * @param {string} channelId
 * @returns {{text: string, known: boolean}}
 */
export function channelName(ctx, channelId) {
  const channel = ctx.channels.get(channelId);
  if (!channel) return { text: "private channel", known: false };
  return { text: channelTitle(ctx, channel), known: true };
}

/**
 * How a channel is titled in the list and the header, without its sign.
 *
 * @param {Context} ctx
 * @param {Channel} channel
 * @returns {string} For DMs, the other participants' names.
 */
export function channelTitle(ctx, channel) {
  if (channel.kind !== "im" && channel.kind !== "mpim") return channel.name;
  const others = channel.members.filter((id) => id !== ctx.me);
  if (others.length === 0) return `${personName(ctx, ctx.me)} (you)`;
  return others.map((id) => personName(ctx, id)).join(", ");
}
