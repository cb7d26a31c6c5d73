/* Sends the journal's entries one by one, oldest first, until the server has acknowledged each.
   Events: "state" {state, waiting}, "acknowledged" {entry, reply}, "refused" {entry, http, reply}. */

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;

export class Sender extends EventTarget {
  #journal;
  #api;
  #queue;
  #lock;
  #timer = 0;
  #wait = FIRST_WAIT_MS;
  #running = null;
  #again = false;
  state = "saved";

  /* `lock`: a name, so that two tabs with one journal do not send the same entry at the same time. */
  constructor({ journal, api, queue, lock }) {
    super();
    this.#journal = journal;
    this.#api = api;
    this.#queue = queue;
    this.#lock = lock;
    addEventListener("online", () => this.retryNow());
    document.addEventListener("visibilitychange", () => document.hidden || this.retryNow());
  }

  /* Try now, and reset the waiting time. */
  retryNow() {
    this.#wait = FIRST_WAIT_MS;
    return this.flush();
  }

  /* Send all entries; resolves when all are acknowledged, or when sending has to wait. */
  flush() {
    this.#again = true;
    this.#running ??= this.#run();
    return this.#running;
  }

  async #run() {
    try {
      while (this.#again) {
        this.#again = false;
        clearTimeout(this.#timer);
        if (navigator.locks) await navigator.locks.request(this.#lock, () => this.#send());
        else await this.#send();
      }
    } finally {
      this.#running = null; // in the same step as the last check of `#again`, so that no flush is missed
    }
  }

  async #send() {
    let entries = await this.#journal.pending();
    while (entries.length) {
      this.#setState(this.state === "saved" ? "sending" : this.state, entries.length);
      const entry = entries[0];
      const reply = await this.#post(entry, entries.length === 1);
      if (reply.state === "ok") {
        await this.#journal.finish(entry.client_key);
        this.#wait = FIRST_WAIT_MS;
        this.#emit("acknowledged", { entry, reply: reply.data });
      } else if (reply.state === "refused") {
        await this.#journal.remove(entry.client_key);
        this.#emit("refused", { entry, http: reply.http, reply: reply.data });
      } else {
        await this.#journal.update({ ...entry, attempts: entry.attempts + 1 });
        this.#setState(reply.state === "failed" ? "offline" : reply.state, entries.length);
        this.#timer = setTimeout(() => this.flush(), this.#wait);
        this.#wait = Math.min(LONGEST_WAIT_MS, this.#wait * 2);
        return;
      }
      entries = await this.#journal.pending();
    }
    this.#setState("saved", 0);
  }

  /* The last waiting answer also asks for the next item, but only on its first attempt: if the server fails to
     give an item, the answer is sent again without asking. */
  #post(entry, last) {
    const send = (next) => this.#api.post(entry.door, next ? { ...entry.body, next } : entry.body);
    const withoutNext = !last || entry.attempts || entry.door !== "answers";
    return withoutNext ? send(null) : this.#queue.sendWithNext(entry.client_key, send);
  }

  #setState(state, waiting) {
    this.state = state;
    this.#emit("state", { state, waiting });
  }

  #emit(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }
}
