/* The doors to the server. An answer is one of
   {state: "ok", data}            taken
   {state: "refused", http, data} understood, and not taken: sending it again would not help
   {state: "login"}               the session is over
   {state: "stranger"}            somebody else is logged in now
   {state: "lost"}                the network or the server failed: to be tried again */

const PATIENCE_MS = 20_000;

export class Api {
  #urls;
  #token;
  #desk;

  constructor({ urls, token, desk }) {
    this.#urls = urls;
    this.#token = token;
    this.#desk = desk;
  }

  get(door) {
    return this.#ask(door, { method: "GET" });
  }

  async post(door, body) {
    const first = await this.#send(door, body);
    if (first.state !== "token") return first;
    /* The token changes with every login; another tab may have logged in again. */
    const fresh = await this.get("token");
    if (fresh.state !== "ok") return fresh.state === "refused" ? { state: "lost" } : fresh;
    if (fresh.data.desk !== this.#desk) return { state: "stranger" };
    this.#token = fresh.data.token;
    const second = await this.#send(door, body);
    return second.state === "token" ? { state: "lost" } : second;
  }

  #send(door, body) {
    return this.#ask(door, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-CSRFToken": this.#token },
      body: JSON.stringify(body),
    });
  }

  async #ask(door, options) {
    let response;
    let data = null;
    try {
      response = await fetch(this.#urls[door], {
        ...options,
        credentials: "same-origin",
        redirect: "manual",
        cache: "no-store",
        signal: AbortSignal.timeout(PATIENCE_MS),
      });
      if (response.type === "opaqueredirect") return { state: "login" };
      if (response.headers.get("Content-Type")?.startsWith("application/json")) data = await response.json();
    } catch {
      return { state: "lost" };
    }
    if (response.ok && data) return { state: "ok", data };
    /* Refusals of this program are JSON; a 403 that is not comes from the check of the token. */
    if (response.status === 403 && !data) return { state: "token" };
    if (response.status >= 500 || [408, 425, 429].includes(response.status)) return { state: "lost" };
    return { state: "refused", http: response.status, data: data ?? {} };
  }
}
