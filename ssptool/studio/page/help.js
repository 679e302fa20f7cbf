// What the page can do by keys and gestures, and what its colours mean.

import { button, make } from './elements.js';
import { KEYS } from './keys.js';

const TITLES = { undo: 'Undo', redo: 'Redo', save: 'Save', copy: 'Copy elements', paste: 'Paste them, with their values', duplicate: 'Duplicate',
  all: 'Select all', wrap: 'Put into a new system', unwrap: 'Dissolve a system', remove: 'Remove', rename: 'Rename', connect: 'Connect by names', arrange: 'Arrange all elements automatically', none: 'Select nothing', find: 'Find',
  fit: 'Show all', near: 'Zoom to the selection', larger: 'Zoom in', smaller: 'Zoom out', help: 'Show this list' };
const GESTURES = [['Drag from connector to connector', 'Connect'], ['Drag an element', 'Move it'], ['Drag elements onto a system', 'Move them into it'], ['Drag with Alt', 'Without guides, grid, line and system'], ['Drag a corner', 'Resize it'], ['Drag a selected line', 'Lead it another way'],
  ['Drag the background', 'Move the view'], ['Two fingers', 'Move and zoom the view'], ['Shift and drag', 'Select with a box'], ['Shift and click', 'Add to the selection'],
  ['Double click', 'Open a system, rename anything else'], ['Right click', 'Menu'], ['Enter', 'Open or select what has the focus'],
  ['Alt and an arrow key', 'Move elements'], ['Alt, Shift and an arrow key', 'Resize an element']];
const COLOURS = [['error', 'Error'], ['warning', 'Warning'], ['loop', 'Connection in an algebraic loop'], ['selected', 'Selected'], ['lit', 'Can be connected'],
  ['opens', 'System: a double click opens it'], ['grouped', 'Group of elements, only in the drawing'], ['failed', 'Component at which a run failed']];

export function showShortcuts() {
  const keys = Object.entries(KEYS).map(([command, of]) => [of.map(key => make('kbd', {}, key.replace(/\+(?=.)/g, '-'))).flatMap((key, k) => (k ? [' or ', key] : [key])), TITLES[command]]);
  show('Keys and gestures', make('div', { class: 'columns' }, list(keys), list(GESTURES.map(([how, what]) => [[how], what]))));
}
export function showLegend() {
  show('Legend', list(COLOURS.map(([name, text]) => [[make('span', { class: `swatch ${name}` })], text])));
}
function list(rows) {
  return make('dl', {}, ...rows.flatMap(([how, what]) => [make('dt', {}, ...how), make('dd', {}, what)]));
}
function show(title, content) {
  if (document.querySelector('dialog[open]')) return;
  const dialog = make('dialog', { 'aria-labelledby': 'help-title', class: 'help', onclose: () => dialog.remove() },
    make('h2', { id: 'help-title' }, title), content, make('div', { class: 'actions' }, button('Close', () => dialog.close())));
  document.body.append(dialog);
  dialog.showModal();
}
