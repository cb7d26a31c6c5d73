/* The editor's texts in English. The page passes translations under the same names. Names in braces are replaced by
   values. */

export const MESSAGES = {
  editor: "Image with boxes",
  help:
    "R draws, V selects. To draw by keyboard: arrow keys move the cross by 10 pixels (Shift 1, Ctrl 50), " +
    "Enter sets a corner, arrow keys size the box, Enter finishes it. Right and left square brackets go " +
    "through the boxes, arrow keys move the selected box, Alt with arrow keys changes its size, Delete " +
    "removes it. Ctrl+Z undoes, Ctrl+Shift+Z redoes, Escape cancels. Plus, minus and F zoom, holding the " +
    "space bar moves the view.",
  tools: "Box tools",
  draw: "Draw",
  select: "Select",
  pan: "Move view",
  zoomIn: "Zoom in",
  zoomOut: "Zoom out",
  zoomFit: "Fit to window",
  undo: "Undo",
  redo: "Redo",
  remove: "Delete box",
  reveal: "Reveal image",
  conceal: "Blur image",
  retry: "Load the image again",
  box: "Box {n} of {label}: left {left}, top {top}, width {width}, height {height} of {imageWidth} by {imageHeight}",
  armed: "Drawing boxes for {label}.",
  selecting: "Selecting boxes.",
  panning: "Moving the view.",
  noOption: "Choose what you want to draw a box for first.",
  cross: "Cross at {x}, {y} of {imageWidth} by {imageHeight}",
  corner: "First corner at {x}, {y}. Set the opposite corner.",
  sizing: "Left {left}, top {top}, width {width}, height {height}",
  tooSmall: "Too small: no box was made.",
  cancelled: "Cancelled.",
  noBoxes: "There are no boxes here.",
  deselected: "Nothing selected.",
  removed: "Deleted. {count} left.",
  assigned: "Assigned to {label}.",
  undone: "Undone. Boxes: {count}.",
  redone: "Redone. Boxes: {count}.",
  nothingToUndo: "There is nothing to undo.",
  nothingToRedo: "There is nothing to redo.",
  zoom: "Zoom {percent} %",
  revealed: "The image is shown.",
  concealed: "The image is blurred.",
  stillBlurred: "Reveal the image first.",
  failed: "The image could not be loaded.",
};

export const fill = (text, values = {}) =>
  text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
