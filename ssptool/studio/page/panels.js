// The panels at the bottom, one for each tab.

import { card } from './details.js';
import { diff, make } from './elements.js';

const tabs = document.querySelector('#drawer .tabs'), place = document.getElementById('panels');

/** A tab with its panel; the first one is open. */
export function panel(name, title) {
  const first = tabs.children.length === 0;
  const body = make('div', { role: 'tabpanel', id: `panel-${name}`, 'aria-labelledby': `tab-${name}`, tabindex: '0', hidden: !first });
  const tab = make('button', { type: 'button', role: 'tab', id: `tab-${name}`, 'aria-controls': body.id, 'aria-selected': String(first),
    onclick: () => { unfold(); open(name); } }, title);
  tabs.append(tab);
  place.append(body);
  return { body, tab };
}
/** A panel that is folded away comes back when it is asked for. */
function unfold() {
  const drawer = document.getElementById('drawer');
  if (drawer.classList.contains('folded')) document.getElementById('split-drawer').dispatchEvent(new MouseEvent('dblclick'));
}
export function open(name) {
  document.body.dataset.panel = name;
  for (const tab of tabs.children) tab.setAttribute('aria-selected', String(tab.id === `tab-${name}`));
  for (const body of place.children) body.hidden = body.id !== `panel-${name}`;
}
tabs.addEventListener('keydown', event => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key], all = [...tabs.children];
  if (!step) return;
  const next = all[(all.indexOf(document.activeElement) + step + all.length) % all.length];
  next.focus();
  next.click();
});

const found = panel('findings', 'Findings'), done = panel('changes', 'Changes');

export const panels = {
  findings: {
    show(findings, actions) {
      found.tab.textContent = findings.length ? `Findings (${findings.length})` : 'Findings';
      found.tab.className = findings.length ? findings[0].severity : '';
      found.body.replaceChildren(...findings.map(one => card(one, actions)));
      if (!findings.length) found.body.append(make('p', { class: 'quiet' }, 'Nothing is wrong with this system.'));
    },
  },
  changes: {
    /** The gestures, the last first, each with its diff; and all that saving would write. */
    show({ diff: whole, gestures }) {
      const now = gestures.filter(one => one.done);
      done.tab.textContent = now.length ? `Changes (${now.length})` : 'Changes';
      const entry = (one, k) => make('details', { open: k === 0 && one.done, class: one.done ? '' : 'undone' },
        make('summary', {}, one.label + (one.done ? '' : ' (undone)')), diff(one.diff));
      const all = whole ? [make('details', {}, make('summary', {}, 'All unsaved changes'), diff(whole))] : [];
      done.body.replaceChildren(...all, ...gestures.toReversed().map(entry));
      if (!gestures.length) done.body.append(make('p', { class: 'quiet' }, 'Nothing is changed yet. Each gesture appears here with its diff.'));
    },
  },
};
