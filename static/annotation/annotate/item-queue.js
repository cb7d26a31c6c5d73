/* The item on the screen and the next two, with their images decoded, so that the next one can be shown as soon as
   an answer is given. */

const PREFETCHED = 3;
const MAX_ITEMS = 12;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 15_000;

export class ItemQueue extends EventTarget {
  #api;
  #journal;
  #items = [];
  #done = new Set();
  #filling = null;
  #again = false;
  /* How often the queue has changed, and how often it had at the request that the last reply answers. */
  #changes = 0;
  #changesAtReply = 0;
  #timer = 0;
  #wait = FIRST_WAIT_MS;
  /* The state in the last reply: "items", "done", "paused" ... */
  state = "items";

  constructor({ api, journal, assigned }) {
    super();
    this.#api = api;
    this.#journal = journal;
    this.state = assigned.state;
    this.#append(assigned.items);
    addEventListener("online", () => this.retryNow());
  }

  get current() {
    return this.#items[0] ?? null;
  }

  /* Keys of the items in the queue. */
  get keys() {
    return this.#items.map((item) => item.client_key);
  }

  /* The item is answered or skipped, here or in another tab. It comes back only if the server, asked when no answer
     to it was being sent any more, still lists it as assigned. */
  finish(key) {
    this.#changes += 1;
    this.#done.add(key);
    this.#items = this.#items.filter((item) => item.client_key !== key);
    /* The caller that empties the queue need not have asked for more. */
    if (!this.#items.length && this.state === "items" && !this.#filling) this.#retryLater();
  }

  /* An item whose answer was refused comes again after the one on the screen. */
  putBack(item) {
    this.#changes += 1;
    this.#done.delete(item.client_key);
    this.#items.splice(1, 0, item);
    decode(item);
  }

  retryNow() {
    this.#wait = FIRST_WAIT_MS;
    return this.refill();
  }

  /* Fetch the missing items. Dispatches "filled" after every reply. A request that is already running does not
     know about answers given since, so another one follows it. */
  refill() {
    this.#again = true;
    this.#filling ??= this.#fill();
    return this.#filling;
  }

  /* The same, unless the reply to an answer has brought the missing items. */
  topUp() {
    if (this.#changesAtReply !== this.#changes) this.refill();
  }

  /* Send the answer with `key` and fetch items with it. `send` gets the request for items, or null if one is running
     already, and returns a promise of the server's reply, which may bring the items as `next`. */
  async sendWithNext(key, send) {
    if (this.#filling) return send(null);
    let finished;
    this.#filling = new Promise((done) => { finished = done; });
    try {
      const request = await this.#request(key);
      const reply = await send(request.body);
      if (reply.state === "ok" && reply.data.next) this.#receive(request, { state: "ok", data: reply.data.next });
      return reply;
    } finally {
      this.#filling = null;
      finished();
      if (this.#again) this.refill(); // it was called meanwhile
    }
  }

  async #fill() {
    try {
      while (this.#again) {
        this.#again = false;
        await this.#fetch();
      }
    } finally {
      this.#filling = null; // in the same step as the last check of `#again`, so that no refill is missed
    }
  }

  async #fetch() {
    const request = await this.#request();
    this.#receive(request, await this.#api.post("items", request.body));
  }

  /* The body of a request for items. `answered`: the key of the answer that is sent with it. */
  async #request(answered = null) {
    clearTimeout(this.#timer);
    const [changes, done] = [this.#changes, [...this.#done]];
    /* Items whose answers are not sent yet are still assigned on the server. */
    const unsent = (await this.#journal.pending()).map((entry) => entry.client_key);
    const waiting = unsent.filter((key) => key !== answered);
    const body = { have: [...this.keys, ...waiting], wanted: Math.min(MAX_ITEMS, waiting.length + PREFETCHED) };
    return { body, changes, done: done.filter((key) => !unsent.includes(key)) };
  }

  #receive({ changes, done }, reply) {
    if (reply.state === "ok") {
      this.#wait = FIRST_WAIT_MS;
      this.#changesAtReply = changes;
      this.state = reply.data.state;
      const held = new Set(reply.data.held);
      /* Items that another tab released are gone; the one on the screen may still be answered. */
      this.#items = this.#items.filter((item, index) => index === 0 || held.has(item.client_key));
      /* No answer to it was being sent when we asked, so it is not finished after all. */
      for (const key of done) if (held.has(key)) this.#done.delete(key);
      this.#append(reply.data.items);
    }
    this.dispatchEvent(new CustomEvent("filled", { detail: reply }));
    /* After the event, since a listener may finish the last item. */
    const missing = reply.state === "ok" ? !this.#items.length && this.state === "items" : this.#items.length < PREFETCHED;
    if (missing) this.#retryLater();
  }

  #retryLater() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.refill(), this.#wait);
    this.#wait = Math.min(LONGEST_WAIT_MS, this.#wait * 2);
  }

  #append(items) {
    const units = new Set(this.#items.map((item) => item.unit));
    for (const item of items) {
      if (this.#done.has(item.client_key) || units.has(item.unit)) continue;
      this.#items.push(item);
      decode(item);
    }
  }
}

/* Fetch and decode the image before it is needed. The map keeps it in memory. */
const pictures = new Map();
function decode(item) {
  const url = item.image?.url;
  if (!url || pictures.has(url)) return;
  const picture = new Image();
  picture.src = url;
  pictures.set(url, picture);
  picture.decode().catch(() => pictures.delete(url));
  for (const old of [...pictures.keys()].slice(0, -2 * PREFETCHED)) pictures.delete(old);
}
