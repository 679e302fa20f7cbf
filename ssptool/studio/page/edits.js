// Edits: a gesture is a list of verbs that the server carries out; messages where it refuses; small dialogs.

import { button, make } from './elements.js';
import { call, upload } from './server.js';

const messages = document.getElementById('messages'), diagram = document.querySelector('ssp-diagram');

export function complain(problem, ...remedies) {
  if (problem.away) return;  // the banner says so
  const note = make('div', { class: 'message' }, make('p', {}, problem.message || String(problem)), ...remedies,
    button('×', () => note.remove(), '', { 'aria-label': 'Close the message' }));
  messages.replaceChildren(note);
}
export function quiet() { messages.replaceChildren(); }

const banner = document.getElementById('banner');

/** Say something for as long as it is so, apart from passing messages; an empty text ends it. */
export function lasting(name, text, ...remedies) {
  const before = [...banner.children].find(one => one.dataset.name === name);
  if (before && before.dataset.text === text) return;  // not announced again
  const note = make('div', { class: 'lasting', role: 'alert', 'data-name': name, 'data-text': text }, make('p', {}, text), ...remedies);
  if (before) before.remove();
  if (text) banner.append(note);
}

/** Call the server; if it refuses, say why. */
export async function ask(name, args) {
  try {
    return await call(name, args);
  } catch (problem) {
    complain(problem);
    return null;
  }
}

/** Carry out verbs, all or none. A document that several components use is edited as the user chooses. */
export async function edit(...edits) {
  return attempt(edits, 'refuse');
}
async function attempt(edits, shared) {
  try {
    const answer = await call('edit', { edits, shared, sheet: diagram.sheet.path });
    quiet();
    return answer;
  } catch (problem) {
    const again = how => () => { quiet(); attempt(edits, how); };
    if (problem.shared) complain(problem, button('Edit it for all', again('all')), button('Copy it first', again('copy')));
    else complain(problem);
    return null;
  }
}

/** Add files to the system of a sheet, at a point of it: FMUs, packages, tables. */
export async function addFiles(files, sheet, at = null) {
  const wanted = [...files].filter(file => /\.(fmu|ssp|csv)$/i.test(file.name));
  if (!wanted.length) { complain('only .fmu, .ssp and .csv files can be added'); return null; }
  try {
    const answer = await call('add', { files: await Promise.all(wanted.map(upload)), sheet, at });
    quiet();
    return answer;
  } catch (problem) {
    complain(problem);
    return null;
  }
}

/** The files of a drop; those of folders too. */
export async function dropped(transfer) {
  const files = [...transfer.files];  // both are empty after the event
  const entries = [...transfer.items].map(item => item.webkitGetAsEntry && item.webkitGetAsEntry()).filter(Boolean);
  const found = await Promise.all(entries.map(filesOf));
  return found.length ? found.flat() : files;
}
async function filesOf(entry) {
  if (entry.isFile) return [await new Promise((resolve, refuse) => entry.file(resolve, refuse))];
  const reader = entry.createReader(), inside = [];
  for (let some = [null]; some.length;) {
    some = await new Promise((resolve, refuse) => reader.readEntries(resolve, refuse));
    inside.push(...some);
  }
  return (await Promise.all(inside.map(filesOf))).flat();
}

/**
 * Ask for texts in a dialog; gives them by name, or null. `fields`: name → {label, value, options, proposals}; proposals
 * are asked for when the field gets the focus, with what is in all fields then. `note` explains how to fill them.
 */
export function asked(title, fields, action = 'OK', note = '') {
  return new Promise(resolve => {
    const inputs = Object.entries(fields).map(([name, { label, value = '', options = null, proposals = null }]) => {
      const input = options
        ? make('select', { name, id: `ask-${name}` }, ...options.map(one => make('option', { value: one, selected: one === value }, one)))
        : make('input', { name, id: `ask-${name}`, type: 'text', value, autocomplete: 'off', list: proposals && `proposed-${name}` });
      const list = proposals && make('datalist', { id: `proposed-${name}` });
      if (list) {
        input.addEventListener('focus', async () => list.replaceChildren(...(await proposals(Object.fromEntries(new FormData(form)))).map(one => make('option', { value: one }))));
      }
      return make('div', { class: 'field' }, make('label', { for: `ask-${name}` }, label), input, list);
    });
    const form = make('form', { method: 'dialog' }, make('h2', { id: 'ask-title' }, title), note && make('p', { class: 'quiet' }, note), ...inputs, make('div', { class: 'actions' },
      make('button', { value: 'ok', class: 'primary' }, action), button('Cancel', () => dialog.close(''))));
    const dialog = make('dialog', { 'aria-labelledby': 'ask-title', onclose: () => {
      dialog.remove();
      resolve(dialog.returnValue === 'ok' ? Object.fromEntries(new FormData(form)) : null);
    } }, form);
    document.body.append(dialog);
    dialog.showModal();
    const first = form.querySelector('input, select');
    if (first && first.select) first.select();
  });
}

/** Replace the FMU of a component by a file that is chosen, after a look at what that would break. */
export function replaceFmu(component) {
  const input = make('input', { type: 'file', accept: '.fmu', onchange: async () => {
    try {
      const fmu = await upload(input.files[0]), found = await call('consequences', { component, fmu });
      const breaks = found.some(one => one.weight === 'breaks');
      if (found.length && !await agreed(`Replace the FMU of ${component.join('.')}`, found, breaks ? 'Replace all the same' : 'Replace')) return;
      await edit({ verb: 'replace', component, fmu, force: breaks });
    } catch (problem) {
      complain(problem);
    }
  } });
  input.click();
}
function agreed(title, found, action) {
  return new Promise(resolve => {
    const dialog = make('dialog', { 'aria-labelledby': 'agree-title', onclose: () => { dialog.remove(); resolve(dialog.returnValue === 'ok'); } },
      make('form', { method: 'dialog' }, make('h2', { id: 'agree-title' }, title),
        make('ul', { class: 'consequences' }, ...found.map(one => make('li', { class: one.weight }, `${one.weight}: ${one.text}`))),
        make('div', { class: 'actions' }, make('button', { value: 'ok', class: 'primary' }, action), button('Cancel', () => dialog.close('')))));
    document.body.append(dialog);
    dialog.showModal();
  });
}
