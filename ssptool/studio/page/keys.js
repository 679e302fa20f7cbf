// Keys of the page by their commands. Nothing here touches the page.

/** Keys by command, the first is shown; Ctrl is the command key of a Mac. Letters without Ctrl are those of the diagram. */
export const KEYS = {
  undo: ['Ctrl+Z'], redo: ['Ctrl+Shift+Z', 'Ctrl+Y'], save: ['Ctrl+S'],
  copy: ['Ctrl+C'], paste: ['Ctrl+V'], duplicate: ['Ctrl+D'], all: ['Ctrl+A'], wrap: ['Ctrl+G'], unwrap: ['Ctrl+Shift+G'],
  remove: ['Delete', 'Backspace'], rename: ['F2'], connect: ['c'], arrange: ['l'], none: ['Escape'],
  find: ['/'], fit: ['0'], near: ['f'], larger: ['+', '='], smaller: ['-'], help: ['?'],
};
const COMMANDS = new Map(Object.entries(KEYS).flatMap(([command, keys]) => keys.map(key => [key, command])));

/** The name of the pressed keys, whatever Caps Lock and the layout of the keyboard make of a letter with Ctrl. */
export function chord({ key, code = '', ctrlKey, metaKey, shiftKey, altKey }) {
  if (altKey) return null;
  if (!ctrlKey && !metaKey) return key.length === 1 ? key.toLowerCase() : key;
  const letter = /^[a-z]$/i.test(key) ? key : code.replace('Key', '');
  return `Ctrl+${shiftKey ? 'Shift+' : ''}${letter.toUpperCase()}`;
}
/** The command of a pressed key; null if there is none. */
export function commandOf(event) { return COMMANDS.get(chord(event)) || null; }
/** The key of a command, as it is shown. */
export function keyText(command) { return KEYS[command][0].replace(/\+(?=.)/g, '-'); }
