/* What must not be lost: answers that the server has not acknowledged, and drafts. Kept in IndexedDB, one
   database for each annotator and study. Where a browser has no storage, or one that stopped answering, kept
   in this tab's memory. Event: "memory", when it comes to that.

   A journal entry: {client_key, door, body, item, order, attempts}. `door` names the endpoint. */

const OLD_DRAFT_MS = 14 * 24 * 60 * 60 * 1000;
/* Storage that has not answered by then is done without: sending must not wait for it without end. */
const PATIENCE_MS = 15_000;

export class Journal extends EventTarget {
  #database = null;
  #entries = new Map();
  #drafts = new Map();
  #order = 0;
  /* Entries that are in memory only, as yet or for good; a page that is left puts them where that is quick. */
  #unwritten = new Map();
  #left;
  /* Resolves once the storage is open, or known not to open; what is kept before that is written then. */
  ready;

  constructor(name) {
    super();
    this.#left = `${name}-left`;
    this.ready = this.#open(name);
    addEventListener("pagehide", () => this.#leave());
  }

  async #open(name) {
    try {
      this.#database = await opened(name);
    } catch {
      this.#doWithout();
    }
    await this.#takeUp();
    await this.#readDrafts();
  }

  #doWithout() {
    this.#database = null;
    this.dispatchEvent(new Event("memory"));
  }

  /* Whether a reload would lose what is kept; known once `ready`. */
  get durable() {
    return this.#database !== null;
  }

  /* Keeps an entry unless one with its key is here already: the first answer to an item counts. */
  async add({ client_key, door, body, item }) {
    const entry = { client_key, door, body, item, order: Date.now() + this.#order++ / 1000, attempts: 0 };
    if (this.#entries.has(client_key)) return;
    await this.#keep(entry, (change) => this.#write("entries", change));
  }

  async #keep(entry, write) {
    this.#entries.set(entry.client_key, entry);
    this.#unwritten.set(entry.client_key, entry);
    const written = await write((store) => store.add(entry));
    if (written !== "failed") this.#unwritten.delete(entry.client_key);
    if (written === "taken") this.#entries.delete(entry.client_key);
  }

  async update(entry) {
    this.#entries.set(entry.client_key, entry);
    await this.#write("entries", (store) => store.put(entry));
  }

  async remove(key) {
    this.#forget(key);
    await this.#write("entries", (store) => store.delete(key));
  }

  #forget(key) {
    this.#entries.delete(key);
    this.#unwritten.delete(key);
  }

  /* The server has it: the entry goes together with the draft that it came from. One after the other, a page
     that is left in between would show the item once more as half answered. */
  async finish(key) {
    this.#forget(key);
    this.#drafts.delete(key);
    await this.#write(["entries", "drafts"], (entries, drafts) => {
      entries.delete(key);
      drafts.delete(key);
    });
  }

  /* Entries of this tab and of tabs that were closed, the oldest first. */
  async pending() {
    await this.ready;
    const entries = new Map(this.#entries);
    const kept = await this.#read("entries", (store) => store.getAll());
    for (const entry of kept ?? []) if (!entries.has(entry.client_key)) entries.set(entry.client_key, entry);
    return [...entries.values()].sort((a, b) => a.order - b.order);
  }

  /* At once, from memory: an item must not wait for its draft. */
  draft(key) {
    return this.#drafts.get(key) ?? null;
  }

  /* The draft of a correction, the last one touched; null if none was left half-way. */
  correction() {
    const begun = [...this.#drafts.values()].filter((draft) => draft.item);
    return begun.sort((a, b) => a.at - b.at).at(-1) ?? null;
  }

  async keepDraft(key, draft) {
    const kept = { ...draft, client_key: key, at: Date.now() };
    this.#drafts.set(key, kept);
    await this.#write("drafts", (store) => store.put(kept));
  }

  async dropDraft(key) {
    this.#drafts.delete(key);
    await this.#write("drafts", (store) => store.delete(key));
  }

  #leave() {
    if (!this.#unwritten.size) return;
    try {
      const others = JSON.parse(localStorage.getItem(this.#left) ?? "[]");
      localStorage.setItem(this.#left, JSON.stringify([...others, ...this.#unwritten.values()]));
    } catch { /* no storage: nothing more can be done */ }
  }

  /* What an earlier page left in a hurry. */
  async #takeUp() {
    try {
      const left = localStorage.getItem(this.#left);
      if (left === null) return;
      for (const entry of JSON.parse(left)) await this.#keep(entry, (change) => this.#change("entries", change));
      /* What has been left since then is for the next page. */
      if (localStorage.getItem(this.#left) === left) localStorage.removeItem(this.#left);
    } catch { /* no storage: nothing was left there */ }
  }

  async #readDrafts() {
    const before = Date.now() - OLD_DRAFT_MS;
    for (const draft of (await this.#read("drafts", (store) => store.getAll())) ?? []) {
      if (draft.at < before) this.dropDraft(draft.client_key);
      else if (!this.#drafts.has(draft.client_key)) this.#drafts.set(draft.client_key, draft);
    }
  }

  /* The transaction begins at once where the storage is open: what follows cannot come in between. */
  #write(names, change) {
    return this.#database ? this.#change(names, change) : this.ready.then(() => this.#change(names, change));
  }

  /* `change` is given the stores of these names. */
  #change(names, change) {
    return this.#ask((transaction, done) => {
      transaction.oncomplete = () => done("written");
      /* An entry that another tab kept first is a constraint error, and no failure of the storage. */
      transaction.onabort = () => done(transaction.error?.name === "ConstraintError" ? "taken" : "failed");
      change(...[names].flat().map((name) => transaction.objectStore(name)));
      transaction.commit?.(); // at once: a page that is being left aborts what is not committed
    }, names, "readwrite");
  }

  async #read(name, question) {
    const found = await this.#ask((transaction, done) => {
      const request = question(transaction.objectStore(name));
      request.onsuccess = () => done(request.result);
      request.onerror = () => done("failed");
    }, name, "readonly");
    return found === "failed" ? null : found;
  }

  /* `work` is given a transaction over the stores of these names, and calls what else it is given with the
     outcome: "failed" for storage that can no longer be used, which it is then done without. */
  async #ask(work, names, mode) {
    if (!this.#database) return "failed";
    const outcome = await inTime((done) => work(this.#database.transaction(names, mode), done)).catch(() => "failed");
    if (outcome === "failed" && this.#database) this.#doWithout();
    return outcome;
  }
}

/* As a promise, but one that is broken where nothing has come by then. */
function inTime(work) {
  return new Promise((done, failed) => {
    const timer = setTimeout(() => failed(new Error("no answer")), PATIENCE_MS);
    const over = (then) => (outcome) => {
      clearTimeout(timer);
      then(outcome);
    };
    try {
      work(over(done), over(failed));
    } catch (error) {
      over(failed)(error);
    }
  });
}

function opened(name) {
  return inTime((done, failed) => {
    const request = indexedDB.open(name, 1);
    request.onupgradeneeded = () => {
      request.result.createObjectStore("entries", { keyPath: "client_key" });
      request.result.createObjectStore("drafts", { keyPath: "client_key" });
    };
    request.onsuccess = () => done(request.result);
    request.onerror = () => failed(request.error);
    request.onblocked = () => failed(new Error("blocked"));
  });
}
