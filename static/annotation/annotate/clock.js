/* Time at work on one item. The gaps between signs of life count as active, unless nobody moved for half
   a minute or the page was out of sight: those gaps count as idle. Milliseconds. */

const IDLE_MS = 30_000;
const BREAK_MS = 5 * 60_000;
const SIGNS = ["keydown", "pointerdown", "pointermove", "scroll", "input"];

export class Clock {
  #last = performance.now();
  #active = 0;
  #idle = 0;
  startedAt = new Date().toISOString();
  /* Active time since the page opened or since the last break, whatever the item. */
  sinceBreak = 0;

  constructor() {
    for (const sign of SIGNS) addEventListener(sign, () => this.tick(), { passive: true });
    document.addEventListener("visibilitychange", () => this.tick(!document.hidden));
  }

  /* Book the gap since the last sign of life. `away`: it was spent out of sight. */
  tick(away = false) {
    const now = performance.now();
    const gap = now - this.#last;
    this.#last = now;
    if (away || gap >= IDLE_MS) {
      this.#idle += gap;
      if (gap >= BREAK_MS) this.sinceBreak = 0; // that was one
    } else {
      this.#active += gap;
      this.sinceBreak += gap;
    }
  }

  /* Begin an item, or go on with one whose draft was kept. */
  begin(kept = null) {
    this.tick();
    this.#active = kept?.active_ms ?? 0;
    this.#idle = kept?.idle_ms ?? 0;
    this.startedAt = kept?.started_at ?? new Date().toISOString();
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
