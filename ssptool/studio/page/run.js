// The panel of runs: settings, plan, progress, plots while a run goes on, values on the lines at the time of a slider.

import { button, make } from './elements.js';
import { ask, asked } from './edits.js';
import { iterations, showIterations } from './iterations.js';
import { showMenu } from './menu.js';
import { namedField } from './named.js';
import { panel } from './panels.js';
import { drawFigure } from './plots.js';
import { call, on } from './server.js';
import { stimuli } from './stimuli.js';

const REDRAW = 400;  // ms between two pictures of a run that goes on
const { body, tab } = panel('runs', 'Run');
const USUAL = ['stop_time', 'step_size', 'tolerance', 'master'];  // settings that are always in sight
const usual = make('span', { class: 'usual' }), more = make('div', { class: 'groups' });
const others = make('details', { class: 'more' }, make('summary', {}, 'More settings'), more);
let settings = {}, kept = {};  // fields by the names of their settings; values that a page before a reload had
const start = button('Run', () => begin(), 'Run the system as it is here, saved or not', { class: 'primary', id: 'run' });
const stop = button('Cancel', () => ask('cancel'), 'End the run', { hidden: true });
const bar = make('progress', { max: 1, value: 0, hidden: true, 'aria-label': 'Progress of the run' });
const told = make('div', { class: 'told', role: 'status' }), list = make('ul', { class: 'runs', 'aria-label': 'Runs' });
const filter = make('input', { type: 'search', id: 'signals', list: 'known-signals', placeholder: 'Signals: System1.*, *.F', 'aria-label': 'Signals to plot',
  onchange: () => draw() });
const known = make('datalist', { id: 'known-signals' });
const plot = make('div', { id: 'plot', 'aria-label': 'Plot of the run', role: 'group' });
const slider = make('input', { type: 'range', min: 0, max: 1, step: 'any', id: 'time', 'aria-label': 'Time of the values on the lines', oninput: () => values() });
const clock = make('output', { for: 'time' });
const timeline = make('div', { class: 'bar', hidden: true }, make('label', { for: 'time' }, 'Values on the lines at'), slider, clock);
const outcome = make('div'), logged = make('input', { type: 'checkbox', id: 'run-iterations' });
const files = make('select', { 'aria-label': 'Open a result file', onchange: () => opened() });
let runs = [], chosen = new Set(), drawn = 0, pending = 0, show = () => {}, failed = () => {};

body.append(
  make('div', { class: 'bar settings' }, usual,

    button('Plan', () => plan(), 'Choices and calls of a run; nothing is loaded')), others,
  make('div', { class: 'split' }, make('div', { class: 'side' }, filter, known, list, files, told), make('div', { class: 'wide' }, timeline, outcome, iterations, plot)));

document.getElementById('running').append(bar, stop, start);

/** Fields of the settings, by the groups of the help; they are made once. */
function fields(groups) {
  if (Object.keys(settings).length) return;
  for (const { group, settings: some } of groups) {
    const rest = [];
    for (const one of some) {
      const field = settings[one.name] = fieldOf(one), item = labelled(one, field);
      if (USUAL.includes(one.name)) usual.append(item); else rest.push(item);
    }
    if (rest.length) more.append(make('fieldset', {}, make('legend', {}, group), ...rest));
  }
  more.append(make('fieldset', {}, make('legend', {}, 'Insight'),
    make('label', { class: 'toggle', title: 'Keep the iterations and residuals of loops and macro steps' }, logged, 'Keep iterations')));
}
function fieldOf({ name, title, words, pair }) {
  const id = `run-${name.replaceAll('_', '-')}`, value = kept[name] || '';
  if (pair.length) return namedField({ id, title, pair, value, changed: mention, proposals: () => ask('setting_names', { setting: name }) });
  return words.length
    ? make('select', { id, onchange: mention }, ...['', ...words.filter(word => word !== 'auto')].map(word => make('option', { value: word, selected: word === value }, word || 'automatic')))
    : make('input', { type: 'text', id, value, placeholder: 'automatic', autocomplete: 'off', size: 8, onchange: mention });
}
function labelled({ title, help, pair }, field) {
  if (pair.length) return make('div', { class: 'of-names', title: help }, make('span', {}, title[0].toUpperCase() + title.slice(1)), field);
  return make('span', { title: help }, make('label', { for: field.id }, title[0].toUpperCase() + title.slice(1)), ' ', field);
}
/** How many of the settings that may be out of sight are stated. */
function mention() {
  const stated = Object.keys(given()).filter(name => !USUAL.includes(name));
  others.querySelector('summary').textContent = stated.length ? `More settings (${stated.map(name => name.replaceAll('_', ' ')).join(', ')})` : 'More settings';
}
function given() {
  const now = Object.entries(settings).map(([name, input]) => [name, typeof input.value === 'string' ? input.value.trim() : input.value]);
  return Object.fromEntries((now.length ? now : Object.entries(kept)).filter(([, value]) => value));
}

/** `labels` shows values on the lines of the diagram, `failure` marks the component at which a run failed. */
export function enableRuns({ labels, failure }) {
  show = labels;
  failed = failure;
  tab.addEventListener('click', renew);
  on('run', event => { take(event); });
  on('run_deleted', ({ number }) => forget(number));
  on('opened', async () => {  // the server of the runs so far has ended
    chosen = new Set();
    failed(null);
    await renew();
    await draw();
  });
}
async function renew() {
  const answer = await ask('runs');
  if (!answer) return;
  runs = answer.runs;
  offer(answer.files);
  fields(answer.settings);
  mention();
  tell();
}
/** What a page shows of runs, to be restored after a reload. */
export function runState() {
  return { settings: given(), chosen: [...chosen], signals: filter.value, iterations: logged.checked, time: slider.value };
}
/** Show runs as before a reload; those of another server are gone. */
export async function restoreRuns(state) {
  kept = state.settings;
  filter.value = state.signals;
  logged.checked = state.iterations;
  await renew();
  chosen = new Set(state.chosen.filter(number => runs.some(one => one.number === number)));
  tell();
  const last = runs.findLast(one => chosen.has(one.number));
  if (!last) return;
  failed(last.failure);
  await finish(last);
  slider.value = state.time;
  await values();
}

/** Result files that are not open yet. */
function offer(names) {
  const left = names.filter(name => !runs.some(one => one.file === name));
  files.hidden = !left.length;
  files.replaceChildren(make('option', { value: '' }, 'Open results…'), ...left.map(name => make('option', { value: name }, name)));
}
async function opened() {
  const run = files.value && await ask('open_results', { file: files.value });
  if (!run) return;
  chosen.add(run.number);
  await renew();
  if (chosen.size === 1) await finish(run);
  else await draw();
}

// -- a run

async function begin() {
  outcome.replaceChildren();
  const run = await ask('run', { settings: given(), ...stimuli(), iterations: logged.checked });
  if (!run) return;
  chosen = new Set([run.number]);
  failed(null);
  take(run);
  tab.click();
}
async function plan() {
  const made = await ask('plan', { settings: given(), ...stimuli() });
  if (!made) return;
  const rows = made.choices.map(one => make('tr', {}, make('th', { scope: 'row' }, one.setting), make('td', {}, one.value), make('td', { class: 'quiet' }, one.reason)));
  outcome.replaceChildren(make('details', { open: true }, make('summary', {}, 'Plan'), make('table', {}, make('tbody', {}, ...rows)),
    make('h3', {}, 'Calls'), make('pre', { tabindex: '0' }, made.calls.join('\n')), ...made.notes.map(text => make('p', { class: 'quiet' }, text))));
}
/** What the server tells of a run. */
function take(run) {
  const place = runs.findIndex(one => one.number === run.number), before = runs[place];
  if (place < 0) runs.push(run);
  else if (runs[place].status === 'running' || run.status !== 'running') runs[place] = run;
  tell();
  if (!chosen.has(run.number)) return;
  if (run.status !== 'running') {
    if (before && before.status === run.status) {  // its accuracy is new, and with it the bands, or its name
      if (before.label !== run.label) draw();
      if (before.accuracy.checking && !run.accuracy.checking) draw();
      return;
    }
    failed(run.failure);
    finish(run);
  } else if (Date.now() - drawn > REDRAW) {
    draw();
    follow(run);
  }
}
/** The values at the present end of a run that goes on. */
function follow(run) {
  if (!run.times) return;
  [slider.min, slider.max] = run.times;
  slider.value = run.times[1];
  timeline.hidden = false;
  values();
}
function forget(number) {
  runs = runs.filter(one => one.number !== number);
  const shown = chosen.delete(number);
  tell();
  if (shown) { draw(); values(); }
}
async function finish(run) {
  if (run.times) {
    slider.min = run.times[0];
    slider.max = run.times[1];
    slider.value = run.times[1];
    known.replaceChildren(...(await ask('signals', { run: run.number }) || []).map(name => make('option', { value: name })));
  }
  timeline.hidden = !run.times;
  await draw();
  await values();
}
function tell() {
  const going = runs.find(one => one.status === 'running');
  start.hidden = Boolean(going);
  stop.hidden = bar.hidden = !going;
  if (going) bar.value = going.fraction;
  tab.textContent = going ? `Run (${Math.round(100 * going.fraction)} %)` : 'Run';
  list.replaceChildren(...runs.toReversed().map(entry));
  const last = runs.filter(one => chosen.has(one.number)).at(-1);
  told.replaceChildren(...(last ? summary(last) : [make('p', { class: 'quiet' }, 'No run yet.')]));
}
function entry(run) {
  const tick = make('input', { type: 'checkbox', checked: chosen.has(run.number), onchange: event => {
    if (event.target.checked) chosen.add(run.number); else chosen.delete(run.number);
    tell();
    draw();
    values();
  } });
  const how = Object.entries(run.settings).map(([name, value]) => `${name.replace('_', ' ')} ${value}`).join(', ');
  const menu = button('⋯', event => acts(run, event.currentTarget.getBoundingClientRect()), `Rename, save or delete ${run.name}`, { class: 'link', 'aria-label': `More for ${run.name}` });
  return make('li', {}, make('span', { class: 'run' }, make('label', { class: 'toggle' }, tick, run.label), menu),
    make('span', { class: 'quiet' }, [run.status, how].filter(Boolean).join(' · ')));
}
function acts(run, { x, bottom: y }) {
  const done = run.status !== 'running', name = run.label.replace(/[^\w.-]+/g, '_');
  const save = (title, ending) => ({ title, run: async () => {
    const answer = await asked(title, { name: { label: 'Name', value: `${name}.${ending}` } }, 'Save');
    if (answer && answer.name && await ask('save_run', { run: run.number, name: answer.name })) await renew();
  } });
  showMenu([{ title: 'Rename…', run: async () => {
    const answer = await asked(`Name of ${run.name}`, { name: { label: 'Name', value: run.label } }, 'Rename');
    if (answer) await ask('rename_run', { run: run.number, name: answer.name });
  } }, ...(done && run.rows ? [save('Save results…', 'csv'), save('Save a report…', 'html')] : []),
  ...(done ? [null, { title: 'Delete', run: () => ask('delete_run', { run: run.number }) }] : [])], { x, y }, `What can be done with ${run.name}`);
}
function summary(run) {
  const trouble = run.failure ? `${run.failure.component ? run.failure.component + ': ' : ''}${run.failure.message}; ${run.failure.advice}` : run.message;
  return [...(trouble ? [make('p', { class: 'finding error' }, trouble)] : []), ...accuracy(run), ...(run.facts.length
    ? [make('details', {}, make('summary', {}, 'About this run'), ...run.facts.map(text => make('p', { class: 'quiet' }, text)))] : [])];
}
/** The estimated error of a run, while it is found, or a button that finds it. */
function accuracy({ number, accuracy: { words, checking, can_check: open } }) {
  if (checking) {
    return [make('p', { class: 'accuracy' }, `${words.startsWith('checking') ? words : 'checking the accuracy'} … `,
      button('Cancel check', () => ask('cancel', { run: number }), 'Keep the run without its accuracy'))];
  }
  return words ? [make('p', { class: 'accuracy' }, `accuracy: ${words} `,
    open ? button('Check', () => ask('check', { run: number }), 'Estimate the error by finer runs') : null)] : [];
}

// -- pictures and values

const numbers = () => [...chosen].sort((a, b) => a - b);
const patterns = () => filter.value.split(',').map(text => text.trim()).filter(Boolean);

async function draw() {
  const turn = ++pending;
  drawn = Date.now();
  const figure = chosen.size ? await ask('plot', { runs: numbers(), signals: patterns() }) : null;
  if (turn !== pending) return;
  await drawFigure(plot, figure);
  if (!figure) return;
  if (chosen.size === 2) await compared();
  else if (outcome.querySelector('.differences')) outcome.replaceChildren();
}
const nameOf = number => runs.find(one => one.number === number).label;
async function compared() {
  const [reference, run] = numbers(), done = runs.filter(one => chosen.has(one.number) && one.rows && one.status !== 'running');
  if (done.length < 2) return;
  const [heads, ...rows] = await ask('differences', { run, reference }) || [[]];
  outcome.replaceChildren(make('details', { class: 'differences' }, make('summary', {}, `${nameOf(run)} compared with ${nameOf(reference)}`),
    make('table', {}, make('thead', {}, make('tr', {}, ...heads.map(head => make('th', { scope: 'col' }, head)))),
      make('tbody', {}, ...rows.map(cells => make('tr', {}, ...cells.map(cell => make('td', {}, cell))))))));
}
async function values() {
  const run = numbers().at(-1), iterated = runs.findLast(one => chosen.has(one.number) && one.iterations);
  showIterations(iterated ? iterated.number : null, Number(slider.value));
  if (!run || timeline.hidden) { show(new Map()); return; }
  clock.textContent = `${Number(slider.value).toPrecision(4)} s`;
  try {
    show(new Map(Object.entries(await call('values', { run, time: Number(slider.value) }))));
  } catch { show(new Map()); }
}
