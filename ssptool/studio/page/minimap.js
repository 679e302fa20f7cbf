// The whole picture in a corner, when only a part of it is in sight: a click or a drag brings another part into view.

import { svg } from './elements.js';
import { frameOf } from './visible.js';

const WIDTH = 170, HEIGHT = 110;  // pixels, at most

export function enableMinimap(diagram) {
  const map = document.getElementById('minimap'), sight = svg('rect', { class: 'sight' });
  let sheet = null;

  function renew() {
    const [x, y, w, h] = diagram.view, [left, top, width, height] = diagram.home;
    const whole = w > .9 * width && h > .9 * height;
    map.toggleAttribute('hidden', whole);
    if (whole) return;
    if (sheet !== diagram.sheet) draw();
    for (const [name, value] of Object.entries({ x: Math.max(x, left), y: Math.max(y, top), width: Math.max(0, Math.min(x + w, left + width) - Math.max(x, left)),
      height: Math.max(0, Math.min(y + h, top + height) - Math.max(y, top)) })) sight.setAttribute(name, value);
  }
  function draw() {
    sheet = diagram.sheet;
    const scale = Math.min(WIDTH / diagram.home[2], HEIGHT / diagram.home[3]);
    map.setAttribute('viewBox', diagram.home.join(' '));
    map.setAttribute('width', Math.round(scale * diagram.home[2]));
    map.setAttribute('height', Math.round(scale * diagram.home[3]));
    const frames = [...diagram.querySelectorAll('.block')].map(frameOf);
    map.replaceChildren(svg('path', { d: frames.map(({ x, y, width, height }) => `M${x} ${y}h${width}v${height}h${-width}z`).join('') }), sight);
  }
  function go(event) {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(map.getScreenCTM().inverse()), [, , w, h] = diagram.view;
    diagram.look(at.x - w / 2, at.y - h / 2, w, h);
  }
  diagram.addEventListener('looked', renew);
  map.addEventListener('pointerdown', event => { map.setPointerCapture(event.pointerId); go(event); });
  map.addEventListener('pointermove', event => { if (map.hasPointerCapture(event.pointerId)) go(event); });
  return { renew };
}
