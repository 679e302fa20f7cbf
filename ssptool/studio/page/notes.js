// Notes in the diagram: written, moved, changed and removed.

import { asked, edit } from './edits.js';
import { inDocument } from './snapping.js';

const HEIGHT = 20;  // mm, of a new note

/** The place of a note that is drawn, in the document. */
function placeOf(diagram, node, dx = 0, dy = 0) {
  const box = node.querySelector('rect').getBBox(), [x, y] = inDocument([box.x + dx, box.y + box.height + dy], diagram.sheet.origin);
  return { x, y, width: Math.round(box.width * 10) / 10, height: Math.round(box.height * 10) / 10 };
}
async function words(title, value) {
  const answer = await asked(title, { text: { label: 'Text', value } }, 'Write it');
  return answer && answer.text.trim() ? answer.text : null;
}
/** Write a note; its upper left corner is at a point of the document. */
export async function newNote(diagram, [x, y]) {
  const text = await words('New note', '');
  if (text) edit({ verb: 'annotate', text, of: diagram.sheet.system, x, y: y - HEIGHT });
}
export function noteEntries(diagram, { text, node }) {
  const of = diagram.sheet.system, remove = { verb: 'remove_note', text, of };
  return [{ title: 'Change the text…', run: async () => {
    const place = placeOf(diagram, node), now = await words('Note', text);
    if (now && now !== text) edit(remove, { verb: 'annotate', text: now, of, ...place });
  } }, { title: 'Remove', run: () => edit(remove) }];
}
/** Drag a note. */
export function moveNote(diagram, { text, node }, press) {
  let last = null;
  diagram.drag(press, {
    move: (dx, dy) => {
      last = [dx, dy];
      node.setAttribute('transform', `translate(${dx} ${dy})`);
    },
    drop: async () => {
      const done = last && await edit({ verb: 'annotate', text, of: diagram.sheet.system, ...placeOf(diagram, node, ...last) });
      if (!done) node.removeAttribute('transform');
    },
  });
}
