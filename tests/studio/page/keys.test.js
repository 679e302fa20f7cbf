import assert from 'node:assert/strict';
import test from 'node:test';
import { KEYS, chord, commandOf, keyText } from './keys.js';

const pressed = (key, more = {}) => commandOf({ key, code: '', ctrlKey: false, metaKey: false, shiftKey: false, altKey: false, ...more });

test('letters with Ctrl are commands in each case, with each layout, and with the command key of a Mac', () => {
  for (const key of ['d', 'D']) assert.equal(pressed(key, { ctrlKey: true, code: 'KeyD' }), 'duplicate');
  assert.equal(pressed('в', { ctrlKey: true, code: 'KeyD' }), 'duplicate');
  assert.equal(pressed('g', { metaKey: true }), 'wrap');
  assert.equal(pressed('G', { metaKey: true, shiftKey: true }), 'unwrap');
  assert.equal(pressed('Z', { ctrlKey: true, shiftKey: true }), 'redo');
});
test('characters are commands whatever keys make them, and none with AltGr', () => {
  assert.equal(pressed('?', { shiftKey: true }), 'help');
  assert.equal(pressed('?'), 'help');
  assert.equal(pressed('/'), 'find');
  assert.equal(pressed('+', { shiftKey: true }), 'larger');
  assert.equal(pressed('F'), 'near');
  assert.equal(pressed('z', { ctrlKey: true, altKey: true }), null);
  assert.equal(pressed('d'), null);
});
test('no key has two commands, and each is shown', () => {
  const all = Object.values(KEYS).flat();
  assert.equal(new Set(all).size, all.length);
  assert.equal(keyText('unwrap'), 'Ctrl-Shift-G');
  assert.equal(keyText('larger'), '+');
  assert.equal(chord({ key: 'Delete' }), 'Delete');
});
