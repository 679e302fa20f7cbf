import assert from 'node:assert/strict';
import test from 'node:test';
import { boxOfPath, meets, regionOf, serves } from './visible.js';

test('a region is drawn as long as the view stays in it and does not become much smaller', () => {
  const region = regionOf([100, 50, 200, 100]);
  assert.ok(region[0] < 100 && region[1] < 50 && region[2] < 400 && region[3] < 200, 'more than the view, and not all');
  assert.ok(serves(region, [100, 50, 200, 100]));
  assert.ok(serves(region, [region[0], region[1], 200, 100]));
  assert.ok(!serves(region, [region[0] - 1, 50, 200, 100]));
  assert.ok(!serves(region, [region[0] + region[2] - 199, 50, 200, 100]));
  assert.ok(!serves(region, [150, 75, 50, 25]), 'much smaller');
  assert.ok(!serves(null, [0, 0, 1, 1]));
});
test('boxes that touch a region are drawn, also lines that cross it', () => {
  const region = [0, 0, 10, 10];
  assert.ok(meets({ x: 10, y: 10, width: 1, height: 1 }, region));
  assert.ok(!meets({ x: 11, y: 0, width: 1, height: 1 }, region));
  assert.ok(meets(boxOfPath('M-5,5 L20,5'), region));
  assert.deepEqual(boxOfPath('M3,4 L1,9 L7,2'), { x: 1, y: 2, width: 6, height: 7 });
});
