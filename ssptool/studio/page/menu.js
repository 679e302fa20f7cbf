// A menu at a place of the page: moved through with arrow keys, closed by Escape and by a click elsewhere.

import { make } from './elements.js';

let open = null;

/** Show a menu of `{title, key, run}`; a null is a line between groups. */
export function showMenu(entries, { x, y }, label) {
  closeMenu();
  const before = document.activeElement, groups = entries.filter((one, k) => one || (k && entries[k - 1] && entries.slice(k).some(Boolean)));
  if (!groups.some(Boolean)) return;
  const item = ({ title, key = '', run }) => make('button', { type: 'button', role: 'menuitem', tabindex: '-1',
    onclick: () => { closeMenu(); run(); } }, make('span', {}, title), key ? make('kbd', { 'aria-hidden': 'true' }, key) : null);
  open = make('div', { class: 'menu', role: 'menu', 'aria-label': label },
    ...groups.map(one => (one ? item(one) : make('hr', { role: 'separator' }))));
  open.before = before;
  open.addEventListener('keydown', moved);
  document.querySelector('main').append(open);
  const { offsetWidth: width, offsetHeight: height } = open;
  open.style.left = `${Math.max(0, Math.min(x, innerWidth - width - 4))}px`;
  open.style.top = `${Math.max(0, Math.min(y, innerHeight - height - 4))}px`;
  open.querySelector('button').focus();
}
export function closeMenu() {
  if (!open) return;
  const { before } = open, within = open.contains(document.activeElement);
  open.remove();
  open = null;
  if (within && before && before.isConnected) before.focus({ preventScroll: true });
}
function moved(event) {
  const items = [...open.querySelectorAll('button')], at = items.indexOf(document.activeElement);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
  if (to !== undefined) items.at(to % items.length).focus();
  else if (event.key === 'Escape' || event.key === 'Tab') closeMenu();
  else if (event.key !== 'Enter' && event.key !== ' ') return;
  if (event.key !== 'Enter' && event.key !== ' ') event.preventDefault();
  event.stopPropagation();
}
addEventListener('pointerdown', event => { if (open && !open.contains(event.target)) closeMenu(); }, true);
addEventListener('blur', closeMenu);
