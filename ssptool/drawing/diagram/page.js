// Zooming, panning, which sheet is shown, whether with what is inside, finding, and tracing what is connected.
// The address keeps all of that: #SHEET?view=X+Y+W+H&at=ELEMENT&inside=1
const sections = [...document.querySelectorAll('main > section')];
const home = new Map([...document.querySelectorAll('.picture > svg')].map(s => [s, s.getAttribute('viewBox')]));
const inside = document.getElementById('inside');
const find = document.getElementById('find'), found = document.getElementById('found');
const facts = document.getElementById('facts');
const STEPS = {ArrowLeft: [-.1, 0], ArrowRight: [.1, 0], ArrowUp: [0, -.1], ArrowDown: [0, .1]};
let shown, traced = null, later = 0;

// -- what is shown
function named(text) {
  try { return document.getElementById(decodeURIComponent(text)); } catch { return null; }
}
function addressed() {
  const text = location.hash.slice(1), mark = text.lastIndexOf('?');
  const whole = named(text);
  if (whole || mark < 0) return [whole || sections[0], new URLSearchParams()];
  return [named(text.slice(0, mark)) || sections[0], new URLSearchParams(text.slice(mark + 1))];
}
function show() {
  const [section, state] = addressed();
  if (section !== shown) trace(null);
  shown = section;
  if (inside && state.has('inside')) inside.checked = state.get('inside') === '1';
  for (const s of sections) {
    s.classList.toggle('shown', s === shown);
    s.classList.toggle('open', Boolean(inside && inside.checked && s.querySelector('.inside')));
  }
  const view = (state.get('view') || '').split(' ').map(Number);
  if (view.length === 4 && view.every(Number.isFinite) && view[2] > 0 && view[3] > 0) look(...view);
  if (state.has('at')) trace([...picture().querySelectorAll('[data-of]')].find(b => b.dataset.of === state.get('at')));
}
function remember() {
  clearTimeout(later);
  later = setTimeout(() => {
    if (addressed()[0] !== shown) return;  // the address leads elsewhere already: its event is on the way
    const state = new URLSearchParams({view: box().map(v => +v.toFixed(3)).join(' ')});
    if (traced && traced.dataset.of) state.set('at', traced.dataset.of);
    if (inside) state.set('inside', inside.checked ? '1' : '0');
    history.replaceState(null, '', '#' + encodeURIComponent(shown.id) + '?' + state);
  }, 150);
}
function picture() { return shown.querySelector(shown.matches('.open') ? '.inside > svg' : '.picture > svg'); }
function box() { return picture().getAttribute('viewBox').split(' ').map(Number); }
function look(x, y, w, h) { picture().setAttribute('viewBox', [x, y, w, h].join(' ')); remember(); }
function zoom(factor, px = .5, py = .5) {
  const [x, y, w, h] = box();
  look(x + w * px * (1 - factor), y + h * py * (1 - factor), w * factor, h * factor);
}
function fit() { look(...home.get(picture()).split(' ').map(Number)); }
function place(event) {
  const p = new DOMPoint(event.clientX, event.clientY).matrixTransform(picture().getScreenCTM().inverse());
  const [x, y, w, h] = box();
  return [(p.x - x) / w, (p.y - y) / h];
}

// -- tracing: an element with its lines and neighbours, or a line with its ends; all else is pale
function told(node) { const t = node.querySelector(':scope > title'); return t ? t.textContent : ''; }
function trace(node, pin) {
  for (const old of document.querySelectorAll('.traced, .near')) old.classList.remove('traced', 'near');
  traced = node || null;
  tell(traced, pin);
  if (!traced) return;
  const svg = traced.ownerSVGElement, of = traced.dataset.of;
  const wires = of === undefined ? [traced] : wiresOf(traced);
  const ends = new Set(wires.flatMap(w => [w.dataset.from, w.dataset.to]).concat(of === undefined ? [] : [of]));
  const blocks = [...svg.querySelectorAll('[data-of]')].filter(b => ends.has(b.dataset.of));
  for (const node of [...wires, ...blocks]) node.classList.add('near');
  svg.classList.add('traced');
}
function wiresOf(block) {
  const of = block.dataset.of;
  return [...block.ownerSVGElement.querySelectorAll('[data-from]')].filter(w => w.dataset.from === of || w.dataset.to === of);
}

// -- facts: what is traced, else what is pointed at
const HINT = 'Point at an element, a connector or a line, or click it.', MOST = 200;
let values = null, signals = null, told_of = null;
function known(component) {
  values = values || JSON.parse(document.getElementById('values').textContent);
  return (Object.hasOwn(values, component) && values[component]) || {};
}
function signal(name) {  // by its full name
  if (!signals) {
    known('');
    signals = new Map(Object.entries(values).flatMap(([component, own]) =>
      Object.entries(own).map(([variable, text]) => [component ? `${component}.${variable}` : variable, text])));
  }
  return signals.get(name);
}
function tell(node, pin) {
  if (node === told_of && !pin && node) return;
  told_of = pin ? null : node;
  if (!node && !pin) { facts.replaceChildren(Object.assign(document.createElement('p'), {textContent: HINT})); return; }
  const parts = pin ? [['Connector', told(pin).split('\n')], ['Value', explained(pin)]] : [];
  if (node && node.dataset.of === undefined) parts.push(...toldOfLine(node));
  else if (node) parts.push(...toldOfBlock(node));
  list(parts);
}
function explained(pin) {
  const own = known((pin.closest('[data-name]') || shown).dataset.name || '');
  return JSON.parse(pin.dataset.pins).filter(name => Object.hasOwn(own, name)).map(name => folded(own[name], true));
}
function toldOfBlock(block) {
  const own = told(block).split('\n'), all = nodes => nodes.flatMap(node => told(node).split('\n')).filter(Boolean);
  const texts = block.dataset.name === undefined ? [] : Object.values(known(block.dataset.name));
  return [[own[0], own.slice(1)], ['Connectors', all([...block.querySelectorAll('.connector')])],
    ['Values', texts.map(text => folded(text, false))], ['Connections', all(wiresOf(block))]];
}
function toldOfLine(line) {
  const own = told(line).split('\n'), around = line.closest('[data-name]').dataset.name;
  const names = own.flatMap(text => text.split(' – ')).map(name => around ? `${around}.${name}` : name);
  const texts = [...new Set(names)].map(signal).filter(Boolean);
  return [['Connections', own], ['Values', texts.map(text => folded(text, own.length === 1))]];
}
function folded(text, open) {
  const at = text.indexOf('\n'), part = document.createElement('details'), rest = document.createElement('pre');
  rest.textContent = text.slice(at + 1).replace(/^  /gm, '');
  part.append(Object.assign(document.createElement('summary'), {textContent: text.slice(0, at)}), rest);
  part.open = open;
  return part;
}
function list(parts) {
  facts.replaceChildren(...parts.filter(([heading, lines], k) => k === 0 || lines.length).map(([heading, lines]) => {
    const part = document.createElement('section'), title = document.createElement('h2'), items = document.createElement('ul');
    const more = lines.length > MOST ? [`… and ${lines.length - MOST} more`] : [];
    title.textContent = heading;
    items.append(...lines.slice(0, MOST).concat(more).map(line => {
      const item = document.createElement('li');
      item.append(line);
      return item;
    }));
    part.append(title, items);
    return part;
  }));
}
function point(event) { if (!traced) { const [node, pin] = near(event); tell(node, pin); } }
const AROUND = [[0, 0], ...[1, 2, 3, 4].flatMap(d => [[d, 0], [-d, 0], [0, d], [0, -d]])];
function near(event) {  // lines are thin
  for (const [dx, dy] of AROUND) {
    const there = document.elementFromPoint(event.clientX + dx, event.clientY + dy);
    const node = there && there.closest('[data-of], [data-from]'), pin = there && there.closest('[data-pins]');
    if (node || pin) return [node, pin];
  }
  return [null, null];
}

// -- finding: the next match for each Enter, in all sheets
let matches = [], at = -1;
function search() {
  const words = find.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
  matches = words.length === 0 ? [] : [...document.querySelectorAll('.picture:first-of-type [data-of]')].filter(b => {
    const text = (b.dataset.of + '\n' + [told(b), ...[...b.querySelectorAll('.connector')].map(told)].join('\n')).toLowerCase();
    return words.every(word => text.includes(word));
  });
  const apart = node => words.every(word => node.dataset.of.toLowerCase().includes(word)) ? 0 : 1;
  matches.sort((one, other) => apart(one) - apart(other));  // those that are called so come first
  at = -1;
  found.textContent = words.length ? `${matches.length} found` : '';
}
function next(step) {
  if (!matches.length) return;
  at = (at + step + matches.length) % matches.length;
  const node = matches[at], section = node.closest('section');
  if (inside) inside.checked = false;
  history.pushState(null, '', '#' + encodeURIComponent(section.id));
  show();
  const [, , w, h] = home.get(picture()).split(' ').map(Number), b = node.getBBox();
  const wide = Math.min(w, 5 * b.width), high = wide * h / w;
  look(b.x + b.width / 2 - wide / 2, b.y + b.height / 2 - high / 2, wide, high);
  trace(node);
  found.textContent = `${at + 1} of ${matches.length}: ${node.dataset.of}`;
}

document.getElementById('in').onclick = () => zoom(0.8);
document.getElementById('out').onclick = () => zoom(1.25);
document.getElementById('fit').onclick = fit;
if (inside) inside.onchange = () => {
  shown.classList.toggle('open', inside.checked && Boolean(shown.querySelector('.inside')));
  trace(null);
  remember();
};
find.oninput = search;
find.onkeydown = e => { if (e.key === 'Enter') { e.preventDefault(); next(e.shiftKey ? -1 : 1); } };
addEventListener('keydown', e => {
  if (e.ctrlKey || e.metaKey || e.altKey) return;
  if (e.key === 'Escape') { find.blur(); trace(null); remember(); return; }
  if (e.target === find) return;
  if (e.key === '/') { e.preventDefault(); find.focus(); find.select(); }
  else if (e.key === '+') zoom(0.8);
  else if (e.key === '-') zoom(1.25);
  else if (e.key === '0') fit();
  else if (STEPS[e.key]) {
    const [x, y, w, h] = box(), [dx, dy] = STEPS[e.key];
    e.preventDefault();
    look(x + dx * w, y + dy * h, w, h);
  }
});
for (const svg of home.keys()) {
  svg.addEventListener('wheel', e => {
    e.preventDefault();
    zoom(e.deltaY > 0 ? 1.1 : 1 / 1.1, ...place(e));
  }, {passive: false});
  let from = null, pressed = null;
  svg.addEventListener('pointerdown', e => {
    if (e.target.closest('a')) return;
    from = place(e);
    pressed = [e.clientX, e.clientY];
    svg.setPointerCapture(e.pointerId);
  });
  svg.addEventListener('pointermove', e => {
    if (!from) point(e);
    if (!from || Math.hypot(e.clientX - pressed[0], e.clientY - pressed[1]) < 3) return;
    const [px, py] = place(e), [x, y, w, h] = box();
    look(x - (px - from[0]) * w, y - (py - from[1]) * h, w, h);
  });
  svg.addEventListener('pointerup', e => {
    if (from && Math.hypot(e.clientX - pressed[0], e.clientY - pressed[1]) < 3) { trace(...near(e)); remember(); }
    from = null;
  });
}
addEventListener('hashchange', show);
tell(null);
show();
