import assert from 'node:assert/strict';
import test from 'node:test';
import { pastedValues } from './spreadsheet.js';

const NAMES = ['A.k', 'A.d', 'B.k'];

test('one cell is text', () => { assert.equal(pastedValues('3.5\r\n', NAMES, 0), null); });
test('a column has the values of the rows from the first on; empty cells set nothing', () => {
  assert.deepEqual(pastedValues('2\r\n\r\n', NAMES, 2), null);
  assert.deepEqual(pastedValues('2\n3\n', NAMES, 1), [{ name: 'A.d', value: '2', unit: null }, { name: 'B.k', value: '3', unit: null }]);
  assert.deepEqual(pastedValues('2\n\n3', NAMES, 0).map(one => one.name), ['A.k', 'B.k']);
  assert.throws(() => pastedValues('2\n3', NAMES, 2), /only 1/);
});
test('columns are name, value and unit, or what their heads say', () => {
  assert.deepEqual(pastedValues('B.k\t2.5\tN/m\nA.d\t1', NAMES, 0), [{ name: 'B.k', value: '2.5', unit: 'N/m' }, { name: 'A.d', value: '1', unit: null }]);
  assert.deepEqual(pastedValues('Unit\tName\tOrigin\tValue\nkg\tA.k\tx.ssv\t7', NAMES, 0), [{ name: 'A.k', value: '7', unit: 'kg' }]);
});
test('quoted cells are refused', () => { assert.throws(() => pastedValues('A.k\t"a', NAMES, 0), /quotation marks/); });
