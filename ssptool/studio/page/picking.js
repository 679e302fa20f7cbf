// Several elements at once: a rubber band selects them, buttons align them; and handles at the corners of a single one.

import { ask } from './edits.js';
import { button, svg } from './elements.js';
import { frameOf } from './visible.js';

const HANDLE = 9;  // pixels
const CORNERS = { nw: ['x1', 'y2'], ne: ['x2', 'y2'], sw: ['x1', 'y1'], se: ['x2', 'y1'] };
const GROW = { ArrowRight: { x2: 5 }, ArrowLeft: { x2: -5 }, ArrowDown: { y1: -5 }, ArrowUp: { y1: 5 } };  // mm, upwards
const ALIGNMENTS = [['left', 'Left', 'Align the left edges'], ['centre', 'Centre', 'One above the other'], ['right', 'Right', 'Align the right edges'],
  ['top', 'Top', 'Align the upper edges'], ['middle', 'Middle', 'Align the middles (horizontal row)'], ['bottom', 'Bottom', 'Align the lower edges'],
  ['across', 'Across', 'Equal distances from left to right'], ['down', 'Down', 'Equal distances from top to bottom']];

/** Handles at the corners of the element that is selected alone, if it can be resized. */
export function placeHandles(diagram) {
  for (const old of diagram.querySelectorAll('.handle')) old.remove();
  const [key, ...more] = diagram.keys, known = key !== undefined && diagram.sheet.blocks[key];
  if (!diagram.resizable || !known || more.length || diagram.selected.kind !== 'element' || known.group || known.turned) return;
  const block = diagram.blockOf(key), frame = frameOf(block), [, , w, h] = diagram.view;
  const size = HANDLE * Math.max(w / diagram.clientWidth, h / diagram.clientHeight);
  for (const corner of Object.keys(CORNERS)) {
    block.append(svg('rect', { class: 'handle', 'data-corner': corner, width: size, height: size, 'aria-hidden': 'true',
      x: frame.x - size / 2 + (corner[1] === 'e' ? frame.width : 0), y: frame.y - size / 2 + (corner[0] === 's' ? frame.height : 0) }));
  }
}
/** Drag a corner: a dashed box shows the new size. */
export function resize(diagram, thing, press) {
  const frame = frameOf(diagram.blockOf(thing.key)), ghost = svg('rect', { class: 'rubber', fill: 'none' });
  const [across, upright] = CORNERS[thing.corner];
  let edges = null;
  diagram.drag(press, {
    move: (dx, dy) => {
      edges = { [across]: dx, [upright]: -dy };
      const left = frame.x + (across === 'x1' ? dx : 0), top = frame.y + (upright === 'y2' ? dy : 0);
      const size = { x: left, y: top, width: Math.max(1, frame.width + (across === 'x1' ? -dx : dx)), height: Math.max(1, frame.height + (upright === 'y2' ? -dy : dy)) };
      for (const [name, value] of Object.entries(size)) ghost.setAttribute(name, value);
      if (!ghost.isConnected) diagram.picture.append(ghost);
    },
    drop: () => { ghost.remove(); if (edges) send(diagram, thing.key, edges); },
  });
}
/** Alt, Shift and an arrow key move the right or the lower edge. */
export function grow(diagram, key, arrow) { return send(diagram, key, GROW[arrow]); }
function send(diagram, key, edges) {
  return ask('resize', { sheet: diagram.sheet.path, element: diagram.sheet.blocks[key].path, edges });
}

/** Shift and a drag on the ground select all elements that the rubber band touches. */
export function band(diagram, press) {
  const start = diagram.point(press), box = svg('rect', { class: 'rubber', fill: 'none' });
  let last = null;
  diagram.drag(press, {
    move: (dx, dy) => {
      last = { x: Math.min(start.x, start.x + dx), y: Math.min(start.y, start.y + dy), width: Math.abs(dx), height: Math.abs(dy) };
      for (const [name, value] of Object.entries(last)) box.setAttribute(name, value);
      if (!box.isConnected) diagram.picture.append(box);
    },
    click: () => diagram.select(null),
    drop: () => {
      box.remove();
      const touched = [...diagram.querySelectorAll('.block')].filter(block => meet(frameOf(block), last));
      const keys = [...new Set([...diagram.keys, ...touched.map(block => block.dataset.of)])].filter(key => !diagram.sheet.blocks[key].group);
      diagram.select(keys.length ? { kind: 'elements', keys } : null);
    },
  });
}
function meet(one, other) {
  return one.x < other.x + other.width && one.x + one.width > other.x && one.y < other.y + other.height && one.y + one.height > other.y;
}

/** Buttons that align the elements that are selected. */
export function alignButtons(diagram) {
  const elements = diagram.keys.filter(key => diagram.sheet.blocks[key]).map(key => diagram.sheet.blocks[key].path);
  return ALIGNMENTS.filter(([to]) => elements.length > (to === 'across' || to === 'down' ? 2 : 1))
    .map(([to, text, title]) => button(text, () => ask('align', { sheet: diagram.sheet.path, elements, to }), title));
}
