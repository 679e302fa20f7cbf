// What of a large picture is in sight: all else is not drawn, so that it moves in time.

import { pathNumbers } from './elements.js';
import { corners, distanceTo } from './ways.js';

const CROWDED = 1500;  // elements and lines from which it matters
const AROUND = .2;  // of the view, on each side: what is drawn although it is not in sight yet

/** The frame of an element by its attributes, which are known without a layout, also if it is not drawn. */
export function frameOf(block) {
  const frame = block.querySelector('.frame');
  const [x, y, width, height] = ['x', 'y', 'width', 'height'].map(name => Number(frame.getAttribute(name)));
  return { x, y, width, height };
}
/** Whether a region [x, y, width, height] has a view in it and is not much larger: then the same things are to be drawn. */
export function serves(region, [x, y, w, h]) {
  if (!region) return false;
  const [left, top, width, height] = region;
  return x >= left && y >= top && x + w <= left + width && y + h <= top + height && width <= 4 * w;
}
/** The region that is drawn for a view. */
export function regionOf([x, y, w, h]) { return [x - AROUND * w, y - AROUND * h, w * (1 + 2 * AROUND), h * (1 + 2 * AROUND)]; }
/** Whether a box {x, y, width, height} meets a region. */
export function meets(box, [x, y, w, h]) { return box.x <= x + w && box.x + box.width >= x && box.y <= y + h && box.y + box.height >= y; }
/** The box around the points of a path. */
export function boxOfPath(path) {
  const numbers = pathNumbers(path), xs = numbers.filter((_, k) => k % 2 === 0), ys = numbers.filter((_, k) => k % 2);
  const x = Math.min(...xs), y = Math.min(...ys);
  return { x, y, width: Math.max(...xs) - x, height: Math.max(...ys) - y };
}

/** Draws of a picture what is in sight, and finds lines at a point; an object for each picture. */
export class Sight {
  #blocks = [];
  #lines = null;
  #region = null;
  #picture;

  constructor(picture, letter) {
    this.#picture = picture;
    const blocks = [...picture.querySelectorAll('.block')], lines = picture.querySelectorAll('[data-connections]');
    if (blocks.length + lines.length < CROWDED) return;
    const rim = 4 * letter;  // names of connectors, badges and handles
    this.#blocks = blocks.map(node => {
      const { x, y, width, height } = frameOf(node), more = rim + (node.querySelector('.frame[transform]') ? Math.max(width, height) : 0);
      return { node, box: { x: x - more, y: y - more, width: width + 2 * more, height: height + 2 * more } };
    });
  }
  /** The lines with the boxes around them, which take a while to find. */
  get #boxed() {
    return this.#lines ??= [...this.#picture.querySelectorAll('[data-connections]')].map(node => ({ node, box: boxOfPath(node.getAttribute('d')) }));
  }
  /** The drawn lines of one connection within reach of a point. */
  linesAt(point, reach) {
    const around = [point.x - reach, point.y - reach, 2 * reach, 2 * reach];
    return this.#boxed.filter(({ box }) => meets(box, around)).map(({ node }) => node).filter(node => !node.classList.contains('unseen')
      && JSON.parse(node.dataset.connections).length === 1 && distanceTo(corners(node.getAttribute('d')), point) < reach);
  }
  /** Whether only what is in sight is drawn. */
  get crowded() { return this.#blocks.length > 0; }
  /** Draw what a view needs; gives whether that is something else than before. */
  look(view) {
    if (!this.crowded || serves(this.#region, view)) return false;
    this.#region = regionOf(view);
    for (const { node, box } of [...this.#blocks, ...this.#boxed]) node.classList.toggle('unseen', !meets(box, this.#region));
    return true;
  }
}
