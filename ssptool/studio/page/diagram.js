// <ssp-diagram>: one system as the server draws it. Zooms and pans, tells what is selected and opened, shows findings.
// It knows nothing of SSP: names of things come with the picture, and what they are is asked of the server.

import { svg } from './elements.js';

const NEAR = [[0, 0], ...[1, 2, 3, 4, 5].flatMap(d => [[d, 0], [-d, 0], [0, d], [0, -d]])];
const STRENGTH = ['error', 'warning', 'loop', 'info'];
const LEGIBLE = 3;  // pixels of a letter
const CLICK = 4;  // pixels that a hand moves in a click

class Diagram extends HTMLElement {
  sheet = null;
  selected = null;
  units = true;
  findings = [];
  loops = new Set();
  values = new Map();  // signal → its value, which is shown at its lines instead of the unit
  failure = '';  // the component at which a run failed

  connectedCallback() {
    this.addEventListener('wheel', event => {
      event.preventDefault();
      this.zoom(event.deltaY > 0 ? 1.1 : 1 / 1.1, ...this.fraction(event));
    }, { passive: false });
    this.addEventListener('pointerdown', event => this.press(event));
    this.addEventListener('dblclick', event => this.open(this.thing(event)));
    this.addEventListener('keydown', event => this.key(event));
    this.addEventListener('focusin', event => {
      const block = event.target.closest('.block');
      if (block && event.target.matches(':focus-visible')) this.select({ kind: 'element', key: block.dataset.of });
    });
  }

  // -- what is shown

  /** Show a sheet as the server answers it; the view stays if it is the same system. */
  show(sheet) {
    const view = this.sheet && this.sheet.path.join('/') === sheet.path.join('/') ? this.view : null;
    const home = this.picture && this.home;
    this.sheet = sheet;
    this.replaceChildren(document.importNode(new DOMParser().parseFromString(sheet.svg, 'image/svg+xml').documentElement, true));
    this.home = this.picture.getAttribute('viewBox').split(' ').map(Number);
    this.prepare();
    this.size = this.letter();
    this.level();
    const moved = view && home && view.join() !== home.join();
    if (moved) this.look(...view);
    this.mark();
    this.label();
    this.highlight();
  }

  /** Ends, units and signals of the connections, which come after the picture. */
  know(connections) {
    this.sheet.connections = connections;
    this.mark();
    this.label();
  }

  get picture() { return this.querySelector('svg'); }
  get view() { return this.picture.getAttribute('viewBox').split(' ').map(Number); }
  blockOf(key) { return [...this.querySelectorAll('.block')].find(block => block.dataset.of === key); }
  wireOf(text) {
    return [...this.querySelectorAll('[data-connections]')].find(wire => JSON.parse(wire.dataset.connections).includes(text));
  }

  /** Elements are reached with the keyboard; links to other sheets are opened by the page itself. */
  prepare() {
    this.picture.removeAttribute('width');
    this.picture.removeAttribute('height');
    this.picture.setAttribute('role', 'group');
    for (const link of this.picture.querySelectorAll('a')) link.replaceWith(...link.childNodes);
    for (const block of this.picture.querySelectorAll('.block')) {
      const known = this.sheet.blocks[block.dataset.of];
      block.setAttribute('tabindex', '0');
      block.setAttribute('role', 'button');
      block.setAttribute('aria-label', known.name + (known.opens ? ', opens with Enter' : ''));
    }
  }

  // -- looking

  look(x, y, w, h) {
    this.picture.setAttribute('viewBox', [x, y, w, h].join(' '));
    this.level();
  }
  /** What is too small to be read is not drawn: pictures of large systems move in time. */
  level() {
    const [, , w, h] = this.view, scale = Math.min(this.clientWidth / w, this.clientHeight / h);
    const far = this.size * scale < LEGIBLE;
    if (far === this.picture.classList.contains('far')) return;
    this.picture.classList.toggle('far', far);
    this.label();
  }
  fit() { this.look(...this.home); }
  zoom(factor, px = .5, py = .5) {
    const [x, y, w, h] = this.view;
    this.look(x + w * px * (1 - factor), y + h * py * (1 - factor), w * factor, h * factor);
  }
  point(event) {
    return new DOMPoint(event.clientX, event.clientY).matrixTransform(this.picture.getScreenCTM().inverse());
  }
  fraction(event) {
    const at = this.point(event), [x, y, w, h] = this.view;
    return [(at.x - x) / w, (at.y - y) / h];
  }
  /** Bring an element into view. */
  reveal(key) {
    const block = this.blockOf(key);
    if (!block) return;
    const box = block.getBBox(), [x, y, w, h] = this.view;
    const inside = box.x >= x && box.y >= y && box.x + box.width <= x + w && box.y + box.height <= y + h;
    if (!inside) this.look(box.x + box.width / 2 - w / 2, box.y + box.height / 2 - h / 2, w, h);
  }

  // -- what is pointed at, and selected

  /** The element, connector or connection at or near a point: lines are thin. */
  thing(event) {
    for (const [dx, dy] of NEAR) {
      const there = this.getRootNode().elementFromPoint(event.clientX + dx, event.clientY + dy);
      if (!there || !this.contains(there)) continue;
      const pin = there.closest('.connector'), block = there.closest('.block'), wire = there.closest('[data-connections]');
      if (pin && pin.dataset.pins) {
        return { kind: 'connector', key: block ? block.dataset.of : null, names: JSON.parse(pin.dataset.pins), node: pin };
      }
      if (block) return { kind: 'element', key: block.dataset.of, node: block };
      if (wire) return { kind: 'connection', texts: JSON.parse(wire.dataset.connections), node: wire };
    }
    return null;
  }

  select(thing) {
    this.selected = thing;
    this.highlight();
    this.dispatchEvent(new CustomEvent('select', { detail: thing }));
  }
  open(thing) {
    const known = thing && thing.key && this.sheet.blocks[thing.key];
    if (known && known.opens) this.dispatchEvent(new CustomEvent('open', { detail: known.path }));
  }
  highlight() {
    for (const old of this.querySelectorAll('.selected')) old.classList.remove('selected');
    const now = this.selected;
    if (!now) return;
    const node = now.kind === 'connection' ? this.wireOf(now.texts[0]) : now.key !== null && this.blockOf(now.key);
    if (node) node.classList.add('selected');
  }

  /** Pressing selects; on the ground, dragging moves the view. Tools of the page take other drags first. */
  press(event) {
    if (event.button !== 0 || !this.sheet) return;
    const thing = this.thing(event);
    const taken = new CustomEvent('grab', { detail: { thing, event }, cancelable: true });
    if (!this.dispatchEvent(taken)) return;
    this.drag(event, {
      move: (dx, dy, view) => { if (!thing) this.look(view[0] - dx, view[1] - dy, view[2], view[3]); },
      click: () => this.select(thing),
    });
  }

  /** Follow a pressed pointer: `move` gets the way since the press [mm], `click` or `drop` the end of it. */
  drag(event, { move, click = () => {}, drop = () => {} }) {
    const start = this.point(event), view = this.view, matrix = this.picture.getScreenCTM().inverse();
    let moved = false;
    const follow = now => {
      if (!moved && Math.hypot(now.clientX - event.clientX, now.clientY - event.clientY) < CLICK) return;
      moved = true;
      const at = new DOMPoint(now.clientX, now.clientY).matrixTransform(matrix);
      move(at.x - start.x, at.y - start.y, view, now);
    };
    const end = now => {
      this.removeEventListener('pointermove', follow);
      this.removeEventListener('pointerup', end);
      this.removeEventListener('pointercancel', end);
      if (!moved) click();
      else drop(now);
    };
    this.setPointerCapture(event.pointerId);
    this.addEventListener('pointermove', follow);
    this.addEventListener('pointerup', end);
    this.addEventListener('pointercancel', end);
  }

  key(event) {
    const block = event.target.closest('.block');
    if (event.key === 'Enter' && block) {
      const thing = { kind: 'element', key: block.dataset.of };
      if (this.sheet.blocks[thing.key].opens) this.open(thing);
      else this.select(thing);
      event.preventDefault();
    }
  }

  // -- findings, loops, labels

  setFindings(findings, loops) {
    this.findings = findings;
    this.loops = new Set(loops.map(pair => pair.join('\n')));
    if (this.sheet) this.mark();
  }

  /** Colour what has findings, and put a badge with their number on each element. */
  mark() {
    for (const old of this.querySelectorAll('.badge')) old.remove();
    for (const node of this.querySelectorAll('.block, [data-connections]')) node.classList.remove(...STRENGTH);
    const found = this.found();
    for (const block of this.querySelectorAll('.block')) {
      block.classList.toggle('failed', this.hasFailed(block));
      const there = found.get(block.dataset.of);
      if (!there) continue;
      const worst = STRENGTH.find(one => there.some(finding => finding.severity === one));
      block.classList.add(worst);
      this.badge(block, worst, there);
    }
    for (const wire of this.querySelectorAll('[data-connections]')) this.markWire(wire);
  }
  /** Whether a run failed in an element, or in one inside. */
  hasFailed(block) {
    const name = this.sheet.blocks[block.dataset.of].path.join('.');
    return this.failure === name || this.failure.startsWith(`${name}.`);
  }
  /** Findings by the key of the element of this sheet in which they are, however deep. */
  found() {
    const found = new Map();
    const paths = Object.entries(this.sheet.blocks).filter(([, known]) => !known.group);
    for (const finding of this.findings) {
      const place = finding.place && (finding.place.element || finding.place.sheet);
      const inside = place && paths.find(([, known]) => known.path.every((name, k) => name === place[k]));
      if (inside) found.set(inside[0], [...(found.get(inside[0]) || []), finding]);
    }
    return found;
  }
  badge(block, worst, findings) {
    const frame = block.querySelector('.frame').getBBox(), size = this.letter();
    const group = svg('g', { class: 'badge ' + worst });
    const title = svg('title'), text = svg('text', {
      x: frame.x + frame.width, y: frame.y + .36 * size, 'text-anchor': 'middle', 'font-size': size });
    title.textContent = findings.map(one => `${one.code}: ${one.message}`).join('\n');
    text.textContent = findings.length > 9 ? '9+' : findings.length;
    group.append(title, svg('circle', { cx: frame.x + frame.width, cy: frame.y, r: .85 * size }), text);
    block.append(group);
  }
  markWire(wire) {
    for (const text of JSON.parse(wire.dataset.connections)) {
      const known = this.sheet.connections[text];
      const there = this.findings.filter(one => one.place && one.place.connection === text
        && one.place.sheet.join('/') === this.sheet.path.join('/'));
      const looped = known && this.loops.has(known.names.join('\n'));
      const worst = STRENGTH.find(one => (one === 'loop' ? looped : there.some(finding => finding.severity === one)));
      if (worst) wire.classList.add(worst);
    }
  }

  /** Height of letters in this picture. */
  letter() {
    const text = this.picture.querySelector('.block text, text');
    return text ? Number(text.getAttribute('font-size')) : 3;
  }

  /** Units, conversions or values beside the lines. */
  label() {
    for (const old of this.querySelectorAll('.unit')) old.remove();
    if (this.picture.classList.contains('far')) return;
    for (const wire of this.querySelectorAll('[data-connections]')) {
      const [text, ...more] = JSON.parse(wire.dataset.connections);
      const known = this.sheet.connections[text];
      const value = known && this.values.get(known.signal);
      const label = more.length || !known ? '' : value ?? (this.units ? unitText(known) : '');
      if (label) this.write(wire, label, value !== undefined);
    }
  }
  write(wire, label, value) {
    const numbers = wire.getAttribute('d').match(/-?[\d.]+(e-?\d+)?/g).map(Number), size = .8 * this.letter();
    let best = null;
    for (let k = 0; k + 3 < numbers.length; k += 2) {
      const [x1, y1, x2, y2] = numbers.slice(k, k + 4);
      const length = y1 === y2 ? Math.abs(x2 - x1) : .5 * Math.abs(y2 - y1);
      if (!best || length > best.length) best = { length, x: (x1 + x2) / 2, y: (y1 + y2) / 2 };
    }
    const text = svg('text', { class: value ? 'unit value' : 'unit', x: best.x, y: best.y - .4 * size,
      'text-anchor': 'middle', 'font-size': size });
    text.textContent = label;
    this.picture.append(text);
  }
}

/** Unit of a connection; where it changes, both, and the formula. */
function unitText({ units: [from, to], conversion }) {
  const unit = from === to || !to ? from : from ? `${from} → ${to}` : to;
  return conversion && from === to ? `${unit} (${conversion})`.trim() : unit;
}

customElements.define('ssp-diagram', Diagram);
