/* Draws the boxes, in image pixels. Marks and handles are scaled back so that they keep their size on the screen.
   Elements are reused from one painting to the next, so that they keep the focus. */

import { handles } from "./geometry.js";
import { set, svg } from "../dom.js";

const PATTERNS = 6;
const MARK = 20; // height of an option's number, on the screen
const GAP = 3; // between a mark and its box

const place = (rect, box) =>
  set(rect, { x: box.x0, y: box.y0, width: box.x1 - box.x0, height: box.y1 - box.y0 });

/* A line in two tones, light on dark, visible on any picture. */
const outline = () => [svg("rect", { class: "boxes-halo" }), svg("rect", { class: "boxes-line" })];

export class Painter {
  #elements = new Map();

  constructor(layer) {
    this.shapes = svg("g", { class: "boxes-shapes" });
    this.handles = svg("g", { class: "boxes-handles", "aria-hidden": "true" });
    this.draft = svg("g", { class: "boxes-draft", "aria-hidden": "true" }, ...outline());
    this.cross = svg(
      "g",
      { class: "boxes-cross", "aria-hidden": "true" },
      ...["boxes-halo", "boxes-line"].flatMap((name) => [
        svg("line", { class: name, "data-axis": "x" }),
        svg("line", { class: name, "data-axis": "y" }),
      ]),
    );
    layer.append(this.shapes, this.cross, this.draft, this.handles);
  }

  /* `state`: {boxes, selected, highlighted, active, mode, scale, size, margin, draft, cross} and, for an option or a box,
     numberOf(option) and describe(box). */
  paint(state) {
    this.#removeOthers(state.boxes);
    for (const box of state.boxes) this.#box(box, state);
    this.#draft(state);
    this.#cross(state);
    this.#handles(state);
  }

  #removeOthers(boxes) {
    const remaining = new Set(boxes.map((box) => box.id));
    for (const [id, element] of this.#elements) {
      if (remaining.has(id)) continue;
      element.remove();
      this.#elements.delete(id);
    }
  }

  #box(box, { selected, highlighted, active, scale, size, margin, numberOf, describe }) {
    let group = this.#elements.get(box.id);
    if (!group) {
      const mark = svg("g", { class: "boxes-mark" }, svg("rect"), svg("text", { "text-anchor": "middle" }));
      group = svg("g", { class: "boxes-box", role: "button" }, ...outline(), mark);
      this.shapes.append(group);
      this.#elements.set(box.id, group);
    }
    const number = numberOf(box.option);
    const belongs = active === null || box.option === active;
    set(group, {
      "data-box": box.id,
      "data-option": box.option,
      "data-pattern": ((number - 1) % PATTERNS) + 1,
      "aria-label": describe(box),
      "aria-pressed": String(box.id === selected),
      tabindex: belongs ? "0" : "-1",
    });
    group.classList.toggle("is-selected", box.id === selected);
    group.classList.toggle("is-highlighted", highlighted !== null && box.option === highlighted);
    group.classList.toggle("is-dimmed", highlighted !== null && box.option !== highlighted);
    const [halo, line, mark] = group.children;
    place(halo, box);
    place(line, box);
    const [ground, text] = mark.children;
    text.textContent = String(number);
    const wide = 12 + 8 * text.textContent.length;
    // Beside the box, so that the mark hides nothing inside it. The margin around the image may give room.
    const high = (box.y1 - box.y0) * scale;
    const above = box.y0 * scale + margin;
    const below = (size.height - box.y1) * scale + margin;
    const needed = MARK + GAP;
    const down = above >= needed ? -needed : below >= needed ? high + GAP : 7;
    const right = (size.width - box.x0) * scale + margin - wide;
    const across = Math.min(down === 7 ? 7 : Math.max(-2, -margin - box.x0 * scale), right);
    set(mark, { transform: `translate(${box.x0} ${box.y0}) scale(${1 / scale}) translate(${across} ${down})` });
    set(ground, { x: 0, y: 0, width: wide, height: MARK });
    set(text, { x: wide / 2, y: 15 });
  }

  #draft({ draft, active, numberOf }) {
    set(this.draft, {
      visibility: draft ? null : "hidden",
      "data-pattern": active === null ? null : ((numberOf(active) - 1) % PATTERNS) + 1,
    });
    if (draft) for (const rect of this.draft.children) place(rect, draft);
  }

  #cross({ cross, size }) {
    set(this.cross, { visibility: cross ? null : "hidden" });
    if (!cross) return;
    for (const line of this.cross.children) {
      if (line.dataset.axis === "x") set(line, { x1: cross.x, x2: cross.x, y1: 0, y2: size.height });
      else set(line, { x1: 0, x2: size.width, y1: cross.y, y2: cross.y });
    }
  }

  #handles({ boxes, selected, mode, scale }) {
    const box = mode === "select" && boxes.find((each) => each.id === selected);
    const wanted = box ? handles(box, scale) : [];
    while (this.handles.childElementCount > wanted.length) this.handles.lastChild.remove();
    while (this.handles.childElementCount < wanted.length) {
      this.handles.append(svg("rect", { x: -5, y: -5, width: 10, height: 10 }));
    }
    wanted.forEach(({ name, x, y }, index) => {
      set(this.handles.children[index], {
        "data-handle": name,
        transform: `translate(${x} ${y}) scale(${1 / scale})`,
      });
    });
  }
}
