// Short ways to make elements of the page. Texts are never markup.

/** An element with attributes, listeners (on…), properties of its text, and children. */
export function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, '');
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter(child => child !== null && child !== undefined));
  return node;
}

/** A button; `title` is what it does, in a sentence. */
export function button(text, action, title = '', more = {}) {
  return make('button', { type: 'button', onclick: action, title: title || null, ...more }, text);
}

export function svg(tag, attributes = {}) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

/** A unified diff, with its lines coloured. */
export function diff(text) {
  const kinds = { '+': 'added', '-': 'removed', '@': 'place' };
  return make('pre', { class: 'diff', tabindex: '0', 'aria-label': 'Changes of the files' },
    ...text.split('\n').map(line => make('span', { class: kinds[line[0]] || 'same' }, line + '\n')));
}

export const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);
export const dotted = path => path.join('.');

/** The coordinates in the `d` of a line, one after the other. */
export function pathNumbers(path) {
  return path.match(/-?[\d.]+(e-?\d+)?/g).map(Number);
}
