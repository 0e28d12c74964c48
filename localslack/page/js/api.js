/** The page's own door to the stand-in: JSON over fetch, and a live feed over a WebSocket. */

const TOKEN_KEY = "localslack-token";
const PROTOCOL = "localslack.v1";
const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 8000;

/** The stand-in refused; the message is a sentence for a person. */
export class ApiError extends Error {
  /** @param {number} status HTTP status, 0 where nothing answered. @param {string} message */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/**
 * Take the token from the address into this tab's memory, and out of the address and the history.
 *
 * It is not kept in a cookie: cookies of 127.0.0.1 go to every port, so to every other program's page.
 *
 * @returns {string|null}
 */
export function takeToken() {
  const url = new URL(location.href);
  const given = url.searchParams.get("token");
  if (given) {
    sessionStorage.setItem(TOKEN_KEY, given);
    url.searchParams.delete("token");
    history.replaceState(null, "", url);
  }
  return sessionStorage.getItem(TOKEN_KEY);
}

/**
 * Ask the stand-in.
 *
 * @param {string} path Below /page/api/.
 * @param {{query?: Record<string, string|number|null>, body?: object}} [options] A body makes it a POST.
 * @returns {Promise<any>} The parsed answer.
 * @throws {ApiError}
 */
export async function ask(path, { query = {}, body } = {}) {
  const url = new URL(`/page/api/${path}`, location.origin);
  for (const [name, value] of Object.entries(query)) if (value !== null && value !== undefined) url.searchParams.set(name, value);
  const headers = { Authorization: `Bearer ${sessionStorage.getItem(TOKEN_KEY) ?? ""}` };
  if (body) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(url, { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body) });
  } catch (error) {
    throw new ApiError(0, `The local Slack does not answer (${error.message}). Is it still running?`);
  }
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new ApiError(response.status, answer.error ?? `The local Slack answered ${response.status}.`);
  return answer;
}

/** One person's live feed; it reconnects by itself until it is closed. */
export class LiveFeed {
  /**
   * @param {string} userId
   * @param {{onChange: (change: object) => void, onStatus: (connected: boolean, again: boolean) => void}} listeners
   *   onStatus's `again` is true when a lost connection is back, so that what was missed can be read again.
   */
  constructor(userId, listeners) {
    this.userId = userId;
    this.listeners = listeners;
    this.retryMs = FIRST_RETRY_MS;
    this.opened = false;
    this.closed = false;
    /** Settles at the first greeting: what changes from then on is heard. */
    this.ready = new Promise((resolve) => {
      this.greeted = resolve;
    });
    this.connect();
  }

  connect() {
    const url = `${location.origin.replace(/^http/, "ws")}/page/api/live?user=${encodeURIComponent(this.userId)}`;
    this.socket = new WebSocket(url, [PROTOCOL, `token.${sessionStorage.getItem(TOKEN_KEY) ?? ""}`]);
    this.socket.onmessage = (event) => this.hear(JSON.parse(event.data));
    this.socket.onclose = () => {
      if (this.closed) return;
      this.listeners.onStatus(false, false);
      setTimeout(() => this.closed || this.connect(), this.retryMs);
      this.retryMs = Math.min(this.retryMs * 2, LONGEST_RETRY_MS);
    };
  }

  hear(change) {
    if (change.kind !== "hello") {
      this.listeners.onChange(change);
      return;
    }
    this.retryMs = FIRST_RETRY_MS;
    this.greeted();
    this.listeners.onStatus(true, this.opened);
    this.opened = true;
  }

  /** Stop listening for good. */
  close() {
    this.closed = true;
    this.socket.close();
  }
}
