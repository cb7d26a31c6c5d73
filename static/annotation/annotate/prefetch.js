/* The items at hand: the one on the screen and the next two, with their images decoded, so that the next
   one is there the moment an answer is given. */

const AT_HAND = 3;
const MOST = 12;
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 15_000;

export class Shelf extends EventTarget {
  #api;
  #journal;
  #items = [];
  #done = new Set();
  #filling = null;
  #again = false;
  /* How often what is at hand has changed, and how often it had when the server was asked last. */
  #changes = 0;
  #known = 0;
  #timer = 0;
  #wait = FIRST_WAIT_MS;
  /* What the server said last: "items", "done", "paused" ... */
  state = "items";

  constructor({ api, journal, work }) {
    super();
    this.#api = api;
    this.#journal = journal;
    this.state = work.state;
    this.#put(work.items);
    addEventListener("online", () => this.hurry());
  }

  get current() {
    return this.#items[0] ?? null;
  }

  /* Keys of the items at hand. */
  get keys() {
    return this.#items.map((item) => item.client_key);
  }

  /* The item is dealt with, here or in another tab: it comes back on the screen only if the server, asked
     when nothing of it was under way any more, still says that it is in our hands. */
  finish(key) {
    this.#changes += 1;
    this.#done.add(key);
    this.#items = this.#items.filter((item) => item.client_key !== key);
    /* Whoever empties the shelf need not have asked for more. */
    if (!this.#items.length && this.state === "items" && !this.#filling) this.#later();
  }

  /* An item whose answer was refused comes again after the one on the screen. */
  putBack(item) {
    this.#changes += 1;
    this.#done.delete(item.client_key);
    this.#items.splice(1, 0, item);
    decode(item);
  }

  hurry() {
    this.#wait = FIRST_WAIT_MS;
    return this.refill();
  }

  /* Ask for as many items as are missing. Dispatches "filled" after every answer of the server. A question
     that is under way does not know what has been answered since: it is asked once more. */
  refill() {
    this.#again = true;
    this.#filling ??= this.#fill();
    return this.#filling;
  }

  /* The same, unless an answer has brought what is missing. */
  topUp() {
    if (this.#known !== this.#changes) this.refill();
  }

  /* Ask with an answer, which is on its way under `key`: `send` is given what to ask for, or null if that is
     being asked already, and promises the server's reply. It brings what was asked for as `next`, if it can. */
  async along(key, send) {
    if (this.#filling) return send(null);
    let over;
    this.#filling = new Promise((done) => { over = done; });
    try {
      const question = await this.#question(key);
      const reply = await send(question.body);
      if (reply.state === "ok" && reply.data.next) this.#take(question, { state: "ok", data: reply.data.next });
      return reply;
    } finally {
      this.#filling = null;
      over();
      if (this.#again) this.refill(); // somebody wished for it meanwhile
    }
  }

  async #fill() {
    try {
      while (this.#again) {
        this.#again = false;
        await this.#ask();
      }
    } finally {
      this.#filling = null; // in the same step as the last look at `again`: nobody's wish falls between
    }
  }

  async #ask() {
    const question = await this.#question();
    this.#take(question, await this.#api.post("items", question.body));
  }

  /* `answered`: the key of an answer that the server will have by then. */
  async #question(answered = null) {
    clearTimeout(this.#timer);
    const [changes, done] = [this.#changes, [...this.#done]];
    /* Answers under way still hold their place on the server. */
    const underWay = (await this.#journal.pending()).map((entry) => entry.client_key);
    const waiting = underWay.filter((key) => key !== answered);
    const body = { have: [...this.keys, ...waiting], wanted: Math.min(MOST, waiting.length + AT_HAND) };
    return { body, changes, done: done.filter((key) => !underWay.includes(key)) };
  }

  #take({ changes, done }, reply) {
    if (reply.state === "ok") {
      this.#wait = FIRST_WAIT_MS;
      this.#known = changes;
      this.state = reply.data.state;
      const held = new Set(reply.data.held);
      /* What another tab gave back is gone; the item on the screen may still be answered. */
      this.#items = this.#items.filter((item, place) => place === 0 || held.has(item.client_key));
      /* Nothing of it was on its way when we asked: we were wrong to let go of it. */
      for (const key of done) if (held.has(key)) this.#done.delete(key);
      this.#put(reply.data.items);
    }
    this.dispatchEvent(new CustomEvent("filled", { detail: reply }));
    /* After that, since whoever hears it may let go of the last item. */
    const missing = reply.state === "ok" ? !this.#items.length && this.state === "items" : this.#items.length < AT_HAND;
    if (missing) this.#later();
  }

  #later() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.refill(), this.#wait);
    this.#wait = Math.min(LONGEST_WAIT_MS, this.#wait * 2);
  }

  #put(items) {
    const units = new Set(this.#items.map((item) => item.unit));
    for (const item of items) {
      if (this.#done.has(item.client_key) || units.has(item.unit)) continue;
      this.#items.push(item);
      decode(item);
    }
  }
}

/* The image is fetched and decoded before it is needed; the page keeps it alive. */
const pictures = new Map();
function decode(item) {
  const url = item.image?.url;
  if (!url || pictures.has(url)) return;
  const picture = new Image();
  picture.src = url;
  pictures.set(url, picture);
  picture.decode().catch(() => pictures.delete(url));
  for (const old of [...pictures.keys()].slice(0, -2 * AT_HAND)) pictures.delete(old);
}
