// Drawing lines from connector to connector. The server says which targets are legal.

import { button, dotted, same, svg } from './elements.js';
import { ask, edit } from './edits.js';
import { band, grow, resize } from './picking.js';
import { showMenu } from './menu.js';
import { move, shift } from './moving.js';
import { moveNote } from './notes.js';
import { lead, selectedLine } from './routing.js';
import { call } from './server.js';

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
