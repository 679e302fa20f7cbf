// Sizes of the panels around the diagram: dragged, moved with arrow keys, folded by a double click, and remembered.

import { make } from './elements.js';

const STEP = 16, LEAST = 90, FOLDED = { left: 0, right: 0, drawer: 40 };  // pixels
const PANELS = [['left', 'Systems and files', 'x', 1], ['right', 'Selection', 'x', -1], ['drawer', 'Panels', 'y', -1]];

/** The size of a panel that is dragged: between least and most, or folded. */
export function fitted(size, folded, most) {
  if (size < (LEAST + folded) / 2) return folded;
  return Math.round(Math.min(Math.max(size, LEAST), most));
}

export function enableSplitters() {
  for (const [name, title, axis, sign] of PANELS) splitter(name, title, axis, sign);
}
function splitter(name, title, axis, sign) {
  const panel = document.getElementById(name), key = `ssptool studio ${name}`, bar = make('div', { class: `splitter ${axis}`, role: 'separator', tabindex: '0',
    id: `split-${name}`, 'aria-label': `Size of ${title}`, 'aria-orientation': axis === 'x' ? 'vertical' : 'horizontal', 'aria-controls': name, title: 'Drag; double click folds' });
  const size = () => panel.getBoundingClientRect()[axis === 'x' ? 'width' : 'height'];
  const most = () => (axis === 'x' ? innerWidth * .45 : innerHeight * .75);
  const set = wanted => {
    const now = wanted === null ? null : fitted(wanted, FOLDED[name], most());
    if (now === null) document.body.style.removeProperty(`--${name}`);
    else document.body.style.setProperty(`--${name}`, `${now}px`);
    panel.classList.toggle('folded', now === FOLDED[name]);
    bar.setAttribute('aria-valuenow', String(Math.round(size())));
    if (now === null) localStorage.removeItem(key);
    else localStorage.setItem(key, String(now));
  };
  const fold = () => set(panel.classList.contains('folded') ? null : FOLDED[name]);
  bar.addEventListener('pointerdown', press => {
    const before = size(), from = axis === 'x' ? press.clientX : press.clientY;
    const move = event => set(before + sign * ((axis === 'x' ? event.clientX : event.clientY) - from));
    bar.setPointerCapture(press.pointerId);
    bar.addEventListener('pointermove', move);
    bar.addEventListener('lostpointercapture', () => bar.removeEventListener('pointermove', move), { once: true });
  });
  bar.addEventListener('dblclick', fold);
  bar.addEventListener('keydown', event => {
    const step = axis === 'x' ? { ArrowRight: STEP, ArrowLeft: -STEP }[event.key] : { ArrowDown: STEP, ArrowUp: -STEP }[event.key];
    if (step) set(size() + sign * step);
    else if (event.key === 'Enter') fold();
    else return;
    event.preventDefault();
  });
  document.querySelector('main').append(bar);
  const kept = localStorage.getItem(key);
  if (kept !== null && Number.isFinite(Number(kept))) set(Number(kept));
  bar.setAttribute('aria-valuenow', String(Math.round(size())));
}
