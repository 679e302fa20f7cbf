// What is written over a picture: badges of findings, loops, the component that failed, units and values at lines.

import { pathNumbers, svg } from './elements.js';
import { frameOf } from './visible.js';

const STRENGTH = ['error', 'warning', 'loop', 'info'];

/** Colour what has findings, and put a badge with their number on each element. */
export function mark(diagram) {
  for (const old of diagram.querySelectorAll('.badge')) old.remove();
  for (const node of diagram.querySelectorAll('.block, [data-connections]')) node.classList.remove(...STRENGTH);
  const inside = found(diagram), size = diagram.letter();
  for (const block of diagram.querySelectorAll('.block')) {
    block.classList.toggle('failed', hasFailed(diagram, block));
    const there = inside.get(block.dataset.of);
    if (!there) continue;
    const worst = STRENGTH.find(one => there.some(finding => finding.severity === one));
    block.classList.add(worst);
    badge(block, worst, there, size);
  }
  const own = new Map();
  for (const one of diagram.findings) {
    if (!one.place || one.place.sheet.join('/') !== diagram.sheet.path.join('/')) continue;
    own.set(one.place.connection, [...(own.get(one.place.connection) || []), one]);
  }
  if (!own.size && !diagram.loops.size) return;
  for (const wire of diagram.querySelectorAll('[data-connections]')) markWire(diagram, wire, own);
}
/** Whether a run failed in an element, or in one inside. */
function hasFailed(diagram, block) {
  const name = diagram.sheet.blocks[block.dataset.of].path.join('.');
  return diagram.failure === name || diagram.failure.startsWith(`${name}.`);
}
/** Findings by the key of the element of this sheet in which they are, however deep. */
function found(diagram) {
  const inside = new Map(), keys = new Map();
  for (const [key, known] of Object.entries(diagram.sheet.blocks)) if (!known.group) keys.set(JSON.stringify(known.path), key);
  for (const finding of diagram.findings) {
    const place = finding.place && (finding.place.element || finding.place.sheet);
    const key = place && place.map((_, k) => keys.get(JSON.stringify(place.slice(0, k + 1)))).find(one => one !== undefined);
    if (key !== undefined && place) inside.set(key, [...(inside.get(key) || []), finding]);
  }
  return inside;
}
function badge(block, worst, findings, size) {
  const frame = frameOf(block);
  const group = svg('g', { class: 'badge ' + worst });
  const title = svg('title'), text = svg('text', {
    x: frame.x + frame.width, y: frame.y + .36 * size, 'text-anchor': 'middle', 'font-size': size });
  title.textContent = findings.map(one => `${one.code}: ${one.message}`).join('\n');
  text.textContent = findings.length > 9 ? '9+' : findings.length;
  group.append(title, svg('circle', { cx: frame.x + frame.width, cy: frame.y, r: .85 * size }), text);
  block.append(group);
}
function markWire(diagram, wire, own) {
  for (const text of JSON.parse(wire.dataset.connections)) {
    const known = diagram.sheet.connections[text], there = own.get(text) || [];
    const looped = known && diagram.loops.has(known.names.join('\n'));
    const worst = STRENGTH.find(one => (one === 'loop' ? looped : there.some(finding => finding.severity === one)));
    if (worst) wire.classList.add(worst);
  }
}

/** Units, conversions or values beside the lines. */
export function label(diagram) {
  for (const old of diagram.querySelectorAll('.units')) old.remove();
  if (diagram.picture.classList.contains('far')) return;
  const group = svg('g', { class: 'units' });
  const size = .8 * diagram.letter();
  for (const wire of diagram.querySelectorAll('[data-connections]')) {
    const [text, ...more] = JSON.parse(wire.dataset.connections);
    const known = diagram.sheet.connections[text];
    if (wire.classList.contains('unseen')) continue;
    const value = known && diagram.values.get(known.signal);
    const told = more.length || !known ? '' : value ?? (diagram.units ? unitText(known) : '');
    if (told) write(group, wire, told, value !== undefined, size);
  }
  diagram.picture.append(group);
}
function write(group, wire, told, value, size) {
  const numbers = pathNumbers(wire.getAttribute('d'));
  let best = null;
  for (let k = 0; k + 3 < numbers.length; k += 2) {
    const [x1, y1, x2, y2] = numbers.slice(k, k + 4);
    const length = y1 === y2 ? Math.abs(x2 - x1) : .5 * Math.abs(y2 - y1);
    if (!best || length > best.length) best = { length, x: (x1 + x2) / 2, y: (y1 + y2) / 2 };
  }
  const text = svg('text', { class: value ? 'unit value' : 'unit', x: best.x, y: best.y - .4 * size,
    'text-anchor': 'middle', 'font-size': size });
  text.textContent = told;
  group.append(text);
}
/** Unit of a connection; where it changes, both, and the formula. */
function unitText({ units: [from, to], conversion }) {
  const unit = from === to || !to ? from : from ? `${from} → ${to}` : to;
  return conversion && from === to ? `${unit} (${conversion})`.trim() : unit;
}
