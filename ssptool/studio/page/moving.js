// Moving elements: along guides or a grid, into a system, and onto a line.

import { carry } from './carrying.js';
import { ask, complain, edit } from './edits.js';
import { dotted, pathNumbers, svg } from './elements.js';
import { showMenu } from './menu.js';
import { boxAround, guided, inDocument, snapped } from './snapping.js';
import { frameOf, meets } from './visible.js';

const hint = document.getElementById('hint');
const NEAR = 6;  // pixels within which an element is drawn to a guide

/** Drag the elements that are selected, if the one under the pointer is among them, else that one. */
export function move(diagram, thing, press) {
  const known = diagram.sheet.blocks[thing.key], keys = diagram.keys.includes(thing.key) ? diagram.keys : [thing.key];
  const blocks = keys.map(key => diagram.blockOf(key)), lines = known.group ? [] : touching(diagram, new Set(keys));
  const units = diagram.querySelector('.units'), guides = guidesAround(diagram, keys, blocks), told = keys.length > 1 ? `${keys.length} elements` : known.name;
  const systems = systemsBeside(diagram, keys);
  let last = [0, 0], over = null, into = null, carried = null;
  const lit = (before, now) => { if (before && before !== now) before.classList.remove('lit'); if (now) now.classList.add('lit'); return now; };
  const say = text => { if (hint.textContent !== text) hint.textContent = text; };  // the same text would be drawn again
  const end = () => {
    say('');
    guides.hide();
    if (carried) carried.back();
    for (const node of [over, into, units]) if (node) node.classList.remove('lit', 'moving');
  };
  const back = () => {
    for (const block of blocks) block.removeAttribute('transform');
    for (const line of lines) line.restore();
  };
  diagram.drag(press, {
    move: (dx, dy, view, event) => {
      if (known.group) { diagram.look(view[0] - dx, view[1] - dy, view[2], view[3]); return; }
      carried ??= carry(diagram, [...lines.map(line => line.wire), ...blocks]);
      last = [dx, dy] = event.altKey ? [dx, dy] : diagram.snaps ? onGrid(diagram, blocks[0], dx, dy) : guides.follow(dx, dy, carried.layer);
      if (units) units.classList.add('moving');
      for (const block of blocks) block.setAttribute('transform', `translate(${dx} ${dy})`);
      for (const line of lines) line.follow(dx, dy);
      into = lit(into, event.altKey ? null : systemUnder(systems, diagram.point(event)));
      over = lit(over, into || keys.length > 1 || event.altKey || !known.inserts ? null : lineUnder(diagram, keys[0], blocks[0], dx, dy));
      say(into ? `${told} → into ${diagram.sheet.blocks[into.dataset.of].name}`
        : over ? `${known.name} → into ${JSON.parse(over.dataset.connections)[0]}` : `moves ${told}`);
    },
    click: () => diagram.pick(thing, press),
    drop: async event => {
      end();
      if (known.group) return;
      const elements = keys.map(key => diagram.sheet.blocks[key].path);
      if (into) {
        if (!await edit({ verb: 'move', elements, into: diagram.sheet.blocks[into.dataset.of].path })) back();
        return;
      }
      const text = over && JSON.parse(over.dataset.connections)[0], at = over && { x: event.clientX, y: event.clientY };
      if (!await shift(diagram, keys, last[0], -last[1])) back();
      else if (text) await insert(diagram.sheet.path, known.path, text, at);
    },
  });
}
/** The nested systems that dragged elements can be put into. */
function systemsBeside(diagram, keys) {
  return [...diagram.querySelectorAll('.block:not(.unseen)')].filter(block => {
    const known = diagram.sheet.blocks[block.dataset.of];
    return known.opens && !known.source && !known.group && !keys.includes(block.dataset.of);
  });
}
/** The system under the pointer; null if there is none. */
function systemUnder(systems, { x, y }) {
  return systems.find(block => meets(frameOf(block), [x, y, 0, 0])) || null;
}
/** Lines along the edges and middles of other elements, which draw moved ones to them. */
function guidesAround(diagram, keys, blocks) {
  const box = boxAround(blocks.map(frameOf)), [, , w] = diagram.view, reach = NEAR * w / diagram.clientWidth;
  const others = [...diagram.querySelectorAll('.block:not(.unseen)')].filter(block => !keys.includes(block.dataset.of)).map(frameOf);
  let shown = [];
  const hide = () => { for (const line of shown) line.remove(); shown = []; };
  return {
    hide,
    follow(dx, dy, layer) {
      hide();
      const { way, lines } = guided(box, [dx, dy], others, reach);
      shown = lines.map(([x1, y1, x2, y2]) => svg('line', { class: 'rubber guide', x1, y1, x2, y2 }));
      layer.append(...shown);
      return way;
    },
  };
}
/** The line of one connection through the middle of an element that is dragged; null if there is none. */
function lineUnder(diagram, key, block, dx, dy) {
  const { x, y, width, height } = frameOf(block), middle = { x: x + width / 2 + dx, y: y + height / 2 + dy };
  return diagram.sight.linesAt(middle, Math.min(width, height) / 5).find(wire => wire.dataset.from !== key && wire.dataset.to !== key) || null;
}
/** Put an element into a connection; if several pairs of its connectors fit, one of them is chosen in a menu. */
export async function insert(sheet, element, text, at) {
  const ways = await ask('insertions', { sheet, element, text });
  if (!ways) return;
  if (!ways.length) complain(`${dotted(element)} has no free input and output that fit ${text}`);
  else if (ways.length === 1) await edit(...ways[0].edits);
  else showMenu(ways.map(one => ({ title: one.title, run: () => edit(...one.edits) })), at, `Put ${dotted(element)} into ${text}`);
}
/** The way after which the lower left corner of a block is on the grid of the document. */
function onGrid(diagram, block, dx, dy) {
  const frame = frameOf(block), [x, y] = inDocument([frame.x, frame.y + frame.height], diagram.sheet.origin);
  return [snapped(dx, x), -snapped(-dy, y)];
}
export async function shift(diagram, keys, dx, dy) {
  return ask('move', { sheet: diagram.sheet.path, elements: keys.map(key => diagram.sheet.blocks[key].path), dx, dy });
}

/** The lines at elements, which follow them while they move: straight or with one step, until the server draws them. */
function touching(diagram, keys) {
  const frames = new Map([...keys].map(key => [key, frameOf(diagram.blockOf(key))]));
  const wires = [...diagram.querySelectorAll('[data-connections]')].filter(wire => keys.has(wire.dataset.from) || keys.has(wire.dataset.to));
  return wires.map(wire => {
    const before = wire.getAttribute('d'), numbers = pathNumbers(before);
    const ends = [numbers.slice(0, 2), numbers.slice(-2)], { from, to } = wire.dataset;
    const whole = keys.has(from) && keys.has(to), frame = frames.get(keys.has(from) ? from : to);
    const moving = distance(frame, ends[0]) <= distance(frame, ends[1]) ? 0 : 1;
    return {
      wire,
      follow(dx, dy) {
        const [start, end] = ends.map(([x, y], k) => (whole || k === moving ? [x + dx, y + dy] : [x, y]));
        const middle = (start[0] + end[0]) / 2;
        wire.setAttribute('d', `M${start.join()} H${middle} V${end[1]} H${end[0]}`);
      },
      restore() { wire.setAttribute('d', before); },
    };
  });
}
function distance(box, [x, y]) {
  return Math.hypot(Math.max(box.x - x, 0, x - box.x - box.width), Math.max(box.y - y, 0, y - box.y - box.height));
}
