/* Pure geometry of boxes, without the DOM. A box is {x0, y0, x1, y1} in whole pixels of the natural image,
   x0 < x1 and y0 < y1, never outside the image. `size` is {width, height} of the image; a length in screen
   pixels is one in image pixels times `scale`. */

const clamp = (value, minimum, maximum) => Math.min(Math.max(value, minimum), maximum);

/* The part of the rectangle between two points that lies in the image, or null. */
export function between(a, b, { width, height }) {
  const box = {
    x0: Math.round(clamp(Math.min(a.x, b.x), 0, width)),
    y0: Math.round(clamp(Math.min(a.y, b.y), 0, height)),
    x1: Math.round(clamp(Math.max(a.x, b.x), 0, width)),
    y1: Math.round(clamp(Math.max(a.y, b.y), 0, height)),
  };
  return box.x0 < box.x1 && box.y0 < box.y1 ? box : null;
}

export const within = (point, { width, height }) => ({
  x: clamp(Math.round(point.x), 0, width),
  y: clamp(Math.round(point.y), 0, height),
});

/* Moved as far as the image allows: it keeps its size and stops at the edge. */
export function moved(box, dx, dy, { width, height }) {
  const right = Math.round(clamp(dx, -box.x0, width - box.x1));
  const down = Math.round(clamp(dy, -box.y0, height - box.y1));
  return { ...box, x0: box.x0 + right, y0: box.y0 + down, x1: box.x1 + right, y1: box.y1 + down };
}

/* One or two edges moved; `handle` names them by compass ("n", "se"). An edge drawn over its opposite
   flips the box. Null if nothing would be left. */
export function resized(box, handle, dx, dy, size) {
  const from = {
    x: box.x0 + (handle.includes("w") ? dx : 0),
    y: box.y0 + (handle.includes("n") ? dy : 0),
  };
  const to = {
    x: box.x1 + (handle.includes("e") ? dx : 0),
    y: box.y1 + (handle.includes("s") ? dy : 0),
  };
  const shape = between(from, to, size);
  return shape && { ...box, ...shape };
}

export const sameShape = (a, b) => a.x0 === b.x0 && a.y0 === b.y0 && a.x1 === b.x1 && a.y1 === b.y1;

const area = (box) => (box.x1 - box.x0) * (box.y1 - box.y0);

/* Boxes under a point, smallest first, so that a box inside another can be selected. */
export const under = (boxes, { x, y }, slack = 0) =>
  boxes
    .filter(
      (box) => x >= box.x0 - slack && x <= box.x1 + slack && y >= box.y0 - slack && y <= box.y1 + slack,
    )
    .sort((a, b) => area(a) - area(b));

const MIN_SIDE = 60; // a side shorter than this on the screen has no handle in its middle
const MIN_CORNER_GAP = 40; // handles of a smaller box move outwards, to leave room for moving the box

/* The handles of a box: [{name, x, y}], in image pixels. */
export function handles(box, scale) {
  const wide = (box.x1 - box.x0) * scale;
  const high = (box.y1 - box.y0) * scale;
  const out = { x: Math.max(0, MIN_CORNER_GAP - wide) / 2 / scale, y: Math.max(0, MIN_CORNER_GAP - high) / 2 / scale };
  const left = box.x0 - out.x;
  const right = box.x1 + out.x;
  const top = box.y0 - out.y;
  const bottom = box.y1 + out.y;
  const corners = [
    { name: "nw", x: left, y: top },
    { name: "ne", x: right, y: top },
    { name: "se", x: right, y: bottom },
    { name: "sw", x: left, y: bottom },
  ];
  const middle = { x: (left + right) / 2, y: (top + bottom) / 2 };
  const sides = [];
  if (wide >= MIN_SIDE) sides.push({ name: "n", x: middle.x, y: top }, { name: "s", x: middle.x, y: bottom });
  if (high >= MIN_SIDE) sides.push({ name: "e", x: right, y: middle.y }, { name: "w", x: left, y: middle.y });
  return [...corners, ...sides];
}

/* The nearest handle whose square target, `reach` screen pixels to each side, holds the point; or null. */
export function handleAt(box, point, scale, reach) {
  const away = (handle) => Math.max(Math.abs(handle.x - point.x), Math.abs(handle.y - point.y)) * scale;
  const [nearest] = handles(box, scale).sort((a, b) => away(a) - away(b));
  return away(nearest) <= reach ? nearest.name : null;
}
