// Drawing lines from connector to connector, and moving elements. The server says which targets are legal.

import { button, dotted, make, pathNumbers, same, svg } from './elements.js';
import { ask, complain, edit } from './edits.js';
import { band, grow, resize } from './picking.js';
import { showMenu } from './menu.js';
import { moveNote } from './notes.js';
import { lead, selectedLine } from './routing.js';
import { call } from './server.js';
import { inDocument, snapped } from './snapping.js';
import { frameOf } from './visible.js';
import { corners, distanceTo } from './ways.js';

const hint = document.getElementById('hint');
const NUDGE = { ArrowLeft: [-5, 0], ArrowRight: [5, 0], ArrowUp: [0, 5], ArrowDown: [0, -5] };  // mm, upwards

/** Let a diagram be edited with the pointer; `editable` says whether it may be now. */
export function enableEditing(diagram, editable) {
  diagram.addEventListener('grab', event => {
    const { thing, event: press } = event.detail;
    if (!thing && press.shiftKey) { band(diagram, press); event.preventDefault(); }
    if (!thing || !editable()) return;
    if (thing.kind === 'connector') wire(diagram, thing, press);
    else if (thing.kind === 'handle') resize(diagram, thing, press);
    else if (thing.kind === 'element') move(diagram, thing, press);
    else if (thing.kind === 'note') moveNote(diagram, thing, press);
    else if (selectedLine(diagram, thing)) lead(diagram, thing, press);
    else return;
    event.preventDefault();
  });
  diagram.addEventListener('keydown', event => {
    const step = event.altKey && NUDGE[event.key], block = event.target.closest('.block');
    if (!step || !block || !editable()) return;
    event.preventDefault();
    event.stopPropagation();
    const key = block.dataset.of;
    if (diagram.sheet.blocks[key].group) return;
    if (event.shiftKey) grow(diagram, key, event.key);
    else shift(diagram, diagram.keys.includes(key) ? diagram.keys : [key], ...step);
  });
}

// -- lines

/** The path of the element or system that has a connector. */
export function ownerOf(diagram, thing) {
  return thing.key === null ? diagram.sheet.system : diagram.sheet.blocks[thing.key].path;
}

function wire(diagram, thing, press) {
  const owner = ownerOf(diagram, thing), from = centre(diagram, thing.node), line = svg('line', { class: 'rubber' });
  let lit = [], begun = false;
  const begin = async () => {
    begun = true;
    diagram.picture.append(line);
    diagram.picture.classList.add('wiring');
    hint.textContent = `${dotted([...owner, thing.names.join(', ')])} → drop it on a connector that is lit`;
    try {
      const targets = await call('targets', { owner, names: thing.names });
      if (begun) lit = light(diagram, targets, thing);
      if (begun && !lit.length) hint.textContent = `${dotted([...owner, thing.names.join(', ')])}: nothing can be connected to it`;
    } catch (problem) {
      hint.textContent = problem.message;
    }
  };
  const end = () => {
    begun = false;
    line.remove();
    diagram.picture.classList.remove('wiring');
    for (const node of diagram.querySelectorAll('.lit')) node.classList.remove('lit');
    hint.textContent = '';
  };
  diagram.drag(press, {
    move: (dx, dy, _view, event) => {
      if (!begun) begin();
      const over = pairs(lit, diagram.thing(event), diagram);
      const to = over.length ? centre(diagram, over[0].node) : { x: from.x + dx, y: from.y + dy };
      for (const [name, value] of Object.entries({ x1: from.x, y1: from.y, x2: to.x, y2: to.y })) line.setAttribute(name, value);
      if (over.length) hint.textContent = over.map(pair => pairText(owner, pair)).join(' · ');
    },
    click: () => diagram.select(thing),
    drop: event => {
      const over = pairs(lit, diagram.thing(event), diagram);
      end();
      if (over.length === 1) connect(owner, over[0]);
      else if (over.length > 1) choose(owner, over, event);
    },
  });
}

/** Light the connectors that are legal targets; gives those that are in the picture, with their nodes. */
function light(diagram, targets, from) {
  const nodes = new Map();
  for (const pin of diagram.querySelectorAll('.connector')) {
    const block = pin.closest('.block'), owner = block ? diagram.sheet.blocks[block.dataset.of].path : diagram.sheet.system;
    for (const name of JSON.parse(pin.dataset.pins || '[]')) nodes.set(JSON.stringify([owner, name]), pin);
  }
  const lit = targets.map(target => ({ ...target, node: nodes.get(JSON.stringify([target.owner, target.name])) })).filter(one => one.node);
  for (const { node } of lit) node.classList.add('lit');
  from.node.classList.add('lit');
  return lit;
}
/** The pairs that a drop on a thing means: those of a connector, or of all of an element. */
function pairs(lit, thing, diagram) {
  if (!thing || thing.kind === 'connection') return [];
  if (thing.kind === 'connector') return equalNamesOnly(lit.filter(one => one.node === thing.node));
  return equalNamesOnly(lit.filter(one => same(one.owner, diagram.sheet.blocks[thing.key].path)));
}
/** Of several pairs, those of equal names, if there are any. */
function equalNamesOnly(found) {
  const equal = found.filter(one => one.from === one.name);
  return found.length > 1 && equal.length ? equal : found;
}
function pairText(owner, { from, owner: other, name, units }) {
  return `${dotted([...owner, from])} → ${dotted([...other, name])}${units ? ` (${units.join(' → ')})` : ''}`;
}
function connect(owner, ...chosen) {
  return edit(...chosen.map(({ from, owner: other, name }) => ({ verb: 'connect', a: [...owner, from], b: [...other, name] })));
}
function choose(owner, found, event) {
  showMenu([...found.map(pair => ({ title: pairText(owner, pair), run: () => connect(owner, pair) })), null,
    { title: `All ${found.length}`, run: () => connect(owner, ...found) }], { x: event.clientX, y: event.clientY }, 'Which connectors');
}
function centre(diagram, node) {
  const box = (node.querySelector('.pin') || node).getBoundingClientRect();
  return diagram.point({ clientX: box.x + box.width / 2, clientY: box.y + box.height / 2 });
}

/** Buttons that connect a connector to each of its legal targets, for the keyboard. */
export async function connectButtons(owner, names) {
  const targets = await ask('targets', { owner, names });
  return (targets || []).slice(0, 12).map(pair => button(`Connect to ${dotted([...pair.owner, pair.name])}`, () => connect(owner, pair),
    pairText(owner, pair)));
}

// -- moving elements

function move(diagram, thing, press) {
  const known = diagram.sheet.blocks[thing.key], keys = diagram.keys.includes(thing.key) ? diagram.keys : [thing.key];
  const blocks = keys.map(key => diagram.blockOf(key)), lines = known.group ? [] : touching(diagram, new Set(keys));
  const units = diagram.querySelector('.units');
  let last = [0, 0], over = null;
  diagram.drag(press, {
    move: (dx, dy, view, event) => {
      if (known.group) { diagram.look(view[0] - dx, view[1] - dy, view[2], view[3]); return; }
      last = [dx, dy] = diagram.snaps && !event.altKey ? onGrid(diagram, blocks[0], dx, dy) : [dx, dy];
      if (units) units.classList.add('moving');
      for (const block of blocks) block.setAttribute('transform', `translate(${dx} ${dy})`);
      for (const line of lines) line.follow(dx, dy);
      over = keys.length > 1 || event.altKey ? null : lineUnder(diagram, keys[0], blocks[0], dx, dy, over);
      hint.textContent = over ? `${known.name} → into ${JSON.parse(over.dataset.connections)[0]}`
        : keys.length > 1 ? `moves ${keys.length} elements` : `moves ${known.name}`;
    },
    click: () => diagram.pick(thing, press),
    drop: async event => {
      hint.textContent = '';
      if (units) units.classList.remove('moving');
      if (known.group) return;
      const text = over && JSON.parse(over.dataset.connections)[0], at = over && { x: event.clientX, y: event.clientY };
      if (over) over.classList.remove('lit');
      const done = await shift(diagram, keys, last[0], -last[1]);
      if (!done) {
        for (const block of blocks) block.removeAttribute('transform');
        for (const line of lines) line.restore();
      } else if (text) await insert(diagram.sheet.path, known.path, text, at);
    },
  });
}
/** The line of one connection through the middle of an element that is dragged, which is lit; null if there is none. */
function lineUnder(diagram, key, block, dx, dy, before) {
  const { x, y, width, height } = frameOf(block), middle = { x: x + width / 2 + dx, y: y + height / 2 + dy };
  const reach = Math.min(width, height) / 5;
  const found = [...diagram.querySelectorAll('[data-connections]:not(.unseen)')].find(wire => wire.dataset.from !== key && wire.dataset.to !== key
    && JSON.parse(wire.dataset.connections).length === 1 && distanceTo(corners(wire.getAttribute('d')), middle) < reach) || null;
  if (before && before !== found) before.classList.remove('lit');
  if (found) found.classList.add('lit');
  return found;
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
async function shift(diagram, keys, dx, dy) {
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
