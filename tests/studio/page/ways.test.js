import assert from 'node:assert/strict';
import test from 'node:test';
import { aside, corners, distanceTo, nearest } from './ways.js';

const level = pairs => pairs.slice(1).every(([x, y], k) => x === pairs[k][0] || y === pairs[k][1]);

test('the corners of a path are its ends and its bends, without gaps', () => {
  assert.deepEqual(corners('M0,0 L10,0 M12,0 L20,0 L20,30'), [[0, 0], [20, 0], [20, 30]]);
  assert.deepEqual(corners('M1.5,-2e1 L3,4'), [[1.5, -20], [3, 4]]);
});
test('the part that is nearest to a point', () => {
  const way = [[0, 0], [20, 0], [20, 30], [50, 30]];
  assert.equal(nearest(way, { x: 10, y: 1 }), 0);
  assert.equal(nearest(way, { x: 21, y: 15 }), 1);
  assert.equal(nearest(way, { x: 60, y: 30 }), 2);
});
test('a part is moved across itself, and the ends stay at their connectors', () => {
  const way = [[0, 0], [20, 0], [20, 30], [50, 30]];
  assert.deepEqual(aside(way, 1, 7, 99), [[0, 0], [27, 0], [27, 30], [50, 30]]);
  for (const at of [0, 1, 2]) {
    const now = aside(way, at, 5, 6);
    assert.deepEqual([now[0], now.at(-1)], [way[0], way[3]]);
    assert.ok(level(now), JSON.stringify(now));
  }
  const straight = aside([[0, 0], [10, 0]], 0, 0, 4);
  assert.deepEqual([straight[0], straight.at(-1)], [[0, 0], [10, 0]]);
  assert.ok(straight.some(([, y]) => y === 4));
});
test('a way is as far from a point as its nearest part', () => {
  assert.equal(distanceTo([[0, 0], [10, 0], [10, 20]], { x: 13, y: 5 }), 3);
  assert.equal(distanceTo([[0, 0], [10, 0], [10, 20]], { x: -3, y: -4 }), 5);
});
