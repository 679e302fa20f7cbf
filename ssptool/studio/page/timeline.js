// Courses over time as tracks: points that can be dragged in time and value, events that can be dragged in time.

import { make, svg } from './elements.js';

const LABEL = 190, HEIGHT = 62, EDGE = 10;  // pixels

/** A round number about as large: 1, 2 or 5 times a power of ten. */
export function round(size) {
  const power = 10 ** Math.floor(Math.log10(size));
  return [1, 2, 5, 10].map(one => one * power).find(one => one >= size * .999);
}
const snapped = (value, step) => Number((Math.round(value / step) * step).toPrecision(12));
const shown = value => (typeof value === 'number' ? Number(value.toPrecision(6)) : value);

function scaled(width, span) {
  const length = Math.max(width - LABEL - 2 * EDGE, 100);
  return { length, step: round(span / 400), x: time => EDGE + time / span * length, time: x => (x - EDGE) / length * span };
}

/** Times along the bottom. */
export function timeAxis(span, width) {
  const scale = scaled(width, span), apart = round(span / 8), picture = svg('svg', { width: scale.length + 2 * EDGE, height: 20, 'aria-hidden': 'true' });
  for (let time = 0; time <= span * 1.001; time += apart) {
    const text = svg('text', { x: scale.x(time), y: 14, 'text-anchor': 'middle' });
    text.textContent = `${snapped(time, apart)} s`;
    picture.append(svg('line', { x1: scale.x(time), x2: scale.x(time), y1: 0, y2: 4 }), text);
  }
  return picture;
}

/** One variable with its marks. `acts` says what marks and the ground do when they are dragged, picked or clicked twice. */
export function track(course, span, width, acts) {
  const scale = scaled(width, span), level = course.kind === 'point' ? levels(course.marks) : null;
  const picture = svg('svg', { class: `track ${course.kind}`, width: scale.length + 2 * EDGE, height: HEIGHT, role: 'group', 'aria-label': course.name });
  const line = svg('path', { class: 'course', d: level ? path(course, scale, level) : bars(course, scale, span) });
  picture.append(line);
  if (!level) for (const [mark, next] of neighbours(course.marks)) picture.append(worth(mark, next, scale, course, span));
  for (const mark of course.marks) picture.append(handle({ ...course, ...mark }, course, scale, level, line, acts));
  if (acts.editable) picture.addEventListener('dblclick', event => {
    if (event.target.closest('[data-mark]')) return;
    const box = picture.getBoundingClientRect(), time = Math.max(0, snapped(scale.time(event.clientX - box.x), scale.step));
    acts.add(course, time, level && !level.texts ? snapped(level.value(event.clientY - box.y), level.step) : course.marks[0].value);
  });
  return make('div', { class: 'course-row' }, make('div', { class: 'course-name' }, make('strong', {}, course.name),
    make('span', { class: 'quiet' }, [course.kind === 'event' ? 'scenario' : course.linear ? 'linear' : 'held', course.unit].filter(Boolean).join(', '))), picture);
}
const neighbours = marks => marks.map((mark, k) => [mark, marks[k + 1]]);

/** Where values are drawn: numbers by size; texts all at one height. */
function levels(marks) {
  const numbers = marks.map(one => Number(one.value)), texts = numbers.some(one => !Number.isFinite(one));
  const low = texts ? 0 : Math.min(...numbers), high = texts ? 0 : Math.max(...numbers), size = high - low || Math.abs(high) || 1;
  const bottom = low - (high === low ? size : 0), top = high + (high === low ? size : 0), y0 = HEIGHT - 14, length = HEIGHT - 28;
  return { texts, step: round(size / 100), y: value => (texts ? HEIGHT / 2 : y0 - (Number(value) - bottom) / (top - bottom) * length),
    value: y => bottom + (y0 - y) / length * (top - bottom) };
}
function path(course, scale, level) {
  return course.marks.map((mark, k) => {
    const at = `${scale.x(mark.time)} ${level.y(mark.value)}`;
    return k === 0 ? `M${EDGE} ${level.y(mark.value)} L${at}` : course.linear ? `L${at}` : `H${scale.x(mark.time)} V${level.y(mark.value)}`;
  }).join(' ') + ` H${EDGE + scale.length}`;
}
/** From each event to the next one, unless it is a reset. */
function bars(course, scale, span) {
  return neighbours(course.marks).filter(([mark]) => mark.action !== 'reset')
    .map(([mark, next]) => `M${scale.x(mark.time)} ${HEIGHT / 2} H${scale.x(Math.min(next ? next.time : course.end ?? span, span))}`).join(' ');
}
function worth(mark, next, scale, course, span) {
  const text = svg('text', { x: scale.x(mark.time) + 9, y: HEIGHT / 2 - 8 });
  text.textContent = said(mark, '');
  return text;
}
function said({ action, value }, unit) {
  const number = `${shown(value)}${unit ? ' ' + unit : ''}`;
  return action === 'reset' ? 'reset' : action === 'bias' ? `${Number(value) < 0 ? '' : '+'}${number}` : number;
}

function handle(mark, course, scale, level, line, acts) {
  const x = scale.x(mark.time), y = level ? level.y(mark.value) : HEIGHT / 2;
  const node = level ? svg('circle', { r: 5 }) : svg('path', { d: 'M0 -7 L7 0 L0 7 L-7 0 Z' });
  const put = (left, top) => node.setAttribute('transform', `translate(${left} ${top})`);
  put(x, y);
  node.classList.add('mark');
  node.classList.toggle('picked', acts.isPicked(mark));
  node.dataset.mark = acts.keyOf(mark);
  for (const [name, value] of Object.entries({ tabindex: '0', role: 'button',
    'aria-label': `${mark.name}: ${mark.action && mark.action !== 'reset' ? mark.action + ' ' : ''}${said(mark, mark.unit)} at ${shown(mark.time)} s` })) node.setAttribute(name, value);
  node.addEventListener('focus', () => acts.pick(mark));
  if (acts.editable) {
    node.addEventListener('pointerdown', event => drag(event, node, put, mark, course, scale, level, line, acts));
    node.addEventListener('keydown', event => keys(event, mark, scale, level, acts));
  }
  return node;
}

/** Where a point may be in time: between its neighbours, since rows are in the order of time. */
function bounds(mark, course) {
  if (mark.kind === 'event') return [0, Infinity];
  const before = course.marks[mark.number - 1], after = course.marks[mark.number + 1];
  return [before ? before.time : 0, after ? after.time : Infinity];
}
function drag(event, node, put, mark, course, scale, level, line, acts) {
  if (event.button !== 0) return;
  event.preventDefault();
  node.focus();
  node.setPointerCapture(event.pointerId);
  acts.take();
  const [low, high] = bounds(mark, course), start = [event.clientX, event.clientY];
  let to = null;
  const follow = now => {
    const dx = now.clientX - start[0], dy = now.clientY - start[1];
    if (!to && Math.hypot(dx, dy) < 3) return;
    const time = Math.abs(dx) < 3 ? mark.time : Math.min(Math.max(snapped(scale.time(scale.x(mark.time) + dx), scale.step), low), high);
    const moves = level && !level.texts && Math.abs(dy) >= 3;
    const value = moves ? snapped(level.value(level.y(mark.value) + dy), level.step) : mark.value;
    to = { time, value };
    put(scale.x(time), level ? level.y(value) : HEIGHT / 2);
    const marks = course.marks.map(one => (one.number === mark.number ? { ...one, ...to } : one));
    line.setAttribute('d', level ? path({ ...course, marks }, scale, level) : bars({ ...course, marks: marks.toSorted((a, b) => a.time - b.time) }, scale, scale.time(EDGE + scale.length)));
  };
  const end = () => {
    for (const [name, listener] of [['pointermove', follow], ['pointerup', end], ['pointercancel', end]]) node.removeEventListener(name, listener);
    acts.leave(mark, to);
  };
  for (const [name, listener] of [['pointermove', follow], ['pointerup', end], ['pointercancel', end]]) node.addEventListener(name, listener);
}
/** Arrows move in steps, with Shift in ten times larger ones; Delete takes away. */
function keys(event, mark, scale, level, acts) {
  const far = event.shiftKey ? 10 : 1, sideways = { ArrowLeft: -1, ArrowRight: 1 }[event.key], up = { ArrowUp: 1, ArrowDown: -1 }[event.key];
  if (sideways) acts.change(mark, { time: Math.max(0, snapped(mark.time + sideways * far * scale.step, scale.step)) });
  else if (up && level && !level.texts) acts.change(mark, { value: snapped(Number(mark.value) + up * far * level.step, level.step) });
  else if (event.key === 'Delete' || event.key === 'Backspace') acts.remove(mark);
  else if (event.key === 'Enter') document.getElementById('mark-time').focus();
  else return;
  event.preventDefault();
  event.stopPropagation();
}
