/* Requests to the server's endpoints. A reply is one of
   {state: "ok", data}            accepted
   {state: "refused", http, data} refused: sending it again would not help
   {state: "login"}               the session has ended
   {state: "other_user"}          somebody else is logged in now
   {state: "failed"}              the network or the server failed: try again */

const TIMEOUT_MS = 20_000;

export class Api {
  #urls;
  #token;
  #enrolment;

  constructor({ urls, token, enrolment }) {
    this.#urls = urls;
    this.#token = token;
    this.#enrolment = enrolment;
  }

  get(endpoint) {
    return this.#request(endpoint, { method: "GET" });
  }

  async post(endpoint, body) {
    const first = await this.#send(endpoint, body);
    if (first.state !== "token") return first;
    /* The token changes with every login, and another tab may have logged in again. */
    const fresh = await this.get("token");
    if (fresh.state !== "ok") return fresh.state === "refused" ? { state: "failed" } : fresh;
    if (fresh.data.enrolment !== this.#enrolment) return { state: "other_user" };
    this.#token = fresh.data.token;
    const second = await this.#send(endpoint, body);
    return second.state === "token" ? { state: "failed" } : second;
  }

  #send(endpoint, body) {
    return this.#request(endpoint, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-CSRFToken": this.#token },
      body: JSON.stringify(body),
    });
  }

  async #request(endpoint, options) {
    let response;
    let data = null;
    try {
      response = await fetch(this.#urls[endpoint], {
        ...options,
        credentials: "same-origin",
        redirect: "manual",
        cache: "no-store",
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      if (response.type === "opaqueredirect") return { state: "login" };
      if (response.headers.get("Content-Type")?.startsWith("application/json")) data = await response.json();
    } catch {
      return { state: "failed" };
    }
    if (response.ok && data) return { state: "ok", data };
    /* This program's refusals are JSON; a 403 that is not comes from the CSRF check. */
    if (response.status === 403 && !data) return { state: "token" };
    if (response.status >= 500 || [408, 425, 429].includes(response.status)) return { state: "failed" };
    return { state: "refused", http: response.status, data: data ?? {} };
  }
}
