// An image whose file is gone or damaged is replaced by a tile that says so, with the words of #image-missing.
// The boxes over it stay.
const words = document.getElementById("image-missing").content;

const tileFor = (image) => {
  const tile = words.cloneNode(true).firstElementChild;
  const [width, height] = [image.getAttribute("width"), image.getAttribute("height")];
  if (width && height) tile.style.aspectRatio = `${width} / ${height}`;
  if (image.alt) {
    const name = document.createElement("span");
    name.className = "visually-hidden";
    name.textContent = `${image.alt}: `;
    tile.prepend(name);
  }
  return tile;
};

// Inside an SVG: on the ground that an image without a file has, and in the name that is read of the picture.
const groundFor = (image) => {
  const named = (name) => document.createElementNS("http://www.w3.org/2000/svg", name);
  const [ground, rect, text] = [named("g"), named("rect"), named("text")];
  const { width: { baseVal: width }, height: { baseVal: height } } = image;
  rect.setAttribute("class", "no-image");
  rect.setAttribute("width", width.value);
  rect.setAttribute("height", height.value);
  text.setAttribute("class", "no-image-words");
  text.setAttribute("x", width.value / 2);
  text.setAttribute("y", height.value / 2);
  text.setAttribute("font-size", width.value / 24);
  text.textContent = words.textContent.trim();
  ground.append(rect, text);
  const picture = image.ownerSVGElement;
  picture.setAttribute("aria-label", `${picture.getAttribute("aria-label")}; ${text.textContent}`);
  return ground;
};

const replace = (image) => {
  // a page may have replaced it in the meantime
  if (image.isConnected) image.replaceWith(image instanceof SVGImageElement ? groundFor(image) : tileFor(image));
};

document.addEventListener("error", (event) => {
  if (event.target instanceof HTMLImageElement || event.target instanceof SVGImageElement) replace(event.target);
}, true);
// Those that failed before this module was here.
for (const image of document.images) if (image.complete && !image.naturalWidth) replace(image);
for (const image of document.querySelectorAll("svg image")) image.decode?.().catch(() => replace(image));
