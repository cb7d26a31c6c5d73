/* Sends the journal's entries one by one, oldest first, and again until the server has acknowledged them.
   Events: "state" {state, waiting}, "acknowledged" {entry, reply}, "refused" {entry, http, reply}. */

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;

export class Sender extends EventTarget {
  #journal;
  #api;
  #shelf;
  #lock;
  #timer = 0;
  #wait = FIRST_WAIT_MS;
  #running = null;
  #again = false;
  state = "saved";

  /* `lock`: a name, so that two tabs with one journal do not send the same entry at once. */
  constructor({ journal, api, shelf, lock }) {
    super();
    this.#journal = journal;
    this.#api = api;
    this.#shelf = shelf;
    this.#lock = lock;
    addEventListener("online", () => this.hurry());
    document.addEventListener("visibilitychange", () => document.hidden || this.hurry());
  }

  /* Try now, and forget how long the last failure made us wait. */
  hurry() {
    this.#wait = FIRST_WAIT_MS;
    return this.flush();
  }

  /* Send what is there; done when all of it is acknowledged, or when that has to wait. */
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
      this.#running = null; // in the same step as the last look at `again`: nobody's wish falls between
    }
  }

  async #send() {
    let entries = await this.#journal.pending();
    while (entries.length) {
      this.#tell(this.state === "saved" ? "sending" : this.state, entries.length);
      const entry = entries[0];
      const reply = await this.#post(entry, entries.length === 1);
      if (reply.state === "ok") {
        await this.#journal.finish(entry.client_key);
        this.#wait = FIRST_WAIT_MS;
        this.#happened("acknowledged", { entry, reply: reply.data });
      } else if (reply.state === "refused") {
        await this.#journal.remove(entry.client_key);
        this.#happened("refused", { entry, http: reply.http, reply: reply.data });
      } else {
        await this.#journal.update({ ...entry, attempts: entry.attempts + 1 });
        this.#tell(reply.state === "lost" ? "offline" : reply.state, entries.length);
        this.#timer = setTimeout(() => this.flush(), this.#wait);
        this.#wait = Math.min(LONGEST_WAIT_MS, this.#wait * 2);
        return;
      }
      entries = await this.#journal.pending();
    }
    this.#tell("saved", 0);
  }

  /* The last answer that waits brings the next item, if it is sent for the first time: should the server fail
     at the item, the answer must get there without. */
  #post(entry, last) {
    const send = (next) => this.#api.post(entry.door, next ? { ...entry.body, next } : entry.body);
    const alone = !last || entry.attempts || entry.door !== "answers";
    return alone ? send(null) : this.#shelf.along(entry.client_key, send);
  }

  #tell(state, waiting) {
    this.state = state;
    this.#happened("state", { state, waiting });
  }

  #happened(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }
}
