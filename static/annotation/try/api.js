/* The endpoints of a try. They store nothing, so this page remembers, until it is closed, which items it was given and
   how they were answered. */

import { Api } from "../annotate/api.js";

const SHOWN_ANSWERS = 10;

export class TryApi extends Api {
  #items = new Map();
  #answers = new Map();
  #before;
  /* The key of the last item given: others come after it. */
  #last = null;

  /* `assigned`: the items that came with the page, and how many were answered before. */
  constructor({ assigned, ...options }) {
    super(options);
    this.#before = assigned.progress.answered;
    this.#remember(assigned);
  }

  async get(endpoint) {
    return endpoint === "last" ? { state: "ok", data: { answers: this.#lastAnswers() } } : super.get(endpoint);
  }

  async post(endpoint, body) {
    const reply = await super.post(endpoint, { ...body, after: this.#last });
    if (reply.state !== "ok") return reply;
    if (body.answers) this.#answered(body);
    for (const given of [reply.data, reply.data.next]) {
      if (!given?.items) continue;
      this.#remember(given);
      given.progress.answered = this.#before + [...this.#answers.values()].filter(({ item }) => !item.training).length;
    }
    return reply;
  }

  #remember({ items }) {
    for (const item of items) {
      this.#items.set(item.client_key, item);
      this.#last = item.client_key;
    }
  }

  #answered({ client_key: key, answers }) {
    const judgements = Object.fromEntries(answers.map(({ option, ...judgement }) => [option, { justification: "", boxes: [], whole_image: false, ...judgement }]));
    const order = this.#answers.get(key)?.order ?? this.#answers.size;
    this.#answers.set(key, { item: this.#items.get(key), judgements, order });
  }

  /* As an annotator gets them: newest first, without practice items. A correction has the key of its item. */
  #lastAnswers() {
    const answers = [...this.#answers.values()].filter(({ item }) => !item.training);
    return answers.sort((a, b) => b.order - a.order).slice(0, SHOWN_ANSWERS);
  }
}
