// The panel of inputs and scenarios: which files the next run takes, and their points and events over time.

import { ask, asked } from './edits.js';
import { button, make } from './elements.js';
import { panel } from './panels.js';
import { track, timeAxis } from './timeline.js';

const ACTIONS = ['override', 'bias', 'reset'];
const { body, tab } = panel('stimuli', 'Inputs');
const chosen = { scenario: '', inputs: '' };
const choices = { scenario: choice('scenario', 'Scenario'), inputs: choice('inputs', 'Input file') };
const addEvent = button('Add event…', () => newEvent(), 'Override, bias or reset a variable at a time');
const addSignal = button('Add signal…', () => newSignal(), 'Drive an input that nothing drives');
const problems = make('p', { class: 'finding error', hidden: true }), form = make('div', { class: 'bar picked' }), note = make('p', { class: 'quiet', hidden: true });
const tracks = make('div', { class: 'tracks' }), axis = make('div', { class: 'axis' });
let known = null, picked = null, busy = false, asks = 0, dragging = false, late = false, editable = () => false;

body.append(
  make('div', { class: 'bar' }, make('label', { for: 'choose-scenario' }, 'Scenario'), choices.scenario, addEvent,
    make('label', { for: 'choose-inputs' }, 'Input file'), choices.inputs, addSignal),
  problems, note, form, tracks, axis);

/** What the next run takes, by the names of the server. */
export const stimuli = () => ({ ...chosen });

export function enableStimuli(mayEdit) {
  editable = mayEdit;
  tab.addEventListener('click', renew);
  let width = 0;
  new ResizeObserver(() => {  // of the height, which drawing changes, nothing depends
    if (!known || body.hidden || tracks.clientWidth === width) return;
    width = tracks.clientWidth;
    draw();
  }).observe(tracks);
  return { renew };
}
function choice(name, label) {
  return make('select', { id: `choose-${name}`, 'aria-label': label, onchange: event => {
    chosen[name] = event.target.value;
    picked = null;
    renew();
  } }, make('option', { value: '' }, 'none'));
}
async function renew() {
  if (body.hidden) return;  // it is made anew when it is looked at
  const number = ++asks, answer = await ask('stimuli', chosen);
  if (!answer || number !== asks) return;  // a later choice has been asked for
  late = dragging;
  if (late) return;  // the mark in hand is one of the text that is shown
  known = answer;
  offer('scenario', known.scenarios);
  offer('inputs', known.inputs);
  problems.hidden = !known.problems.length;
  problems.textContent = known.problems.join('\n');
  addEvent.hidden = addSignal.hidden = !editable();
  addSignal.disabled = !known.free.length;
  note.hidden = !known.start || !known.scenario.events.length;
  note.textContent = `The run starts at ${known.start} s, from which the times of the scenario count.`;
  draw();
}
function offer(name, files) {
  if (!files.includes(chosen[name])) chosen[name] = '';
  choices[name].replaceChildren(make('option', { value: '' }, 'none'),
    ...files.map(file => make('option', { value: file, selected: file === chosen[name] }, file)));
}

// -- what is drawn

const keyOf = ({ kind, name, number }) => [kind, name, number].join('\n');

/** The tracks: for each variable of the scenario its events, for each signal of the file its points. */
function courses() {
  const unit = name => (known.variables.find(one => one.name === name) || { unit: '' }).unit;
  const events = new Map();
  for (const one of known.scenario.events) events.set(one.variable, [...(events.get(one.variable) || []), one]);
  return [
    ...[...events].map(([name, list]) => ({ kind: 'event', name, unit: unit(name), end: known.scenario.end,
      marks: list.toSorted((a, b) => a.time - b.time) })),
    ...known.input.signals.map(one => ({ kind: 'point', name: one.name, unit: one.unit, linear: one.linear,
      marks: one.times.map((time, number) => ({ number, time, value: one.values[number] })) })),
  ];
}
function draw() {
  if (dragging) return;  // it is drawn where the mark is let go
  const all = courses(), focused = document.activeElement && document.activeElement.dataset.mark;
  const times = all.flatMap(one => one.marks.map(mark => mark.time)), span = Math.max(known.stop || 0, ...times.map(time => 1.05 * time)) || 1;
  const acts = { editable: editable(), take, leave, pick, change, remove, add, keyOf, isPicked: mark => picked !== null && keyOf(mark) === picked };
  tracks.replaceChildren(...all.map(one => track(one, span, tracks.clientWidth, acts)));
  axis.replaceChildren(...(all.length ? [timeAxis(span, tracks.clientWidth)] : [make('p', { class: 'quiet' },
    'Choose a scenario or a file of inputs for the next run, or add an event or a signal. A double click on a line adds a point.')]));
  const again = focused && [...tracks.querySelectorAll('[data-mark]')].find(one => one.dataset.mark === focused);
  if (again) again.focus();
  describe(all);
}
/** The picked event or point in fields, for exact numbers. */
function describe(all) {
  const mark = picked === null ? null : all.flatMap(one => one.marks.map(each => ({ ...one, ...each }))).find(one => keyOf(one) === picked);
  const focused = document.activeElement && form.contains(document.activeElement) ? document.activeElement.id : '';
  if (!mark) { form.replaceChildren(); picked = null; return; }
  const off = !editable(), send = () => change(mark, { time: Number(fields.time.value), value: fields.value.value, action: fields.action.value });
  const fields = {
    time: make('input', { type: 'text', id: 'mark-time', value: mark.time, size: 8, disabled: off, onchange: send }),
    action: make('select', { id: 'mark-action', disabled: off, onchange: send }, ...ACTIONS.map(one => make('option', { selected: one === mark.action }, one))),
    value: make('input', { type: 'text', id: 'mark-value', value: mark.value ?? '', size: 8, disabled: off || mark.action === 'reset', onchange: send }),
  };
  form.replaceChildren(make('strong', {}, mark.name), make('label', { for: 'mark-time' }, 'Time [s]'), fields.time,
    ...(mark.kind === 'event' ? [make('label', { for: 'mark-action' }, 'Action'), fields.action] : []),
    make('label', { for: 'mark-value' }, mark.unit ? `Value [${mark.unit}]` : 'Value'), fields.value,
    off ? '' : button('Remove', () => remove(mark), mark.kind === 'event' ? 'Take the event away' : 'Take the row away, with the points of all signals'));
  if (focused) document.getElementById(focused).focus();
}
function pick(mark) {
  picked = keyOf(mark);
  for (const one of tracks.querySelectorAll('[data-mark]')) one.classList.toggle('picked', one.dataset.mark === picked);
  describe(courses());
}

function take() { dragging = true; }
function leave(mark, to) {
  dragging = false;
  if (to) change(mark, to);
  else draw();
  if (late) renew();
}

// -- what is edited

/** Send a change of a file; one at a time, since each is made to the text that is shown. */
async function send(file, name, args) {
  if (busy) return null;
  busy = true;
  try {
    const shown = known && [known.scenario, known.input].find(one => one.file === file);
    const answer = await ask('stimulus', { file, change: name, arguments: args, before: shown ? shown.text : '' });
    if (!answer) draw();  // as it was
    return answer;
  } finally { busy = false; }
}
const linear = () => known.input.signals.filter(one => one.linear).map(one => one.name);

/** A text as a scenario means it: a number, true, false, or a text. */
function meant(text) {
  if (text === 'true' || text === 'false') return text === 'true';
  return String(text).trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text;
}
function change(mark, { time = mark.time, value = mark.value, action = mark.action }) {
  if (!Number.isFinite(time)) { draw(); return; }
  if (mark.kind === 'event') {
    const given = value === '' || value === null ? 0 : meant(value);
    send(chosen.scenario, 'set_event', { event: mark.number, time, action, value: action === 'reset' ? null : given });
  } else send(chosen.inputs, 'set_point', { signal: mark.name, row: mark.number, time, value: String(value) });
}
function remove(mark) {
  if (mark.kind === 'event') send(chosen.scenario, 'remove_event', { event: mark.number });
  else send(chosen.inputs, 'remove_row', { row: mark.number });
}
/** Add to a track: a point, or an event that does as the one before it. */
function add(course, time, value) {
  if (course.kind === 'point') { send(chosen.inputs, 'add_point', { signal: course.name, time, value: String(value), linear: linear() }); return; }
  const before = course.marks.filter(one => one.time <= time && one.value !== null).at(-1);
  send(chosen.scenario, 'add_event', { variable: course.name, time, action: 'override', value: before ? before.value : 0 });
}
async function newEvent() {
  const file = chosen.scenario ? {} : { file: { label: 'File', value: 'scenario.yaml' } };
  const answer = await asked('New event', { ...file, variable: { label: 'Variable', options: known.variables.map(one => one.name) },
    time: { label: 'Time [s]', value: '0' }, action: { label: 'Action', options: ACTIONS, value: 'override' }, value: { label: 'Value', value: '0' } }, 'Add');
  if (!answer) return;
  const name = answer.file || chosen.scenario, value = answer.action === 'reset' ? null : meant(answer.value);
  const done = await send(name, 'add_event', { variable: answer.variable, time: Number(answer.time), action: answer.action, value });
  if (done) { chosen.scenario = name; renew(); }
}
async function newSignal() {
  const file = chosen.inputs ? {} : { file: { label: 'File', value: 'inputs.csv' } };
  const answer = await asked('New signal', { ...file, signal: { label: 'Input', options: known.free.map(one => one.name) },
    value: { label: 'Value', value: '0' } }, 'Add');
  if (!answer) return;
  const name = answer.file || chosen.inputs, { unit } = known.free.find(one => one.name === answer.signal);
  const done = await send(name, 'add_signal', { signal: answer.signal, value: answer.value, unit: unit || null });
  if (done) { chosen.inputs = name; renew(); }
}
