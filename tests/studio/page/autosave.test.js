// Which states of a system are saved without being asked.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { savable } from './autosave.js';

const edited = { unsaved: true, conflict: '', kept: null, undo: 'remove A', redo: '' };

test('edits are saved, and what undo has taken back', () => {
  assert.equal(savable(edited), true);
  assert.equal(savable({ ...edited, undo: '', redo: 'remove A' }), true);
});
test('nothing is saved twice, in a conflict, or beside kept edits', () => {
  for (const state of [{ unsaved: false }, { conflict: 'two changes' }, { kept: { file: 'a.unsaved' } }]) {
    assert.equal(savable({ ...edited, ...state }), false);
  }
});
test('a new system is not made before its first edit', () => {
  assert.equal(savable({ ...edited, undo: '' }), false);
});
