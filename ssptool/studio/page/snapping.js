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
/**
 * The way of a box that is moved, drawn to edges and middles of other boxes within reach, in each direction to the
 * nearest; and lines [x1, y1, x2, y2] from there to the box at its new place.
 */
export function guided(box, way, others, reach) {
  const found = [['x', 'width'], ['y', 'height']].map(([from, size], k) => {
    const own = [0, .5, 1].map(share => box[from] + share * box[size] + way[k]);
    const pairs = others.flatMap(other => [0, .5, 1].flatMap(share => own.map(at => ({ other, at: other[from] + share * other[size], by: other[from] + share * other[size] - at }))));
    const least = Math.min(reach, ...pairs.map(({ by }) => Math.abs(by)));
    return pairs.find(({ by }) => Math.abs(by) === least && least < reach) || null;
  });
  const now = way.map((one, k) => one + (found[k] ? found[k].by : 0)), [left, top] = [box.x + now[0], box.y + now[1]];
  const lines = [];
  if (found[0]) { const { at, other } = found[0]; lines.push([at, Math.min(top, other.y), at, Math.max(top + box.height, other.y + other.height)]); }
  if (found[1]) { const { at, other } = found[1]; lines.push([Math.min(left, other.x), at, Math.max(left + box.width, other.x + other.width), at]); }
  return { way: now, lines };
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
