// <ssp-palette>: files that can become elements, those of the system and of recent folders, to be dragged into the
// diagram or added with Enter.

import { ask } from './edits.js';
import { button, make } from './elements.js';

export const KIND = 'application/x-ssptool-resource';  // of what is dragged
const MOST = 100;  // files that are listed; search for others

class Palette extends HTMLElement {
  #files = [];
  #filter = make('input', { type: 'search', placeholder: 'Search', 'aria-label': 'Search the files', oninput: () => this.draw() });
  #list = make('ul');

  connectedCallback() { this.append(make('h2', {}, 'Files'), this.#filter, this.#list); }

  async renew(editable) {
    this.#files = editable ? await ask('palette') || [] : [];
    this.hidden = !this.#files.length;
    this.#filter.hidden = this.#files.length < 8;
    this.draw();
  }
  draw() {
    const words = this.#filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = this.#files.filter(({ file }) => words.every(word => file.toLowerCase().includes(word))), first = wanted.slice(0, MOST);
    this.#list.replaceChildren(...first.flatMap((one, k) => [
      ...(one.folder && one.folder !== first[k - 1]?.folder ? [make('li', { class: 'quiet folder', title: one.folder }, `In ${short(one.folder)}`)] : []), this.#item(one)]));
    if (wanted.length > MOST) this.#list.append(make('li', { class: 'quiet' }, `… and ${wanted.length - MOST} more`));
    if (!wanted.length) this.#list.append(make('li', { class: 'quiet' }, 'nothing found'));
  }
  #item({ file, name, used }) {
    const entry = button(name, () => this.dispatchEvent(new CustomEvent('add', { detail: file })),
      `Add ${file} to the shown system, or drag it into the diagram`, { draggable: 'true' });
    entry.addEventListener('dragstart', event => {
      event.dataTransfer.setData(KIND, file);
      event.dataTransfer.effectAllowed = 'copy';
    });
    return make('li', {}, entry, used ? make('span', { class: 'quiet' }, ` ${used}×`) : null);
  }
}

/** The last two parts of a path. */
function short(folder) { return folder.split(/[\\/]/).slice(-2).join('/'); }

customElements.define('ssp-palette', Palette);
