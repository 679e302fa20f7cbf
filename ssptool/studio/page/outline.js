// <ssp-outline>: the tree of nested systems with their elements.

import { button, dotted, make, same } from './elements.js';

const MOST = 200;  // elements of one system that are listed

class Outline extends HTMLElement {
  #systems = [];
  #shown = [];
  #selected = null;
  #open = new Set(['']);

  /** Show the systems of a model; `shown` is the path of the one in the diagram. */
  show(systems, shown) {
    this.#systems = systems;
    this.#shown = shown;
    for (let depth = 0; depth <= shown.length; depth++) this.#open.add(dotted(shown.slice(0, depth)));
    this.draw();
  }
  select(path) {
    this.#selected = path;
    for (const one of this.querySelectorAll('[aria-current]')) one.removeAttribute('aria-current');
    const now = path && [...this.querySelectorAll('button[data-path]')].find(one => one.dataset.path === JSON.stringify(path));
    if (now) { now.setAttribute('aria-current', 'true'); now.scrollIntoView({ block: 'nearest' }); }
  }
  draw() {
    const root = this.#systems.find(one => one.path.length === 0);
    const top = button(root.name, () => this.#tell('open', []), '', { 'data-path': '[]', class: 'system' });
    top.classList.toggle('shown', this.#shown.length === 0);
    this.replaceChildren(make('ul', {}, make('li', {}, top, this.#list(root))));
    this.select(this.#selected);
  }
  #list(system) {
    const items = system.elements.slice(0, MOST).map(element => this.#item(element));
    if (system.elements.length > MOST) items.push(make('li', { class: 'quiet' }, `… and ${system.elements.length - MOST} more`));
    if (!items.length) items.push(make('li', { class: 'quiet' }, 'no elements yet'));
    return make('ul', {}, ...items);
  }
  #item(element) {
    const inner = this.#systems.find(one => same(one.path, element.path));
    const name = dotted(element.path), open = this.#open.has(name);
    const fold = inner ? button(open ? '▾' : '▸', () => {
      if (open) this.#open.delete(name); else this.#open.add(name);
      this.draw();
    }, '', { class: 'fold', 'aria-label': `${open ? 'Fold' : 'Unfold'} ${element.name}`, 'aria-expanded': String(open) }) : null;
    const entry = button(element.name, () => this.#tell(inner ? 'open' : 'select', element.path), element.source,
      { 'data-path': JSON.stringify(element.path), class: inner ? 'system' : 'component' });
    entry.classList.toggle('shown', same(element.path, this.#shown));
    return make('li', {}, fold, entry, inner && open ? this.#list(inner) : null);
  }
  #tell(kind, path) { this.dispatchEvent(new CustomEvent(kind, { detail: path })); }
}

customElements.define('ssp-outline', Outline);
