// Gestures on what is selected: thin calls of edit verbs, offered by keys, menus and buttons alike.

import { ask, asked, complain, edit, quiet, replaceFmu } from './edits.js';
import { button, dotted, make } from './elements.js';
import { keyText } from './keys.js';
import { connectByNames } from './naming.js';
import { newNote, noteEntries } from './notes.js';
import { alignButtons } from './picking.js';
import { savePicture } from './picture.js';
import { inDocument } from './snapping.js';
import { connectButtons, ownerOf } from './wiring.js';

const COPIED = 'application/x-ssptool-elements';  // in the clipboard

/** The gestures on a diagram. `editable`: whether it may be changed; `about`: the model; `settled`: once the picture is the present one. */
export function gestures(diagram, { editable, about, settled, openSystem, addFiles, saveCopy }) {
  let copied = null;
  const block = key => diagram.sheet.blocks[key];
  const isGroup = ({ key }) => key != null && block(key).group;
  /** The paths of the elements that are selected, without groups, which only the drawing knows. */
  const paths = () => diagram.keys.filter(key => block(key) && !block(key).group).map(key => block(key).path);
  const isSystem = path => Boolean(path) && path.length > 0 && block(path.join('/')).opens && !block(path.join('/')).source;

  /** Select elements by their paths, and bring them into view. */
  async function choose(added) {
    await settled();
    const keys = added.map(path => path.join('/')).filter(key => block(key));
    if (!keys.length) return;
    diagram.select(keys.length === 1 ? { kind: 'element', key: keys[0] } : { kind: 'elements', keys });
    diagram.reveal(keys[0]);
  }
  async function change(...edits) {
    const answer = await edit(...edits);
    if (answer && answer.added.length) await choose(answer.added);
    return answer;
  }

  const act = {
    duplicate: () => paths().length && change(...paths().map(name => ({ verb: 'duplicate', name }))),
    copy: () => document.execCommand('copy'),
    paste: () => copied && change(...copied.map(name => ({ verb: 'duplicate', name, into: diagram.sheet.system }))),
    all: () => {
      const keys = Object.keys(diagram.sheet.blocks).filter(key => !block(key).group);
      diagram.select(keys.length ? { kind: 'elements', keys } : null);
    },
    wrap: async () => {
      const elements = paths(), answer = elements.length && await asked('Put into a new system', { name: { label: 'Name', value: 'System' } }, 'Make it');
      if (answer && answer.name) change({ verb: 'wrap', elements, name: answer.name });
    },
    unwrap: async () => { for (const system of paths().filter(isSystem)) await change({ verb: 'unwrap', system }); },
    out: () => change({ verb: 'move', elements: paths(), into: diagram.sheet.system.slice(0, -1) }),
    rename: () => { if (diagram.selected && diagram.selected.kind === 'element' && !isGroup(diagram.selected)) renameHere(diagram.selected.key); },
    connect: () => connectByNames(diagram),
    arrange: async () => {
      const before = diagram.frames();
      if (!await ask('arrange', { sheet: diagram.sheet.path })) return;
      quiet();
      await settled();
      diagram.fit();
      diagram.glideFrom(before);
    },
    remove,
  };
  // Copies go through the clipboard, so that other windows can paste them; those of this system share its files.
  document.addEventListener('copy', event => {
    if (event.target.matches?.('input, textarea') || String(getSelection()) || !paths().length || document.querySelector('dialog[open]')) return;
    event.preventDefault();
    copied = paths();
    const { path, copies } = about(), name = `${crypto.randomUUID()}.ssp`;
    event.clipboardData.setData(COPIED, JSON.stringify({ system: path, file: `${copies}/${name}`, elements: copied }));
    event.clipboardData.setData('text/plain', copied.map(dotted).join('\n'));
    ask('copy', { elements: copied, name });
  });
  document.addEventListener('paste', async event => {
    if (event.target.matches?.('input, textarea') || !editable() || document.querySelector('dialog[open]')) return;
    const found = JSON.parse(event.clipboardData.getData(COPIED) || 'null');
    if (!found) return;
    event.preventDefault();
    if (found.system === about().path) { copied = found.elements; act.paste(); return; }
    const answer = await ask('paste', { file: found.file, sheet: diagram.sheet.path });
    if (answer) { quiet(); await choose(answer.added); }
  });
  const run = name => { if (editable() || name === 'copy' || name === 'all') return act[name](); };

  /** Rename an element where its name is written. */
  function renameHere(key) {
    const { path } = block(key), frame = diagram.blockOf(key).querySelector('.frame').getBoundingClientRect();
    const field = make('input', { type: 'text', class: 'here', value: path.at(-1), 'aria-label': 'New name', autocomplete: 'off', spellcheck: 'false',
      style: `left:${Math.max(0, frame.x)}px;top:${frame.y + frame.height / 2 - 15}px;width:${Math.max(frame.width, 140)}px` });
    let ended = false;
    const end = async take => {
      if (ended) return;
      ended = true;  // taking the field away makes it lose the focus
      const name = field.value.trim();
      field.remove();
      if (!take || !name || name === path.at(-1)) {
        diagram.blockOf(key)?.focus({ preventScroll: true });
        return;
      }
      if (!await edit({ verb: 'rename', old: path, new: name })) return;
      await settled();
      diagram.select({ kind: 'element', key: [...path.slice(0, -1), name].join('/') });
    };
    field.addEventListener('keydown', event => {
      event.stopPropagation();
      if (event.key === 'Enter' || event.key === 'Escape') { event.preventDefault(); end(event.key === 'Enter'); }
    });
    field.addEventListener('blur', () => end(true));
    document.querySelector('main').append(field);
    field.select();
  }
  async function remove() {
    const thing = diagram.selected, known = thing && thing.key != null && block(thing.key);
    if (!thing || thing.kind === 'connector' || isGroup(thing)) return;
    const cut = text => ({ verb: 'disconnect', a: diagram.sheet.connections[text].ends[0], b: diagram.sheet.connections[text].ends[1] });
    const names = thing.kind === 'elements' ? paths() : [];
    diagram.select(null);
    await settled();
    if (thing.kind === 'elements') { await edit({ verb: 'remove', names }); return; }
    const edits = known ? [{ verb: 'remove', names: [known.path] }] : thing.texts.filter(text => diagram.sheet.connections[text]).map(cut);
    if (edits.length) await edit(...edits);
    else complain(`this line stands for ${thing.texts.length} connections: open the group to remove them one by one`);
  }
  async function newSystem() {
    const answer = await asked('New system', { name: { label: 'Name' } }, 'Make it');
    if (answer && answer.name) change({ verb: 'add_system', name: answer.name, into: diagram.sheet.system });
  }
  async function newConnector() {
    const of = diagram.sheet.system;
    const answer = await asked(`New connector of ${of.length ? dotted(of) : diagram.sheet.name}`, { name: { label: 'Name' },
      kind: { label: 'Kind', value: 'input', options: ['input', 'output', 'parameter'] }, type: { label: 'Type', value: 'Real' },
      unit: { label: 'Unit' } }, 'Make it');
    if (answer && answer.name) edit({ verb: 'add_connector', ...answer, unit: answer.unit || null, of });
  }

  // -- what is offered

  const entry = (title, name) => ({ title, key: keyText(name), run: () => run(name) });
  const looking = (title, name) => ({ title, key: keyText(name), run: () => (name === 'near' ? diagram.closer() : diagram.fit()) });
  /** The entries of the menu of a thing: null for the ground. */
  async function entries(thing, at) {
    if (thing && thing.kind === 'note') return editable() ? noteEntries(diagram, thing) : [];
    if (!thing) {
      return [...(editable() ? [{ title: 'Add files…', run: addFiles }, { title: 'New system…', run: newSystem }, { title: 'New connector…', run: newConnector },
        entry('Connect by names…', 'connect'), { title: 'New note…', run: () => newNote(diagram, inDocument([at.x, at.y], diagram.sheet.origin)) },
        ...(copied ? [entry('Paste', 'paste')] : []), null] : []), entry('Select all', 'all'), looking('Show all', 'fit'), ...(editable() ? [entry('Arrange automatically', 'arrange')] : []), null,
        { title: 'Save the picture (SVG)', run: () => savePicture(diagram.sheet, 'svg') }, { title: 'Save the picture (PNG)', run: () => savePicture(diagram.sheet, 'png') },
        { title: 'Save a copy…', run: saveCopy }];
    }
    if (thing.kind === 'connection') return editable() && diagram.sheet.connections[thing.texts[0]] ? [entry('Disconnect', 'remove')] : [];
    if (thing.kind === 'connector') {
      if (!editable() || isGroup(thing)) return [];
      const buttons = await connectButtons(ownerOf(diagram, thing), thing.names);
      return buttons.length ? buttons.map(one => ({ title: one.textContent, run: () => one.click() })) : [{ title: 'Nothing can be connected to it', run() {} }];
    }
    const chosen = paths(), first = thing.kind === 'element' ? block(thing.key) : null;
    const opens = first && first.opens ? [{ title: 'Open', key: 'Enter', run: () => openSystem(first.path) }] : [];
    const near = looking('Zoom to it', 'near');
    if (!editable() || !chosen.length) return [...opens, near, ...(chosen.length ? [entry('Copy', 'copy')] : [])];
    return [...opens, near, null, ...(first ? [entry('Rename', 'rename')] : []), entry('Copy', 'copy'), entry('Duplicate', 'duplicate'), null,
      entry('Put into a new system…', 'wrap'), ...(first && isSystem(first.path) ? [entry('Dissolve this system', 'unwrap')] : []),
      ...(diagram.sheet.system.length ? [{ title: `Move out of ${diagram.sheet.name}`, run: () => run('out') }] : []),
      ...(first && /\.fmu$/i.test(first.source) ? [{ title: 'Replace the FMU…', run: () => replaceFmu(first.path) }] : []),
      null, entry('Remove', 'remove')];
  }
  /** Buttons of what can be done with a thing that is selected. */
  async function buttons(thing, known) {
    if (!editable() || (thing.key != null && !block(thing.key))) return [];
    const of = (text, name, title) => button(text, () => run(name), `${title} (${keyText(name)})`);
    if (thing.kind === 'elements') {
      return [...alignButtons(diagram), of('Put into a system…', 'wrap', 'Make a new system of them'), of('Duplicate', 'duplicate', 'With their values'),
        of('Remove', 'remove', 'With their connections')];
    }
    if (thing.kind === 'connection') return diagram.sheet.connections[thing.texts[0]] ? [of('Disconnect', 'remove', 'Remove this connection')] : [];
    if (isGroup(thing)) return [];
    const path = ownerOf(diagram, thing);
    if (thing.kind === 'connector') return connectButtons(path, thing.names);
    return [of('Rename', 'rename', 'With all references to it'), of('Duplicate', 'duplicate', 'With its values'), of('Remove', 'remove', 'With its connections'),
      ...(isSystem(path) ? [of('Dissolve', 'unwrap', 'Put its elements into the system around it')] : []),
      ...(/\.fmu$/i.test(known ? known.source : '') ? [button('Replace FMU…', () => replaceFmu(path), 'Show what would break, then replace')] : [])];
  }
  return { run, entries, buttons, choose, newSystem, newConnector, renameHere };
}
