import assert from 'node:assert/strict';
import test from 'node:test';
import { STILL, joined, pinch, placeOf, scaled, viewAfter } from './gliding.js';

const SCREEN = [800, 300], VIEW = [10, 20, 100, 50];
/** Where a point of the picture is on the screen. */
const seen = ([px, py], view) => {
  const { size, corner } = placeOf(view, SCREEN);
  return [corner[0] + size * (px - view[0]), corner[1] + size * (py - view[1])];
};

test('a picture is drawn anew where the wheel has brought it', () => {
  const from = placeOf(VIEW, SCREEN), move = scaled(scaled(STILL, 1.1, [700, 40]), .5, [30, 250]), view = viewAfter(move, from, VIEW);
  for (const point of [[10, 20], [60, 45], [110, 70]]) {
    const before = seen(point, VIEW).map((one, k) => move.scale * one + move.shift[k]), after = seen(point, view);
    for (const k of [0, 1]) assert.ok(Math.abs(before[k] - after[k]) < 1e-9);
  }
});
test('the point under the pointer stays there', () => {
  const { scale, shift } = scaled(STILL, 3, [120, 70]);
  assert.deepEqual([120, 70].map((one, k) => scale * one + shift[k]), [120, 70]);
});
test('two fingers take the points below them along', () => {
  const corner = [15, 40], before = [[115, 140], [315, 140]], now = [[95, 200], [495, 200]], { scale, shift } = pinch(before, now, corner);
  before.forEach((finger, n) => finger.forEach((one, k) => assert.ok(Math.abs(scale * (one - corner[k]) + shift[k] - (now[n][k] - corner[k])) < 1e-9)));
  const third = [[80, 90], [180, 90]], both = joined(pinch(before, now, corner), pinch(now, third, corner)), whole = pinch(before, third, corner);
  assert.ok(Math.abs(both.scale - whole.scale) < 1e-9 && both.shift.every((one, k) => Math.abs(one - whole.shift[k]) < 1e-9));
  assert.equal(pinch([[5, 5], [5, 5]], now, corner).scale, 1, 'fingers at one point have no distance');
});
