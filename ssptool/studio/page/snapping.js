// Ways of moved elements that end on a grid. Nothing here touches the page.

export const GRID = 5;  // mm

/** The way [mm] of an edge at `from` after which it is on the grid, nearest to the `way` that it is dragged. */
export function snapped(way, from, grid = GRID) {
  const to = Math.round((from + way) / grid) * grid;
  return Math.round((to - from) * 10) / 10;
}
/** The box around boxes; null without any. */
export function boxAround(boxes) {
  if (!boxes.length) return null;
  const x = Math.min(...boxes.map(one => one.x)), y = Math.min(...boxes.map(one => one.y));
  return { x, y, width: Math.max(...boxes.map(one => one.x + one.width)) - x, height: Math.max(...boxes.map(one => one.y + one.height)) - y };
}
/** The view [x, y, width, height] in which a box is seen whole, with room around it, not larger than `whole`. */
export function viewOf(box, whole, room = .25) {
  const factor = Math.min(1, Math.max(box.width / whole[2], box.height / whole[3]) * (1 + 2 * room));
  const [w, h] = [whole[2] * factor, whole[3] * factor];
  return [box.x + box.width / 2 - w / 2, box.y + box.height / 2 - h / 2, w, h];
}
/** A point of the picture in the coordinates of the document [mm, upwards]; `origin` is the upper left corner. */
export function inDocument([x, y], [left, top]) {
  return [x + left, top - y].map(one => Math.round(one * 10) / 10);
}
