// The page: which system is shown and what is selected. All else is in the parts that it wires up.

import { enableAutosave } from './autosave.js';
import './diagram.js';
import './outline.js';
import './details.js';
import { card } from './details.js';
import { addFiles, ask, asked, complain, dropped, edit, lasting, quiet } from './edits.js';
import { button, dotted, make, same } from './elements.js';
import { gestures } from './gestures.js';
import { showLegend, showShortcuts } from './help.js';
import { commandOf } from './keys.js';
import { enableSplitters } from './layout.js';
import { showMenu } from './menu.js';
import { KIND } from './palette.js';
import { enableMinimap } from './minimap.js';
import { insert } from './moving.js';
import { panels } from './panels.js';
import { enableRuns, restoreRuns, runState } from './run.js';
import { call, changed, on } from './server.js';
import { inDocument } from './snapping.js';
import { enableStimuli } from './stimuli.js';
import { enableStudies, newStudy } from './studies.js';
import { connectTable, parameterTable } from './tables.js';
import { enableThemes } from './theme.js';
import { enableEditing } from './wiring.js';

const get = id => document.getElementById(id);
const diagram = document.querySelector('ssp-diagram'), outline = document.querySelector('ssp-outline');
const details = document.querySelector('ssp-details'), palette = document.querySelector('ssp-palette');
let model = null, findings = [], shown = [], drawing = null;
const editable = () => model !== null && !model.readOnly;

// -- what is shown

async function renew(news) {
  const names = news.systems.map(system => dotted(system.path));
  const saved = model && model.version === news.version;  // the system is as it was
  if (!saved) diagram.values = new Map();  // they were those of another system
  model = news;
  while (!names.includes(dotted(shown))) shown = shown.slice(0, -1);
  get('title').textContent = model.name;
  document.title = `${model.unsaved ? '• ' : ''}${model.name} – ssptool studio`;
  get('state').textContent = [model.file, model.readOnly ? 'read only' : model.unsaved ? 'not saved' : 'saved'].join(' · ');
  get('state').title = model.readOnly || '';
  tools();
  if (saved) { await Promise.all([changes(), inputs.renew()]); return; }
  outline.show(model.systems, shown);
  await Promise.all([draw(), check(), changes(), parameters.renew(), connections.renew(), inputs.renew(),
    palette.renew(editable())]);
}
function draw() {
  drawing = drawn();
  return drawing;
}
/** Once the picture is that of the present system, and its connections are known. */
async function settled() {
  for (let last = null; last !== drawing;) await (last = drawing);
}
async function drawn() {
  const sheet = await ask('sheet', { path: shown, afar: diagram.afar(shown) });
  if (!sheet) return;
  trail();
  diagram.show({ ...sheet, connections: {} });
  minimap.renew();
  diagram.toggleAttribute('empty', Object.keys(sheet.blocks).length === 0);
  const version = model.version, known = await ask('connections', { path: sheet.path });
  if (!known || version !== model.version || !same(sheet.path, shown)) return;  // there is a newer picture
  diagram.know(known);
  await describe(diagram.selected);
}
/** Which buttons can be used, and what they would do. */
function tools() {
  get('undo').disabled = !model.undo;
  get('redo').disabled = !model.redo;
  get('save').disabled = !model.unsaved || Boolean(model.conflict);
  get('undo').title = model.undo ? `Undo: ${model.undo} (Ctrl-Z)` : 'Undo (Ctrl-Z)';
  get('redo').title = model.redo ? `Redo: ${model.redo} (Ctrl-Shift-Z)` : 'Redo (Ctrl-Shift-Z)';
  get('edit').hidden = get('autosave').parentElement.hidden = !editable();
  diagram.resizable = editable();
  lasting('conflict', model.conflict, button('Take the files on disk', () => ask('reload'), 'Without your unsaved edits'),
    button('Save mine as…', saveAs, 'Write what is shown here under another name, and continue with it', { class: 'primary' }));
  if (!model.unsaved || model.conflict) lasting('save', '');
  kept(model.kept);
  autosave(model);
}
/** Offer the unsaved edits of a server that has ended. */
function kept(edits) {
  if (!edits || !editable()) { lasting('kept', ''); return; }
  const { file, time, names, problem } = edits;
  const discard = button('Discard them…', async () => {
    if (await asked(`Discard the unsaved edits in ${file}?`, {}, 'Discard')) ask('discard_unsaved', { file });
  }, 'Delete this file');
  if (problem) lasting('kept', `Unsaved edits in ${file} cannot be read: ${problem}`, discard);
  else {
    lasting('kept', `Unsaved edits of ${time} are kept in ${file}: ${names.join(', ')}.`, discard,
      button('Open them', () => ask('open_unsaved', { file }), 'Make these edits again; nothing is saved yet', { class: 'primary' }));
  }
}
/** Save, with what is typed in the field that has the focus; what prevents it is said for as long as it is so. */
async function save() {
  const field = document.activeElement;
  if (field && field.matches('ssp-details textarea')) {
    if (!await details.apply()) return;
  } else if (field && field.matches('input, select')) {
    field.blur();  // takes what was typed
    if (field.isConnected) field.focus();
  }
  await store();
}
/** Save the gestures so far. */
async function store() {
  await changed();
  if (!model.unsaved || model.conflict) return;
  try {
    await call('save');
    lasting('save', '');
  } catch (problem) {
    if (!model.conflict) lasting('save', `Not saved: ${problem.message}`, button('Save again', save), button('Save as…', saveAs));
  }
}
async function saveAs() {
  const [, stem, ending] = model.file.match(/^(.*?)(\.ss[pd])?$/i);
  const answer = await asked('Save under another name', { name: { label: 'Name', value: `${stem}-mine${ending || ''}` } }, 'Save');
  if (answer && await ask('save_as', answer)) quiet();
}
async function saveCopy() {
  const [, stem, ending] = model.file.match(/^(.*?)(\.ss[pd])?$/i);
  const answer = await asked('Save a copy', { name: { label: 'Name', value: `${stem}-copy${ending || ''}` } }, 'Save');
  const done = answer && answer.name && await ask('save_copy', answer);
  if (done) { quiet(); get('hint').textContent = `saved a copy in ${done.saved}`; setTimeout(() => { get('hint').textContent = ''; }, 4000); }
}
async function changes() {
  const news = await ask('changes');
  if (news) panels.changes.show(news);
}
async function check() {
  const version = model.version, news = await ask('findings');
  if (!news || news.version < version) return;
  findings = news.findings;
  diagram.setFindings(findings, news.loops);
  panels.findings.show(findings, { go, fix: editable() ? fix : null });
}
function trail() {
  const parts = [[], ...shown.map((_, depth) => shown.slice(0, depth + 1))];
  const names = parts.map(path => (path.length ? path[path.length - 1] : model.name));
  get('trail').replaceChildren(...parts.flatMap((path, k) => [
    k ? ' › ' : '',
    k === parts.length - 1 ? make('span', { 'aria-current': 'page' }, names[k]) : button(names[k], () => open(path), '', { class: 'link' }),
  ]));
}
async function open(path, key = null) {
  if (!same(path, shown)) diagram.selected = null;
  shown = path;
  outline.show(model.systems, shown);
  await draw();
  if (key !== null) {
    diagram.reveal(key);
    diagram.select({ kind: 'element', key });
  }
}
/** Show an element wherever it is. */
async function show(path) {
  const sheet = model.systems.find(one => one.elements.some(element => same(element.path, path)));
  if (sheet) await open(sheet.path, path.join('/'));
}

// -- what is selected

async function describe(thing) {
  if (thing && thing.kind === 'elements') { several(thing); return; }
  const known = thing && thing.key != null ? diagram.sheet.blocks[thing.key] : null;
  if (!thing || (thing.key != null && !known) || (thing.kind === 'connector' && !known)) { outline.select(null); await aboutSystem(thing); return; }
  const connection = thing.kind === 'connection' ? thing.texts[0] : null;
  outline.select(known ? known.path : null);
  const version = model.version;
  const about = await (connection === null ? call('about', { element: known.path }) : call('connection', { sheet: shown, text: connection }))
    .catch(problem => { if (diagram.selected === thing && version === model.version) complain(problem); });
  if (!about || diagram.selected !== thing) return;
  const own = findings.filter(({ place }) => place && (connection === null
    ? same(place.element, known.path) : place.connection === connection && same(place.sheet, shown)));
  details.show(about, own.map(one => card(one, { fix: editable() ? fix : null })),
    await act.buttons(thing, known), {
      only: thing.kind === 'connector' ? thing.names : null, rewrite: editable() ? rewrite : null, typed });
}
/** The system itself, while nothing in it is selected. */
async function aboutSystem(thing) {
  if (!details.ofSystem) details.clear();
  const version = model.version, sheet = shown;
  const about = await call('system', { sheet }).catch(() => null);  // the findings say why a document cannot be read
  if (version !== model.version || sheet !== shown || diagram.selected !== thing) return;
  if (!about) { details.clear(); return; }
  const experiment = (name, time) => edit(time ? { verb: 'set_experiment', [name]: time } : { verb: 'unset_experiment', [name]: true });
  details.showSystem(about, { experiment: editable() ? experiment : null, rewrite: editable() ? rewrite : null, typed });
}
/** Several elements: what can be done with all of them. */
async function several(thing) {
  const keys = thing.keys.filter(key => diagram.sheet.blocks[key]);
  const names = keys.map(key => dotted(diagram.sheet.blocks[key].path)), count = keys.length === 1 ? '1 element' : `${keys.length} elements`;
  outline.select(null);
  details.show({ title: count, facts: [names.join(', ')], values: [] }, [], await act.buttons(thing));
}
async function rewrite({ file, line, xml }, text) {
  const done = await ask('rewrite', { file, line, before: xml, after: text });
  if (done) quiet();
  return Boolean(done);
}
/** What another XML would change in the findings: new ones as cards, and how many would be gone. */
async function typed({ file, line, xml }, text) {
  const news = await ask('typed', { file, line, before: xml, after: text });
  if (!news) return null;
  if (news.broken.length) return [make('p', { class: 'quiet' }, 'This is not XML yet:'), ...news.broken.map(one => card(one))];
  const now = new Set(findings.map(one => one.key)), then = new Set(news.findings.map(one => one.key));
  const gone = [...now].filter(key => !then.has(key)).length, more = news.findings.filter(one => !now.has(one.key));
  const summary = more.length || gone ? [gone ? `${gone} of the findings would be gone` : '', more.length ? `${more.length} new` : ''].filter(Boolean).join(', ') : 'No new findings';
  return [make('p', { class: 'quiet' }, summary), ...more.map(one => card(one))];
}
async function go(finding) {
  if (finding.place.element) await show(finding.place.element);
  else {
    await open(finding.place.sheet);
    diagram.select({ kind: 'connection', texts: [finding.place.connection] });
  }
}
async function fix(finding, { title }) { await ask('fix', { key: finding.key, title }); }

diagram.addEventListener('select', event => describe(event.detail));
diagram.addEventListener('near', () => draw());
diagram.addEventListener('open', event => open(event.detail));
outline.addEventListener('open', event => open(event.detail));
outline.addEventListener('select', event => show(event.detail));

// -- editing

enableSplitters();
enableThemes(get('theme'));
const autosave = enableAutosave(get('autosave'), store);
const minimap = enableMinimap(diagram);
enableEditing(diagram, editable);
const parameters = parameterTable(editable, one => details.show({ title: one.name, values: [{ name: one.name, text: one.text }] }, [], [], { only: [one.name] }), newStudy);
const connections = connectTable(editable, () => shown);

const inputs = enableStimuli(editable);
enableStudies();
enableRuns({
  labels: values => { diagram.values = values; diagram.label(); },
  failure: failure => { diagram.failure = failure ? failure.component : ''; diagram.mark(); },
});

const act = gestures(diagram, { editable, about: () => model, settled, openSystem: open, addFiles: () => get('files').click(), saveCopy });

get('add').onclick = () => get('files').click();
get('files').onchange = async event => {
  added(await addFiles(event.target.files, diagram.sheet.path));
  event.target.value = '';
};
get('add-system').onclick = act.newSystem;
get('add-connector').onclick = act.newConnector;
async function added(answer) { if (answer) await act.choose(answer.added); }
diagram.addEventListener('dragover', event => { if (editable()) event.preventDefault(); });
diagram.addEventListener('drop', async event => {
  event.preventDefault();
  if (!editable()) return;
  const point = diagram.point(event), at = inDocument([point.x, point.y], diagram.sheet.origin);
  const file = event.dataTransfer.getData(KIND), line = diagram.thing(event);
  const answer = (file ? await ask('add', { files: [file], sheet: diagram.sheet.path, at }) : await addFiles(await dropped(event.dataTransfer), diagram.sheet.path, at));
  await added(answer);
  if (answer && answer.added.length === 1 && line && line.kind === 'connection' && line.texts.length === 1 && diagram.sheet.blocks[answer.added[0].join('/')]?.inserts) {
    await insert(diagram.sheet.path, answer.added[0], line.texts[0], { x: event.clientX, y: event.clientY });
  }
});
palette.addEventListener('add', async event => added(await ask('add', { files: [event.detail], sheet: diagram.sheet.path, at: diagram.middle() })));
diagram.addEventListener('menu', async ({ detail: { thing, x, y, at } }) => {
  showMenu(await act.entries(thing, at), { x, y }, thing ? 'What can be done with it' : 'Diagram');
});
diagram.addEventListener('rename', event => { if (editable()) act.renameHere(event.detail); });

// -- finding elements

async function search() {
  const list = get('found'), words = get('find').value;
  const found = words.trim() ? await ask('find', { words }) : [];
  list.hidden = !words.trim();
  list.replaceChildren(...(found || []).map(one => make('li', {},
    button(dotted(one.path), () => { list.hidden = true; show(one.path); }, one.source))));
  if (!list.hidden && !list.children.length) list.append(make('li', { class: 'quiet' }, 'nothing found'));
}
get('find').addEventListener('input', search);
get('find').addEventListener('keydown', event => {
  const first = get('found').querySelector('button');
  if (event.key === 'Enter' && first) first.click();
  if (event.key === 'ArrowDown' && first) { first.focus(); event.preventDefault(); }
  if (event.key === 'Escape') { get('found').hidden = true; get('find').blur(); }
});

// -- keys and buttons of the diagram

get('zoom-in').onclick = () => diagram.zoom(.8);
get('zoom-out').onclick = () => diagram.zoom(1.25);
get('fit').onclick = () => diagram.fit();
get('units').onchange = event => { diagram.units = event.target.checked; diagram.label(); };
for (const id of ['undo', 'redo']) get(id).onclick = () => ask(id);
get('save').onclick = save;
get('help').onclick = showShortcuts;
get('legend').onclick = showLegend;
get('snap').onchange = event => { diagram.snaps = event.target.checked; };
const commands = { save: () => editable() && save(), find: () => get('find').focus(), fit: () => diagram.fit(), near: () => diagram.closer(),
  larger: () => diagram.zoom(.8), smaller: () => diagram.zoom(1.25), none: () => diagram.select(null), help: showShortcuts,
  undo: () => editable() && get('undo').click(), redo: () => editable() && get('redo').click() };
addEventListener('keydown', event => {
  const command = commandOf(event);
  if (!command || event.defaultPrevented || document.querySelector('dialog[open]')) return;
  if (command !== 'save' && event.target.matches('input, textarea, select')) return;  // fields undo and copy what is typed
  if (command === 'copy' || command === 'paste') return;  // the browser's events of the clipboard follow
  if (command === 'all' && event.target !== document.body && !diagram.contains(event.target)) return;
  event.preventDefault();
  if (commands[command]) commands[command]();
  else act.run(command);
});
addEventListener('beforeunload', event => { if (model && model.unsaved && !document.body.classList.contains('away')) event.preventDefault(); });

on('model', renew);
on('disk', event => complain(event.text));
on('closed', ({ refused }) => {
  away(true);
  lasting('closed', refused
    ? 'The server has been started again. Open the address that it shows in the terminal: then this page connects, too.'
    : 'The server has ended. This page connects again when it is back; unsaved edits are kept in a file and offered then.');
  if (refused) channel.postMessage({ path: model.path });
});
/** A server that is started again has other addresses: pages that know the new one tell the others of the same system. */
const channel = new BroadcastChannel('ssptool studio');
channel.onmessage = ({ data: { path, page } }) => {
  if (!model || path !== model.path) return;
  const gone = document.body.classList.contains('away');
  if (page && gone) history.replaceState(null, '', page);
  else if (!page && !gone) channel.postMessage({ path, page: location.pathname });
};
on('opened', async () => {
  const news = await call('model');
  model = null;  // a server counts its versions from the start
  await renew(news);
  lasting('closed', '');
  away(false);
});
/** Grey out the page, and take no input, as long as there is no server. */
function away(now) {
  document.body.classList.toggle('away', now);
  for (const part of document.body.children) if (part.id !== 'banner') part.inert = now;
}

// -- after a reload everything is as it was

const VIEW = 'ssptool studio view';
addEventListener('pagehide', () => {
  if (!model || !drawing) return;
  diagram.rest();
  sessionStorage.setItem(VIEW, JSON.stringify({ path: model.path, shown, selected: plain(diagram.selected), view: diagram.view, panel: document.body.dataset.panel || '',
    units: diagram.units, snaps: diagram.snaps, runs: runState() }));
});
/** A selection without nodes of the picture. */
const plain = thing => thing && { kind: thing.kind, key: thing.key, keys: thing.keys, names: thing.names, texts: thing.texts };
async function restore() {
  const before = JSON.parse(sessionStorage.getItem(VIEW) || 'null'), news = await call('model');
  const same = before && before.path === news.path;
  if (same) {
    shown = before.shown;
    get('units').checked = diagram.units = before.units;
    get('snap').checked = diagram.snaps = before.snaps;
  }
  await renew(news);
  if (!same) return;
  if (dotted(before.shown) === dotted(shown)) {
    diagram.look(...before.view);
    if (before.selected) diagram.select(before.selected);
  }
  if (before.panel) document.getElementById(`tab-${before.panel}`).click();
  await restoreRuns(before.runs);
}
restore();
