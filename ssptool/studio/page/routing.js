// Lines that are led another way: a part of the line that is selected is dragged aside.

import { ask } from './edits.js';
import { same } from './elements.js';
import { aside, corners, nearest } from './ways.js';

/** Whether a thing is the line of one connection that is selected already. */
export function selectedLine(diagram, thing) {
  const now = diagram.selected;
  return thing.kind === 'connection' && thing.texts.length === 1 && now && now.kind === 'connection' && same(now.texts, thing.texts);
}
/** Drag the part of the line at the pointer aside. */
export function lead(diagram, thing, press) {
  const wire = diagram.wireOf(thing.texts[0]), before = wire.getAttribute('d'), way = corners(before), at = nearest(way, diagram.point(press));
  let to = null;
  diagram.drag(press, {
    move: (dx, dy) => {
      to = aside(way, at, dx, dy);
      wire.setAttribute('d', 'M' + to.map(point => point.join()).join(' L'));
    },
    click: () => diagram.select(thing),
    drop: async () => {
      const done = to && await ask('route', { sheet: diagram.sheet.path, text: thing.texts[0], way: to });
      if (!done) wire.setAttribute('d', before);
    },
  });
}
