import assert from 'node:assert/strict';
import test from 'node:test';
import { boxAround, guided, inDocument, snapped, viewOf } from './snapping.js';

test('an edge ends on the nearest line of the grid', () => {
  assert.equal(snapped(3, 10), 5);
  assert.equal(snapped(2, 10), 0);
  assert.equal(snapped(-3, 10), -5);
  assert.equal(snapped(4, 7.3), 2.7);
  assert.equal(7.3 + snapped(0, 7.3), 5);
  assert.equal(snapped(11, 0, 10), 10);
});
test('a view shows a box whole, in its middle, with the shape of the whole picture', () => {
  const [x, y, w, h] = viewOf({ x: 10, y: 20, width: 40, height: 10 }, [0, 0, 200, 100]);
  assert.ok(x <= 10 && y <= 20 && x + w >= 50 && y + h >= 30);
  assert.equal(w / h, 2);
  assert.deepEqual([x + w / 2, y + h / 2], [30, 25]);
  assert.deepEqual(viewOf({ x: 0, y: 0, width: 200, height: 100 }, [0, 0, 200, 100]), [0, 0, 200, 100]);
});
test('a box around boxes', () => {
  assert.equal(boxAround([]), null);
  assert.deepEqual(boxAround([{ x: 1, y: 2, width: 3, height: 4 }, { x: -1, y: 5, width: 1, height: 3 }]), { x: -1, y: 2, width: 5, height: 6 });
});
test('the document counts upwards, in tenths of a millimetre', () => {
  assert.deepEqual(inDocument([12.34, 5], [-10, 100]), [2.3, 95]);
});
test('a moved box is drawn to the nearest edge or middle of another in each direction, with a line to it', () => {
  const box = { x: 0, y: 0, width: 10, height: 10 }, other = { x: 50, y: 101, width: 30, height: 40 };
  const { way, lines } = guided(box, [48.5, 30], [other], 2);
  assert.deepEqual(way, [50, 30]);
  assert.deepEqual(lines, [[50, 30, 50, 141]]);
  assert.deepEqual(guided(box, [61, 115.5], [other], 2), { way: [60, 116], lines: [[65, 101, 65, 141], [50, 121, 80, 121]] });
  assert.deepEqual(guided(box, [20, 30], [other], 2), { way: [20, 30], lines: [] });
});
