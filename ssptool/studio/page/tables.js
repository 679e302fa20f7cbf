// Tables over the whole system: the values that can be set, and connectors that wait for a source.

import { button, diff, dotted, make } from './elements.js';
import { ask, complain, edit } from './edits.js';
import { panel } from './panels.js';
import { pastedValues } from './spreadsheet.js';

const MOST = 400;  // rows of a table that are shown; filter for others

/** The table of parameters. It is filled when it is looked at, and after each change. */
export function parameterTable(editable, explain, study) {
  const { body, tab } = panel('parameters', 'Parameters');
  const filter = make('input', { type: 'search', placeholder: 'Filter: name, unit, origin', 'aria-label': 'Filter parameters', oninput: () => draw() });
  const changed = make('input', { type: 'checkbox', onchange: () => draw() });
  const rows = make('tbody'), count = make('span', { class: 'quiet' }), ticked = new Set();
  const makeStudy = button('New study…', () => study([...ticked]), 'Run the system many times with other values of the ticked parameters', { disabled: true });
  body.append(make('div', { class: 'bar' }, filter, make('label', { class: 'toggle' }, changed, ' set here only'), count, make('span', { class: 'grow' }), makeStudy),
    table(['', 'Name', 'Value', 'Unit', 'Range', 'Origin', 'Description'], rows));
  let values = [], names = [], stale = true;

  async function renew() {
    if (body.hidden) { stale = true; return; }
    stale = false;
    values = await ask('parameters') || [];
    draw();
  }
  function draw() {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = values.filter(one => (!changed.checked || one.set)
      && words.every(word => `${one.name} ${one.unit} ${one.origin} ${one.description}`.toLowerCase().includes(word)));
    names = wanted.map(one => one.name);
    for (const name of ticked) if (!values.some(one => one.name === name)) ticked.delete(name);
    makeStudy.disabled = !ticked.size || !editable();
    count.textContent = `${wanted.length} of ${values.length}`;
    rows.replaceChildren(...wanted.slice(0, MOST).map(row));
  }
  function row(one) {
    return make('tr', { class: one.set ? 'set' : '' }, make('td', {}, tick(one)), make('th', { scope: 'row' }, button(one.name, () => explain(one), 'Explain it', { class: 'link' })),
      make('td', {}, field(one)), make('td', {}, one.unit), make('td', { class: 'quiet' }, one.range),
      make('td', { class: 'quiet' }, one.origin, ' ', one.set && editable()
        ? button('unset', () => edit({ verb: 'unset', name: one.name }), `Remove the parameter that sets ${one.name}`, { class: 'link' }) : ''),
      make('td', { class: 'quiet' }, one.description));
  }
  function tick({ name, connected }) {
    return make('input', { type: 'checkbox', checked: ticked.has(name), disabled: connected, 'aria-label': `Vary ${name} in a study`, onchange: event => {
      if (event.target.checked) ticked.add(name); else ticked.delete(name);
      makeStudy.disabled = !ticked.size || !editable();
    } });
  }
  function field(one) {
    const set = event => { if (event.target.value !== one.value) change(one, event.target); };
    const more = { 'aria-label': `Value of ${one.name}`, disabled: !editable() || one.connected, onchange: set };
    if (one.items.length) return make('select', more, ...one.items.map(item => make('option', { selected: item === one.value }, item)));
    return make('input', { type: 'text', value: one.value, ...more });
  }
  async function change(one, input) {
    const done = await edit({ verb: 'set', name: one.name, value: input.value });
    if (!done) input.value = one.value;
  }
  rows.addEventListener('paste', async event => {
    const first = [...rows.children].indexOf(event.target.closest('tr'));
    try {
      const cells = pastedValues(event.clipboardData.getData('text/plain'), names, first);
      if (!cells) return;
      event.preventDefault();
      if (cells.length) await edit(...cells.map(({ name, value, unit }) => ({ verb: 'set', name, value, unit })));
    } catch (problem) {
      event.preventDefault();
      complain(problem);
    }
  });
  tab.addEventListener('click', () => { if (stale) renew(); });
  return { renew };
}

/** The table of connectors without a source: choose one for each, look at the diff, connect all at once. */
export function connectTable(editable, shown) {
  const { body, tab } = panel('connect', 'Connect');
  const filter = make('input', { type: 'search', placeholder: 'Filter', 'aria-label': 'Filter connectors', oninput: () => draw() });
  const rows = make('tbody'), count = make('span', { class: 'quiet' }), outcome = make('div');
  const preview = button('Preview', () => tried(), 'Show the diff, change nothing');
  const apply = button('Connect', () => applied(), 'Connect what is ticked', { class: 'primary' });
  body.append(make('div', { class: 'bar' }, filter, count, make('span', { class: 'grow' }), preview, apply), outcome,
    table(['', 'Connector without a source', 'Source', 'Conversion'], rows));
  let found = [], stale = true;

  async function renew() {
    if (body.hidden) { stale = true; return; }
    stale = false;
    outcome.replaceChildren();
    const answer = await ask('suggestions', { system: shown() }) || [];
    found = answer.filter(one => one.sources.length).map(one => {
      const equal = one.sources.filter(source => source.path.at(-1) === one.destination.at(-1));
      return { ...one, source: equal[0] || one.sources[0], ticked: equal.length === 1 };
    });
    draw();
  }
  function draw() {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = found.filter(one => words.every(word => `${dotted(one.destination)} ${dotted(one.source.path)}`.toLowerCase().includes(word)));
    rows.replaceChildren(...wanted.slice(0, MOST).map(row));
    told();
  }
  function told() {
    const chosen = found.filter(one => one.ticked).length;
    count.textContent = found.length ? `${chosen} of ${found.length} chosen` : 'every input has a source, or nothing fits';
    preview.disabled = apply.disabled = !chosen || !editable();
  }
  function row(one) {
    const name = dotted(one.destination), conversion = make('td', { class: 'quiet' }, (one.source.units || []).join(' → '));
    const tick = make('input', { type: 'checkbox', checked: one.ticked, 'aria-label': `Connect ${name}`, onchange: event => { one.ticked = event.target.checked; told(); } });
    const choice = make('select', { 'aria-label': `Source of ${name}`, onchange: event => {
      one.source = one.sources[event.target.selectedIndex];
      one.ticked = tick.checked = true;
      conversion.textContent = (one.source.units || []).join(' → ');
      told();
    } }, ...one.sources.map(source => make('option', { selected: source === one.source }, dotted(source.path))));
    return make('tr', {}, make('td', {}, tick), make('th', { scope: 'row' }, name), make('td', {}, choice), conversion);
  }
  const edits = () => found.filter(one => one.ticked).map(one => ({ verb: 'connect', a: one.source.path, b: one.destination }));
  async function tried() {
    const answer = await ask('preview', { edits: edits() });
    if (answer) outcome.replaceChildren(diff(answer.diff));
  }
  async function applied() { if (await edit(...edits())) outcome.replaceChildren(); }
  tab.addEventListener('click', () => { if (stale) renew(); });
  return { renew };
}

function table(heads, rows) {
  return make('table', {}, make('thead', {}, make('tr', {}, ...heads.map(head => (head ? make('th', { scope: 'col' }, head) : make('td'))))), rows);
}
