/* Stores answers that the server has not acknowledged, and drafts, in IndexedDB: one database per annotator and
   study. If the browser has no storage, or the storage stops responding, they are only in this tab's memory; the
   event "memory" says so.

   A journal entry: {client_key, door, body, item, order, attempts}. `door` is the endpoint's name. Names of stored
   fields, stores and databases must not change: browsers keep entries across upgrades. */

const OLD_DRAFT_MS = 14 * 24 * 60 * 60 * 1000;
/* Storage that takes longer is no longer used: sending must not wait for it forever. */
const TIMEOUT_MS = 15_000;

export class Journal extends EventTarget {
  #database = null;
  #entries = new Map();
  #drafts = new Map();
  #order = 0;
  /* Entries that are only in memory so far. A page that is left saves them in localStorage, which is quick. */
  #unwritten = new Map();
  #localStorageKey;
  /* Resolves once the database is open, or has failed to open. Earlier writes wait for it. */
  ready;

  /* `name`: of the database; null to keep everything in this tab's memory, as long as the page is open. */
  constructor(name) {
    super();
    this.ready = name === null ? Promise.resolve() : this.#open(name);
    if (name === null) return;
    this.#localStorageKey = `${name}-left`;
    addEventListener("pagehide", () => this.#saveUnwritten());
  }

  async #open(name) {
    try {
      this.#database = await openDatabase(name);
    } catch {
      this.#useMemory();
    }
    await this.#restoreUnwritten();
    await this.#readDrafts();
  }

  #useMemory() {
    this.#database = null;
    this.dispatchEvent(new Event("memory"));
  }

  /* False if a reload would lose the entries; known once `ready`. */
  get durable() {
    return this.#database !== null;
  }

  /* Adds an entry, unless there is one with its key: the first answer to an item counts. */
  async add({ client_key, endpoint, body, item }) {
    const entry = { client_key, door: endpoint, body, item, order: Date.now() + this.#order++ / 1000, attempts: 0 };
    if (this.#entries.has(client_key)) return;
    await this.#insert(entry, (change) => this.#write("entries", change));
  }

  async #insert(entry, write) {
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
    this.#removeFromMemory(key);
    await this.#write("entries", (store) => store.delete(key));
  }

  #removeFromMemory(key) {
    this.#entries.delete(key);
    this.#unwritten.delete(key);
  }

  /* The server has the answer: remove the entry and its draft in one transaction. Otherwise a page that is left in
     between would show the item again with its draft. */
  async finish(key) {
    this.#removeFromMemory(key);
    this.#drafts.delete(key);
    await this.#write(["entries", "drafts"], (entries, drafts) => {
      entries.delete(key);
      drafts.delete(key);
    });
  }

  /* Entries of this tab and of closed tabs, oldest first. */
  async pending() {
    await this.ready;
    const entries = new Map(this.#entries);
    const stored = await this.#read("entries", (store) => store.getAll());
    for (const entry of stored ?? []) if (!entries.has(entry.client_key)) entries.set(entry.client_key, entry);
    return [...entries.values()].sort((a, b) => a.order - b.order);
  }

  /* Read from memory: an item must not wait for its draft. */
  draft(key) {
    return this.#drafts.get(key) ?? null;
  }

  /* The latest draft of a correction, or null. */
  correctionDraft() {
    const corrections = [...this.#drafts.values()].filter((draft) => draft.item);
    return corrections.sort((a, b) => a.at - b.at).at(-1) ?? null;
  }

  async saveDraft(key, draft) {
    const saved = { ...draft, client_key: key, at: Date.now() };
    this.#drafts.set(key, saved);
    await this.#write("drafts", (store) => store.put(saved));
  }

  async deleteDraft(key) {
    this.#drafts.delete(key);
    await this.#write("drafts", (store) => store.delete(key));
  }

  #saveUnwritten() {
    if (!this.#unwritten.size) return;
    try {
      const others = JSON.parse(localStorage.getItem(this.#localStorageKey) ?? "[]");
      localStorage.setItem(this.#localStorageKey, JSON.stringify([...others, ...this.#unwritten.values()]));
    } catch { /* no storage */ }
  }

  /* Entries that an earlier page saved in localStorage when it was left. */
  async #restoreUnwritten() {
    try {
      const saved = localStorage.getItem(this.#localStorageKey);
      if (saved === null) return;
      for (const entry of JSON.parse(saved)) await this.#insert(entry, (change) => this.#change("entries", change));
      /* Entries that were added meanwhile are for the next page. */
      if (localStorage.getItem(this.#localStorageKey) === saved) localStorage.removeItem(this.#localStorageKey);
    } catch { /* no storage */ }
  }

  async #readDrafts() {
    const oldest = Date.now() - OLD_DRAFT_MS;
    for (const draft of (await this.#read("drafts", (store) => store.getAll())) ?? []) {
      if (draft.at < oldest) this.deleteDraft(draft.client_key);
      else if (!this.#drafts.has(draft.client_key)) this.#drafts.set(draft.client_key, draft);
    }
  }

  /* If the database is open, the transaction begins immediately, before anything that the caller does next. */
  #write(names, change) {
    return this.#database ? this.#change(names, change) : this.ready.then(() => this.#change(names, change));
  }

  /* Calls `change` with the stores of these names. */
  #change(names, change) {
    return this.#transact((transaction, done) => {
      transaction.oncomplete = () => done("written");
      /* A constraint error means that another tab added the entry first; the storage has not failed. */
      transaction.onabort = () => done(transaction.error?.name === "ConstraintError" ? "taken" : "failed");
      change(...[names].flat().map((name) => transaction.objectStore(name)));
      transaction.commit?.(); // now, since a page that is left aborts uncommitted transactions
    }, names, "readwrite");
  }

  async #read(name, read) {
    const result = await this.#transact((transaction, done) => {
      const request = read(transaction.objectStore(name));
      request.onsuccess = () => done(request.result);
      request.onerror = () => done("failed");
    }, name, "readonly");
    return result === "failed" ? null : result;
  }

  /* Calls `work` with a transaction over the stores of these names, and a function to call with the outcome. After
     the outcome "failed" the storage is no longer used. */
  async #transact(work, names, mode) {
    if (!this.#database) return "failed";
    const outcome = await withTimeout((done) => work(this.#database.transaction(names, mode), done)).catch(() => "failed");
    if (outcome === "failed" && this.#database) this.#useMemory();
    return outcome;
  }
}

/* A promise that is rejected after the timeout. */
function withTimeout(work) {
  return new Promise((done, failed) => {
    const timer = setTimeout(() => failed(new Error("timeout")), TIMEOUT_MS);
    const settle = (then) => (outcome) => {
      clearTimeout(timer);
      then(outcome);
    };
    try {
      work(settle(done), settle(failed));
    } catch (error) {
      settle(failed)(error);
    }
  });
}

function openDatabase(name) {
  return withTimeout((done, failed) => {
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
