// The panel of studies: files beside the system, their progress, and the table and chart of their results while they run.

import { ask, asked } from './edits.js';
import { button, make } from './elements.js';
import { open, panel } from './panels.js';
import { drawFigure } from './plots.js';
import { on } from './server.js';

const { body, tab } = panel('studies', 'Studies');
const choice = make('select', { id: 'study', 'aria-label': 'Study', onchange: () => choose(choice.value) });
const start = button('Start', () => begin(), 'Run the missing runs (uses the saved system)', { class: 'primary' });
const stop = button('Cancel', () => ask('cancel_study'), 'End the study; finished runs are kept, and it can be started again', { hidden: true });
const bar = make('progress', { max: 1, value: 0, 'aria-label': 'Progress of the study' }), count = make('span', { class: 'quiet', role: 'status' });
const problem = make('p', { class: 'finding error', hidden: true }), table = make('table'), plot = make('div', { id: 'study-plot', role: 'group', 'aria-label': 'Chart of the study' });
let studies = [], shown = '', seen = -1, pending = 0;

body.append(make('div', { class: 'bar' }, make('label', { for: 'study' }, 'Study'), choice, count, make('span', { class: 'grow' }), bar, stop, start),
  problem, make('div', { class: 'results' }, make('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Runs of the study' }, table), plot));

export function enableStudies() {
  tab.addEventListener('click', renew);
  on('opened', renew);
  on('study', event => {
    const place = studies.findIndex(one => one.file === event.file);
    if (place < 0) studies.push(event); else studies[place] = event;
    tell();
  });
}
async function renew() {
  studies = await ask('studies') || [];
  if (!studies.some(one => one.file === shown)) choose(studies.length ? studies[0].file : '');
  else tell();
}
function choose(file) {
  shown = file;
  seen = -1;
  tell();
}
/** Ask for the values of parameters, and make a study of them; it is shown, and can be started. */
export async function newStudy(names) {
  const { factors, results, designs, stop, file } = await ask('proposed_study', { names }) || {};
  if (!factors) return;
  const fields = Object.fromEntries(factors.map(({ name, unit, values }) => [`of ${name}`, { label: unit ? `${name} [${unit}]` : name, value: values }]));
  const answer = await asked('New study', { ...fields,
    design: { label: 'Design', options: designs, value: designs[0] },
    result: { label: 'Result', value: results[0] || '', proposals: async () => [...results, ...results.map(one => one.replace('max', 'final'))] },
    stop_time: { label: 'Stop time [s]', value: stop }, file: { label: 'Name', value: file } }, 'Create', 'Values of a parameter: 5, 10, 20, or from 5 to 20 in four points: 5 to 20 in 4');
  if (!answer) return;
  const { design, result, stop_time, file: name } = answer;
  const made = await ask('new_study', { factors: Object.fromEntries(names.map(one => [one, answer[`of ${one}`]])), design, result, stop_time: stop_time === stop ? '' : stop_time, file: name });
  if (!made) return;
  open('studies');
  shown = made.file;
  await renew();
  choose(made.file);
}
async function begin() {
  const answer = await ask('start_study', { file: shown });
  if (!answer) return;
  studies = studies.map(one => (one.file === answer.file ? answer : one));
  seen = -1;
  tell();
}
function tell() {
  const now = studies.find(one => one.file === shown), going = studies.find(one => one.going);
  choice.replaceChildren(...studies.map(one => make('option', { value: one.file, selected: one.file === shown }, one.file)));
  const done = now && now.runs !== undefined ? now.completed + now.failed : 0;
  start.hidden = Boolean(going);
  start.disabled = !now;
  start.textContent = done && done < now.runs ? 'Go on' : 'Start';
  stop.hidden = bar.hidden = !going;
  if (going && going.runs) bar.value = (going.completed + going.failed) / going.runs;
  else bar.removeAttribute('value');
  tab.textContent = going ? `Studies (${going.runs ? Math.round(100 * (going.completed + going.failed) / going.runs) : 0} %)` : 'Studies';
  count.textContent = !studies.length ? 'No studies of this system yet: tick parameters in the table Parameters, and press New study…'
    : now && now.runs !== undefined ? `${done} of ${now.runs} runs${now.failed ? `, ${now.failed} failed` : ''}` : 'no runs yet';
  problem.hidden = !now || !now.message;
  problem.textContent = now ? now.message : '';
  if (done !== seen) { seen = done; results(now, done); }
}
async function results(now, done) {
  const turn = ++pending;
  const [found, figure] = done ? await Promise.all([ask('study_table', { file: now.file }), ask('study_chart', { file: now.file })]) : [null, null];
  if (turn !== pending) return;
  table.replaceChildren(...(found ? [make('thead', {}, make('tr', {}, ...found.columns.map(one => make('th', { scope: 'col' }, one.unit ? `${one.name} [${one.unit}]` : one.name)))),
    make('tbody', {}, ...found.rows.map(row => make('tr', { class: row.at(-2) }, ...row.map(cell => make('td', {}, cell)))))] : []));
  await drawFigure(plot, figure);
}
