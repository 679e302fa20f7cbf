// A field of values by names, such as a number of steps for each of some components: a row for each.

import { button, make } from './elements.js';

/** `value` is that at the start; `proposals` gives names; `changed` is called after each change. */
export function namedField({ id, title, pair, value, proposals, changed }) {
  const list = make('datalist', { id: `${id}-names` }), rows = make('div', { class: 'rows' });
  const field = make('div', { id, class: 'named', role: 'group', 'aria-label': title }, rows,
    button('+', () => { row('', ''); rows.lastChild.firstChild.focus(); }, `Add a value of ${title}`, { 'aria-label': `Add a value of ${title}` }), list);
  function row(name, each) {
    const input = (what, now, more = {}) => make('input', { type: 'text', value: now, placeholder: what, 'aria-label': `${title}: ${what}`, autocomplete: 'off', onchange: changed, ...more });
    const item = make('div', {}, input(pair[0], name, { list: list.id, onfocus: offer }), input(pair[1], each),
      button('×', () => { item.remove(); changed(); }, '', { 'aria-label': `Remove this value of ${title}` }));
    rows.append(item);
  }
  async function offer() { list.replaceChildren(...(await proposals() || []).map(name => make('option', { value: name }))); }
  for (const [name, each] of Object.entries(value || {})) row(name, each);
  /** The values by their names; empty if there are none. A row without a name or a value does not count. */
  Object.defineProperty(field, 'value', { get() {
    const stated = [...rows.children].map(item => [...item.querySelectorAll('input')].map(one => one.value.trim())).filter(([name, each]) => name && each);
    return stated.length ? Object.fromEntries(stated) : '';
  } });
  return field;
}
