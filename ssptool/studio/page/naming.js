// Connecting by typing the names of two connectors.

import { ask, asked, edit } from './edits.js';
import { dotted } from './elements.js';

/** Ask for two names, with proposals: for the second one those that the first can be connected to. */
export async function connectByNames(diagram) {
  const { path, system } = diagram.sheet, known = await ask('connectors', { sheet: path });
  if (!known) return;
  const named = new Map(known.map(one => [dotted(one.slice(system.length)), one]));
  const targets = async ({ a }) => {
    const from = named.get(a.trim()), found = from && await ask('targets', { owner: from.slice(0, -1), names: [from.at(-1)] });
    return found ? found.map(one => dotted([...one.owner, one.name].slice(system.length))) : [...named.keys()];
  };
  const selected = diagram.selected && diagram.selected.kind === 'connector' ? diagram.selected : null;
  const start = selected ? dotted([...(selected.key === null ? [] : diagram.sheet.blocks[selected.key].path.slice(system.length)), selected.names[0]]) : '';
  const answer = await asked('Connect by names', { a: { label: 'From', value: start, proposals: () => [...named.keys()] }, b: { label: 'To', proposals: targets } }, 'Connect');
  const full = text => named.get(text.trim()) || dotted([...system, text.trim()]);
  if (answer && answer.a.trim() && answer.b.trim()) edit({ verb: 'connect', a: full(answer.a), b: full(answer.b) });
}
