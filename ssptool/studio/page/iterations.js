// Iterations and residuals of a run: over time, and each iterate at the time of the slider.

import { ask } from './edits.js';
import { make } from './elements.js';
import { drawFigure } from './plots.js';

const COLUMNS = { solved: 'Solved', time: 'Time [s]', iteration: 'Iteration', residual: 'Residual', signals: 'Signals with the largest residuals' };
const plot = make('div', { id: 'iterations-plot', role: 'group', 'aria-label': 'Iterations and residuals over time' });
const rows = make('tbody'), none = make('p', { class: 'quiet' }, 'Nothing was iterated in this run.');
export const iterations = make('details', { hidden: true, class: 'iterations', ontoggle: () => draw() }, make('summary', {}, 'Iterations and residuals'), none, plot,
  make('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Iterates at the time of the slider' },
    make('table', {}, make('thead', {}, make('tr', {}, ...Object.values(COLUMNS).map(head => make('th', { scope: 'col' }, head)))), rows)));
let run = null, time = 0, drawn = null, turn = 0;

/** Show those of a run, or none; `at` is the time of the slider. */
export function showIterations(number, at) {
  iterations.hidden = number === null;
  run = number;
  time = at;
  draw();
}
async function draw() {
  if (!iterations.open || run === null) return;
  const now = ++turn, fresh = drawn !== run;
  const [figure, iterates] = await Promise.all([fresh ? ask('iterations', { run }) : null, ask('iterates', { run, time })]);
  if (now !== turn) return;
  if (fresh) {
    drawn = run;
    none.hidden = Boolean(figure);
    await drawFigure(plot, figure);
  }
  rows.replaceChildren(...(iterates || []).map(one => make('tr', {}, ...Object.keys(COLUMNS).map(key => make('td', {}, String(one[key]))))));
}
