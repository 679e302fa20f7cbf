// Ways of lines as lists of points. Nothing here touches the page.

import { pathNumbers } from './elements.js';

const JOG = .3;  // of the length of the first or the last part, which stays at its connector

/** The corners of a path, without the gaps at crossings. */
export function corners(path) {
  const numbers = pathNumbers(path), points = [];
  for (let k = 0; k + 1 < numbers.length; k += 2) points.push([numbers[k], numbers[k + 1]]);
  return points.filter(([x, y], k) => {
    const [a, b] = [points[k - 1], points[k + 1]];
    return !a || !b || !((a[0] === x && x === b[0]) || (a[1] === y && y === b[1]));
  });
}
/** The number of the part of a way that is nearest to a point. */
export function nearest(way, point) {
  const far = distances(way, point);
  return far.indexOf(Math.min(...far));
}
/** The distance of a way from a point. */
export function distanceTo(way, point) { return Math.min(...distances(way, point)); }
/** The distances of all parts of a way from a point. */
function distances(way, { x, y }) {
  return way.slice(1).map((end, k) => {
    const [[x1, y1], [x2, y2]] = [way[k], end];
    const share = Math.min(1, Math.max(0, ((x - x1) * (x2 - x1) + (y - y1) * (y2 - y1)) / ((x2 - x1) ** 2 + (y2 - y1) ** 2 || 1)));
    return Math.hypot(x1 + share * (x2 - x1) - x, y1 + share * (y2 - y1) - y);
  });
}
/** The way with one part moved across itself; at a connector, the line leaves it as before. */
export function aside(way, at, dx, dy) {
  const [start, end] = [way[at], way[at + 1]], level = Math.abs(end[0] - start[0]) >= Math.abs(end[1] - start[1]);
  const moved = ([x, y]) => (level ? [x, y + dy] : [x + dx, y]);
  const between = share => [start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1])];
  const head = at === 0 ? [start, between(JOG), moved(between(JOG))] : [...way.slice(0, at), moved(start)];
  const tail = at === way.length - 2 ? [moved(between(1 - JOG)), between(1 - JOG), end] : [moved(end), ...way.slice(at + 2)];
  return [...head, ...tail];
}
