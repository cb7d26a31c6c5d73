/* Active and idle time on one item, in milliseconds. Gaps between activity events count as active. Gaps of half a
   minute or more, and time with the page hidden, count as idle. */

const IDLE_MS = 30_000;
const BREAK_MS = 5 * 60_000;
const ACTIVITY_EVENTS = ["keydown", "pointerdown", "pointermove", "scroll", "input"];

export class Clock {
  #last = performance.now();
  #active = 0;
  #idle = 0;
  startedAt = new Date().toISOString();
  /* Active time since the page opened or since the last break, over all items. */
  sinceBreak = 0;

  constructor() {
    for (const type of ACTIVITY_EVENTS) addEventListener(type, () => this.tick(), { passive: true });
    document.addEventListener("visibilitychange", () => this.tick(!document.hidden));
  }

  /* Count the time since the last activity. `hidden`: the page was not visible. */
  tick(hidden = false) {
    const now = performance.now();
    const gap = now - this.#last;
    this.#last = now;
    if (hidden || gap >= IDLE_MS) {
      this.#idle += gap;
      if (gap >= BREAK_MS) this.sinceBreak = 0; // that was a break
    } else {
      this.#active += gap;
      this.sinceBreak += gap;
    }
  }

  /* Start an item, or continue one from the times of its draft. */
  begin(draft = null) {
    this.tick();
    this.#active = draft?.active_ms ?? 0;
    this.#idle = draft?.idle_ms ?? 0;
    this.startedAt = draft?.started_at ?? new Date().toISOString();
  }

  read() {
    this.tick();
    return {
      started_at: this.startedAt,
      active_ms: Math.round(this.#active),
      idle_ms: Math.round(this.#idle),
    };
  }
}
