// <ssp-diagram>: one system as the server draws it. Zooms and pans, tells what is selected and opened, shows findings.
// It knows nothing of SSP: names of things come with the picture, and what they are is asked of the server.

import { make } from './elements.js';
import { label, mark } from './overlay.js';
import { STILL, joined, pinch, placeOf, scaled, viewAfter } from './gliding.js';
import { placeHandles } from './picking.js';
import { boxAround, inDocument, viewOf } from './snapping.js';
import { Sight, boxOfPath, frameOf } from './visible.js';

const NEAR = [[0, 0], ...[1, 2, 3, 4, 5].flatMap(d => [[d, 0], [-d, 0], [0, d], [0, -d]])];
const LEGIBLE = 3;  // pixels of a letter
const CLICK = 4;  // pixels that a hand moves in a click
const GLIDES = 350, MOST_GLIDING = 300;  // ms of a new arrangement, and elements that a browser moves in time
const REST = 160;  // ms after the last turn of the wheel until a crowded picture is drawn anew

class Diagram extends HTMLElement {
  sheet = null;
  selected = null;
  units = true;
  snaps = false;  // whether moved elements end on a grid
  findings = [];
  loops = new Set();
  values = new Map();  // signal → its value, which is shown at its lines instead of the unit
  failure = '';  // the component at which a run failed
  #first = null;  // the first finger on a touch screen
  #carries = false;  // whether a pointer moves something else than the view
  #pinched = false;  // whether two fingers zoom
  #glide = null;  // a picture that is zoomed by the wheel: scaled as it is, and drawn anew when the wheel rests

  connectedCallback() {
    this.addEventListener('wheel', event => {
      event.preventDefault();
      if (!this.sheet) return;
      const factor = event.deltaY > 0 ? 1.1 : 1 / 1.1;
      if (this.sight.crowded) this.#zoomGliding(factor, event);
      else this.zoom(factor, ...this.fraction(event));
    }, { passive: false });
    this.addEventListener('pointerdown', event => this.#touch(event) || this.press(event));
    this.addEventListener('dblclick', event => this.twice(this.thing(event)));
    this.addEventListener('contextmenu', event => this.menu(event));
    this.addEventListener('keydown', event => this.key(event));
    this.addEventListener('focusin', event => {
      const block = event.target.closest('.block');
      const several = this.selected && this.selected.kind === 'elements';
      if (block && !several && !this.drawing && event.target.matches(':focus-visible')) this.select({ kind: 'element', key: block.dataset.of });
    });
  }

  // -- what is shown

  /** Show a sheet as the server answers it; the view stays if it is the same system. */
  show(sheet) {
    this.rest();
    const view = this.sheet && this.sheet.path.join('/') === sheet.path.join('/') ? this.view : null;
    const home = this.picture && this.home, focused = this.contains(document.activeElement) && document.activeElement.closest('.block');
    const room = [this.clientWidth, this.clientHeight];  // asked for later, the whole picture would be laid out for it
    this.sheet = sheet;
    this.near = false;
    const picture = document.adoptNode(new DOMParser().parseFromString(sheet.svg, 'image/svg+xml').documentElement);
    this.replaceChildren(make('div', { class: 'glass' }, picture));  // browsers scale a layer of HTML without drawing it, and none of SVG
    this.home = this.picture.getAttribute('viewBox').split(' ').map(Number);
    this.sight = new Sight(this.picture, sheet.letter);
    this.prepare();
    this.level(room);
    const moved = view && home && view.join() !== home.join();
    if (moved) this.look(...view);
    this.sight.look(this.view);
    this.mark();
    this.label();
    this.highlight();
    const again = focused && this.blockOf(focused.dataset.of);
    if (again) this.refocus(again);
  }
  /** Give the focus back to an element that was drawn again: the keyboard continues where it was, and nothing is selected by it. */
  refocus(node) {
    this.drawing = true;
    node.focus({ preventScroll: true });
    this.drawing = false;
  }

  /** Whether a picture without what cannot be read from afar is enough: there is none yet, or only such a one. */
  afar(path) { return !this.picture || this.sheet.path.join('/') !== path.join('/') || this.picture.classList.contains('far'); }

  /** Ends, units and signals of the connections, which come after the picture. */
  know(connections) {
    this.sheet.connections = connections;
    this.mark();
    this.label();
  }

  get picture() { return this.querySelector('svg'); }
  /** Scale a crowded picture under the pointer without drawing it: that takes longer than a frame. */
  #zoomGliding(factor, { clientX, clientY }) {
    const box = this.getBoundingClientRect();
    this.#glideBy(move => scaled(move, 1 / factor, [clientX - box.x, clientY - box.y]));
  }
  /** Move a crowded picture without drawing it, so that a view is in sight. */
  #slideTo([x, y]) {
    const [left, top] = this.view;
    this.#glideBy((_, { size }) => ({ scale: 1, shift: [size * (left - x), size * (top - y)] }));
  }
  #glideBy(next) {
    this.#glide ??= { move: STILL, from: placeOf(this.view, [this.clientWidth, this.clientHeight]), waiting: 0, turns: 0 };
    const glide = this.#glide, { scale, shift } = glide.move = next(glide.move, glide.from), { style } = this.picture.parentElement;
    style.transform = `translate(${shift[0]}px, ${shift[1]}px) scale(${scale})`;
    style.willChange = 'transform';
    clearTimeout(glide.waiting);
    const turn = ++glide.turns;
    requestAnimationFrame(() => {  // the time that this frame takes does not count
      if (turn === glide.turns) glide.waiting = setTimeout(() => { if (this.#glide === glide) this.rest(); }, REST);
    });
  }
  /** Draw the picture anew where the wheel has brought it. */
  rest() {
    const glide = this.#glide;
    if (!glide) return;
    this.#glide = null;
    glide.turns++;
    clearTimeout(glide.waiting);
    this.picture.parentElement.removeAttribute('style');
    this.look(...viewAfter(glide.move, glide.from, this.view));
  }
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
    this.rest();
    this.picture.setAttribute('viewBox', [x, y, w, h].join(' '));
    const other = this.sight.look([x, y, w, h]);
    if (!this.level() && other) this.label();
    placeHandles(this);
    this.dispatchEvent(new CustomEvent('looked'));
  }
  /** What is too small to be read is not drawn: pictures of large systems move in time. Gives whether that is new. */
  level([width, height] = [this.clientWidth, this.clientHeight]) {
    const [, , w, h] = this.view, scale = Math.min(width / w, height / h);
    const far = this.letter() * scale < LEGIBLE;
    const crossed = far !== this.picture.classList.contains('far');
    if (crossed) {
      this.picture.classList.toggle('far', far);
      this.label();
    }
    if (far || this.sheet.whole || this.near) return crossed;
    this.near = true;
    this.dispatchEvent(new CustomEvent('near'));
    return crossed;
  }
  fit() { this.look(...this.home); }
  /** The frames of the elements by their keys. */
  frames() { return new Map([...this.querySelectorAll('.block:not(.unseen)')].map(block => [block.dataset.of, frameOf(block)])); }
  /** Let the elements glide from earlier frames to where they are now. */
  glideFrom(before) {
    if (before.size > MOST_GLIDING || matchMedia('(prefers-reduced-motion: reduce)').matches) return;
    for (const block of this.querySelectorAll('.block:not(.unseen)')) {
      const old = before.get(block.dataset.of), now = frameOf(block);
      if (old) block.animate([{ transform: `translate(${old.x - now.x}px, ${old.y - now.y}px)` }, { transform: 'none' }], { duration: GLIDES, easing: 'ease-out' });
    }
    for (const wire of this.querySelectorAll('[data-connections]')) wire.animate([{ opacity: 0 }, { opacity: 1 }], { duration: GLIDES, easing: 'ease-in' });
  }
  /** Zoom to what is selected, else show all. */
  closer() {
    const now = this.selected && this.selected.kind === 'connection' ? [this.wireOf(this.selected.texts[0])] : this.keys.map(key => this.blockOf(key));
    const box = boxAround(now.filter(Boolean).map(node => (node.dataset.of === undefined ? boxOfPath(node.getAttribute('d')) : frameOf(node))));
    this.look(...(box ? viewOf(box, this.home) : this.home));
  }
  /** The middle of the view in the coordinates of the document. */
  middle() {
    const [x, y, w, h] = this.view;
    return inDocument([x + w / 2, y + h / 2], this.sheet.origin);
  }
  zoom(factor, px = .5, py = .5) {
    this.rest();
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
    const box = frameOf(block), [x, y, w, h] = this.view;
    const inside = box.x >= x && box.y >= y && box.x + box.width <= x + w && box.y + box.height <= y + h;
    if (!inside) this.look(box.x + box.width / 2 - w / 2, box.y + box.height / 2 - h / 2, w, h);
  }

  // -- what is pointed at, and selected

  /** The element, connector or connection at or near a point: lines are thin. */
  thing(event) {
    for (const [dx, dy] of NEAR) {
      const there = this.getRootNode().elementFromPoint(event.clientX + dx, event.clientY + dy);
      if (!there || !this.contains(there)) continue;
      const handle = there.closest('.handle');
      if (handle) return { kind: 'handle', key: handle.closest('.block').dataset.of, corner: handle.dataset.corner };
      const pin = there.closest('.connector'), block = there.closest('.block'), wire = there.closest('[data-connections]');
      if (pin && pin.dataset.pins) {
        return { kind: 'connector', key: block ? block.dataset.of : null, names: JSON.parse(pin.dataset.pins), node: pin };
      }
      if (block) return { kind: 'element', key: block.dataset.of, node: block };
      if (wire) return { kind: 'connection', texts: JSON.parse(wire.dataset.connections), node: wire };
      const note = there.closest('.noted');
      if (note && !dx && !dy) return { kind: 'note', text: note.dataset.note, node: note };
    }
    return null;
  }

  /** Select a thing; with Shift, add an element to those that are selected, or take it away. */
  pick(thing, event) {
    if (!event.shiftKey || !thing || thing.kind !== 'element' || this.sheet.blocks[thing.key].group) { this.select(thing); return; }
    const keys = this.keys.includes(thing.key) ? this.keys.filter(key => key !== thing.key) : [...this.keys, thing.key];
    this.select(keys.length ? { kind: 'elements', keys } : null);
  }
  /** The keys of the elements that are selected. */
  get keys() {
    const now = this.selected;
    return !now ? [] : now.kind === 'elements' ? now.keys : now.kind === 'element' ? [now.key] : [];
  }
  select(thing) {
    this.selected = thing;
    this.highlight();
    this.dispatchEvent(new CustomEvent('select', { detail: thing }));
  }
  /** A double click opens a system, and renames anything else. */
  twice(thing) {
    const known = thing && thing.kind === 'element' && this.sheet.blocks[thing.key];
    if (known && !known.opens && !known.group) this.dispatchEvent(new CustomEvent('rename', { detail: thing.key }));
    else this.open(thing);
  }
  /** The menu of what is under the pointer, or has the focus; it is selected, unless it is among several that are. */
  menu(event) {
    event.preventDefault();
    if (!this.sheet) return;
    this.rest();
    const block = event.button === -1 || event.button === 0 ? event.target.closest('.block') : null;  // asked for by the keyboard
    const thing = block ? { kind: 'element', key: block.dataset.of, node: block } : this.thing(event);
    const box = block && block.getBoundingClientRect();
    if (thing && thing.kind !== 'note' && !(thing.kind === 'element' && this.keys.includes(thing.key))) this.select(thing);
    const [x, y] = box ? [box.x + box.width / 2, box.y + box.height / 2] : [event.clientX, event.clientY];
    this.dispatchEvent(new CustomEvent('menu', { detail: { thing: thing && thing.kind === 'element' ? this.selected : thing, x, y, at: this.point({ clientX: x, clientY: y }) } }));
  }
  open(thing) {
    const known = thing && thing.key && this.sheet.blocks[thing.key];
    if (known && known.opens) this.dispatchEvent(new CustomEvent('open', { detail: known.path }));
  }
  highlight() {
    for (const old of this.querySelectorAll('.selected')) old.classList.remove('selected');
    const now = this.selected;
    const nodes = !now ? [] : now.kind === 'connection' ? [this.wireOf(now.texts[0])] : now.kind === 'elements'
      ? now.keys.map(key => this.blockOf(key)) : [now.key !== null && this.blockOf(now.key)];
    for (const node of nodes) if (node) node.classList.add('selected');
    placeHandles(this);
  }

  /** A second finger ends the gesture of the first, unless that carries something; both zoom and move the view. Gives whether it is one. */
  #touch(event) {
    if (event.pointerType !== 'touch' || !this.sheet) return false;
    if (event.isPrimary) { this.#first = event; return false; }
    const first = this.#first;
    if (!first || this.#pinched || this.#carries) return true;
    this.dispatchEvent(new PointerEvent('pointercancel', { pointerId: first.pointerId }));
    this.rest();
    const fingers = new Map([first, event].map(one => [one.pointerId, [one.clientX, one.clientY]]));
    this.#pinched = true;
    this.setPointerCapture(event.pointerId);
    const follow = now => {
      if (!fingers.has(now.pointerId)) return;
      const before = [...fingers.values()];
      fingers.set(now.pointerId, [now.clientX, now.clientY]);
      const { left, top } = this.getBoundingClientRect(), by = pinch(before, [...fingers.values()], [left, top]);
      if (this.sight.crowded) this.#glideBy(move => joined(move, by));
      else this.look(...viewAfter(by, placeOf(this.view, [this.clientWidth, this.clientHeight]), this.view));
    };
    const end = now => {
      if (!fingers.has(now.pointerId)) return;
      this.rest();
      this.#pinched = false;
      this.#first = null;
      this.removeEventListener('pointermove', follow);
      this.removeEventListener('pointerup', end);
      this.removeEventListener('pointercancel', end);
    };
    this.addEventListener('pointermove', follow);
    this.addEventListener('pointerup', end);
    this.addEventListener('pointercancel', end);
    return true;
  }

  /** Pressing selects; on the ground, dragging moves the view. Tools of the page take other drags first. */
  press(event) {
    if (event.button !== 0 || !this.sheet) return;
    this.rest();
    const thing = this.thing(event);
    const taken = new CustomEvent('grab', { detail: { thing, event }, cancelable: true });
    if (!this.dispatchEvent(taken)) return;
    this.drag(event, {
      move: (dx, dy, view) => {
        const to = [view[0] - dx, view[1] - dy, view[2], view[3]];
        if (!thing && this.sight.crowded) this.#slideTo(to);
        else if (!thing) this.look(...to);
      },
      drop: () => this.rest(),
      pans: !thing,
      click: () => this.pick(thing && thing.kind === 'note' ? null : thing, event),
    });
  }

  /** Follow a pressed pointer: `move` gets the way since the press [mm], `click` or `drop` the end of it. */
  drag(event, { move, click = () => {}, drop = () => {}, pans = false }) {
    const start = this.point(event), view = this.view, matrix = this.picture.getScreenCTM().inverse();
    let moved = false;
    const follow = now => {
      if (now.pointerId !== event.pointerId) return;
      if (!moved && Math.hypot(now.clientX - event.clientX, now.clientY - event.clientY) < CLICK) return;
      moved = true;
      this.#carries = !pans;
      const at = new DOMPoint(now.clientX, now.clientY).matrixTransform(matrix);
      move(at.x - start.x, at.y - start.y, view, now);
    };
    const end = now => {
      if (now.pointerId !== event.pointerId) return;
      this.#carries = false;
      this.removeEventListener('pointermove', follow);
      this.removeEventListener('pointerup', end);
      this.removeEventListener('pointercancel', end);
      if (!moved) { if (now.type !== 'pointercancel') click(); }
      else drop(now);
    };
    this.setPointerCapture(event.pointerId);
    this.addEventListener('pointermove', follow);
    this.addEventListener('pointerup', end);
    this.addEventListener('pointercancel', end);
  }

  /** Begin to select several elements with one, or add it to them, or take it away. */
  choose(key) {
    const alone = this.selected && this.selected.kind === 'element' && this.selected.key === key;
    if (alone && !this.sheet.blocks[key].group) this.select({ kind: 'elements', keys: [key] });
    else this.pick({ kind: 'element', key }, { shiftKey: true });
  }

  key(event) {
    const block = event.target.closest('.block');
    if (event.key === ' ' && event.shiftKey && block) {
      this.choose(block.dataset.of);
      event.preventDefault();
    } else if (event.key === 'Enter' && block) {
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

  mark() { mark(this); }
  label() { label(this); }

  /** Height of letters in this picture. */
  letter() { return this.sheet.letter; }
}

customElements.define('ssp-diagram', Diagram);
