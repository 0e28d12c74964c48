/** Times as the acting person sees them: every function takes an IANA time zone. */

const MONTHS = [
  "January", "February", "March", "April", "May", "June",
  "July", "August", "September", "October", "November", "December",
];

const formatters = new Map();

function formatter(zone) {
  if (!formatters.has(zone)) formatters.set(zone, makeFormatter(zone));
  return formatters.get(zone);
}

function makeFormatter(zone) {
  const options = {
    year: "numeric", month: "numeric", day: "numeric", weekday: "long",
    hour: "numeric", minute: "2-digit", second: "2-digit", hourCycle: "h23",
  };
  try {
    return new Intl.DateTimeFormat("en-US", { ...options, timeZone: zone });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    // A zone that this browser does not know is shown in UTC rather than breaking the page.
    return new Intl.DateTimeFormat("en-US", { ...options, timeZone: "UTC" });
  }
}

/**
 * Take a moment apart.
 *
 * @param {number} seconds Unix seconds.
 * @param {string} zone
 * @returns {{year: number, month: number, day: number, weekday: string, hour: number, minute: string,
 *   second: string, dayNumber: number}} month from 1; dayNumber counts days since 1970 in that zone.
 */
export function moment(seconds, zone) {
  const parts = Object.fromEntries(
    formatter(zone).formatToParts(new Date(seconds * 1000)).map((part) => [part.type, part.value]),
  );
  const [year, month, day] = [Number(parts.year), Number(parts.month), Number(parts.day)];
  return {
    year, month, day, weekday: parts.weekday, hour: Number(parts.hour) % 24,
    minute: parts.minute, second: parts.second,
    dayNumber: Math.floor(Date.UTC(year, month - 1, day) / 86_400_000),
  };
}

/** @param {number} day @returns {string} "1st", "2nd", "11th" */
export function ordinal(day) {
  const teen = day % 100 >= 11 && day % 100 <= 13;
  const ending = teen ? "th" : ({ 1: "st", 2: "nd", 3: "rd" }[day % 10] ?? "th");
  return `${day}${ending}`;
}

/** @returns {string} "9:05 AM" */
export function clock(seconds, zone, { withSeconds = false } = {}) {
  const at = moment(seconds, zone);
  const rest = withSeconds ? `${at.minute}:${at.second}` : at.minute;
  return `${at.hour % 12 || 12}:${rest} ${at.hour < 12 ? "AM" : "PM"}`;
}

/** Name the day of a divider: "Today", "Yesterday" or "Tuesday, March 3rd, 2026" (this year: without it). */
export function dayLabel(seconds, zone, now) {
  const at = moment(seconds, zone);
  const today = moment(now, zone);
  const near = nearDay(at, today);
  if (near) return near[0].toUpperCase() + near.slice(1);
  const year = at.year === today.year ? "" : `, ${at.year}`;
  return `${at.weekday}, ${MONTHS[at.month - 1]} ${ordinal(at.day)}${year}`;
}

/** @returns {string} "Tuesday, March 3rd, 2026 at 9:05:12 AM", for a tooltip. */
export function fullTime(seconds, zone) {
  return formatDate(seconds, "{date_long} at {time_secs}", { zone, now: seconds });
}

function nearDay(at, today) {
  return { "-1": "yesterday", 0: "today", 1: "tomorrow" }[at.dayNumber - today.dayNumber] ?? null;
}

function ago(seconds, now) {
  const gap = Math.abs(now - seconds);
  const [count, unit] =
    gap < 60 ? [Math.round(gap), "second"]
    : gap < 3600 ? [Math.round(gap / 60), "minute"]
    : gap < 86_400 ? [Math.round(gap / 3600), "hour"]
    : [Math.round(gap / 86_400), "day"];
  const words = `${count} ${unit}${count === 1 ? "" : "s"}`;
  return seconds <= now ? `${words} ago` : `in ${words}`;
}

/**
 * Fill Slack's date tokens, as in `<!date^1392734382^{date_short} at {time}|fallback>`.
 *
 * @param {number} seconds Unix seconds.
 * @param {string} pattern Text with tokens such as {date_num}, {date_short_pretty}, {time}, {ago}.
 * @param {{zone: string, now: number}} viewer
 * @returns {string} Unknown tokens stay as they are. A pretty date that starts the text has a capital.
 */
export function formatDate(seconds, pattern, { zone, now }) {
  const at = moment(seconds, zone);
  const month = MONTHS[at.month - 1];
  const pretty = (plain) => nearDay(at, moment(now, zone)) ?? plain;
  const pad = (value) => String(value).padStart(2, "0");
  const date = `${month} ${ordinal(at.day)}, ${at.year}`;
  const short = `${month.slice(0, 3)} ${at.day}, ${at.year}`;
  const long = `${at.weekday}, ${date}`;
  const values = {
    date_num: `${at.year}-${pad(at.month)}-${pad(at.day)}`,
    date_slash: `${pad(at.month)}/${pad(at.day)}/${at.year}`,
    date, date_short: short, date_long: long,
    date_pretty: pretty(date), date_short_pretty: pretty(short), date_long_pretty: pretty(long),
    time: clock(seconds, zone), time_secs: clock(seconds, zone, { withSeconds: true }),
    ago: ago(seconds, now),
    day_divider_pretty: dayLabel(seconds, zone, now),
  };
  const text = pattern.replace(/\{(\w+)\}/g, (token, name) => values[name] ?? token);
  return text.replace(/^(today|yesterday|tomorrow)/, (word) => word[0].toUpperCase() + word.slice(1));
}

