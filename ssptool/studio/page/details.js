// <ssp-details>: what is selected, with its findings, values and their origin, and its text in the file.

import { edit } from './edits.js';
import { button, dotted, make } from './elements.js';

const HINT = 'Select an element, a connector or a line to see what it is, where its values come from, and its XML.';

const PAUSE = 250;  // ms without a key, after which a text is checked

class Details extends HTMLElement {
  #typed = async () => true;
  #looks = '';  // what was shown last, as it was made

  connectedCallback() { this.clear(); }

  clear() { this.#looks = ''; this.ofSystem = false; this.replaceChildren(make('p', { class: 'quiet' }, HINT)); }

  /** A system: what its document states about it, for which nothing is drawn. */
  showSystem(about, { experiment = null, rewrite = null, typed = null } = {}) {
    this.show({ ...about, facts: [...about.facts, HINT] }, [], [], { experiment: about.experiment && experiment, rewrite, typed });
    this.ofSystem = true;
  }

  /** `about` is the answer of the server, `findings` those of this thing, `actions` are buttons; `rewrite` takes another XML. */
  show(about, findings, actions, { only = null, rewrite = null, typed = null, experiment = null } = {}) {
    const area = this.querySelector('textarea'), begun = apply => { this.#typed = apply; };
    const typing = ({ title, xml }) => area.dataset.of === JSON.stringify([title, xml]) && area.value !== xml;
    this.ofSystem = false;
    if (area && [about, ...about.parts || []].some(typing)) return;  // somebody types
    const values = only && about.pins ? about.values.filter(one => only.includes(one.name)) : about.values;
    const made = [
      make('h2', {}, only && about.pins ? `${about.title}.${only.join(', ')}` : about.title),
      about.where ? make('p', { class: 'place' }, about.where) : null,
      ...(about.facts || []).map(text => make('p', {}, text)),
      actions.length ? make('div', { class: 'actions' }, ...actions) : null,
      ...findings,
      section('Values and their origin', values.map(({ text }) => folded(text, Boolean(only) || values.length < 3))),
      section('Connectors', (only ? [] : about.pins || []).map(text => make('p', {}, text))),
      experiment ? times(about.experiment, experiment) : '',
      about.xml ? source(about, rewrite, typed, begun) : '',
      ...(about.parts || []).map(part => make('section', {}, make('h3', {}, part.heading), make('p', { class: 'place' }, part.where),
        part.xml ? source(part, rewrite, typed, begun) : '')),
    ].filter(Boolean);
    const looks = made.map(node => node.outerHTML).join('');
    if (looks === this.#looks) return;  // a button that is pressed just now stays, and so does what somebody has folded
    this.#looks = looks;
    this.#typed = async () => true;
    this.#replace(made);
  }
  /** Show other contents; the keyboard goes on at a button of the same name. */
  #replace(made) {
    const focused = this.contains(document.activeElement) ? document.activeElement.textContent : null;
    this.replaceChildren(...made);
    const again = focused && [...this.querySelectorAll('button, summary')].find(one => one.textContent === focused);
    if (again) again.focus({ preventScroll: true });
  }

  /** Apply the XML that is being edited; whether that was possible. */
  apply() { return this.#typed(); }
}

/**
 * The XML of a thing, which can be edited in place; what would be wrong with it is told while somebody types.
 * `begun` is given what applies the text.
 */
function source(about, rewrite, typed, begun) {
  const words = about.heading ? `Edit ${about.heading.toLowerCase()}` : 'Edit XML';
  const label = `XML of ${about.title}`, text = make('pre', { tabindex: '0', 'aria-label': label }, about.xml);
  const told = make('div', { class: 'typed', role: 'status' });
  const change = rewrite ? button(words, () => {
    const area = make('textarea', { 'aria-label': label, spellcheck: 'false', rows: Math.min(18, about.xml.split('\n').length + 2),
      'data-of': JSON.stringify([about.title, about.xml]), oninput: () => check(area) });
    area.value = about.xml;
    const apply = async () => {
      if (area.value === about.xml) { cancel(); return true; }
      const before = area.dataset.of;
      area.dataset.of = '';  // the new text may be shown
      const done = await rewrite(about, area.value);
      if (!done) area.dataset.of = before;
      return done;
    };
    begun(apply);
    const actions = make('div', { class: 'actions' },
      button('Apply', apply, 'Replace the text in the file', { class: 'primary' }),
      button('Cancel', cancel));
    function cancel() { area.replaceWith(text); actions.replaceWith(change); told.replaceChildren(); }
    text.replaceWith(area);
    change.replaceWith(actions);
    area.focus();
  }) : '';
  let waiting = 0, turn = 0;
  function check(area) {
    clearTimeout(waiting);
    const now = ++turn;
    waiting = setTimeout(async () => {
      const news = await typed(about, area.value);
      if (now === turn && area.isConnected && news) told.replaceChildren(...news);
    }, PAUSE);
  }
  return make('details', { class: 'xml', open: true }, make('summary', {}, 'XML'), text, change, told);
}

/** Fields for the times of the experiment; an empty one states no time. */
function times([start, stop], change) {
  const field = (label, name, value) => make('label', {}, `${label} [s] `, make('input', { type: 'text', value, size: 8,
    'aria-label': `${label} of the experiment [s]`, onchange: event => change(name, event.target.value.trim()) }));
  return make('section', {}, make('h3', {}, 'Experiment'), make('div', { class: 'actions' }, field('Start', 'start', start), field('Stop', 'stop', stop)));
}

function section(title, items) {
  return items.length ? make('section', {}, make('h3', {}, title), ...items) : '';
}

/** The text of `ssptool explain`: its first line says the value, the others how it comes about. */
function folded(text, open) {
  const [first, ...rest] = text.split('\n');
  return make('details', { open }, make('summary', {}, first), make('pre', {}, rest.join('\n').replace(/^  /gm, '')));
}

/** A finding as a card, with its fixes. `go` shows its place, `fix` applies one of them. */
export function card(finding, { go = null, fix = null } = {}) {
  const remedies = fix ? finding.fixes.map(one =>
    button(one.title + (one.safe ? '' : ' (a guess)'), () => fix(finding, one), 'Apply this fix', { class: 'fix' })) : [];
  const actions = fix ? finding.actions.map(one => button(one.title, () => edit(...one.edits), 'Make this edit', { class: 'fix' })) : [];
  const place = go && finding.place
    ? button(placeText(finding), () => go(finding), 'Show it in the diagram', { class: 'link' })
    : make('span', { class: 'place' }, finding.where);
  return make('article', { class: `finding ${finding.severity}` },
    make('p', {}, make('strong', {}, finding.severity), ' ', make('code', {}, finding.code), ' ', place),
    make('p', {}, finding.message), finding.advice ? make('p', { class: 'quiet' }, finding.advice) : null, ...remedies, ...actions);
}
function placeText({ place, where }) {
  return `${place.connection || dotted(place.element)} · ${where}`;
}

customElements.define('ssp-details', Details);
