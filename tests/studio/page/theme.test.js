import assert from 'node:assert/strict';
import test from 'node:test';
import { conditionOf } from './theme.js';

const DARK = 'screen and (prefers-color-scheme: dark)', CONTRAST = '(prefers-contrast: more)';

test('a theme decides about dark colours and contrast, whatever the screen wants', () => {
  assert.deepEqual(['', 'light', 'dark', 'contrast'].map(theme => conditionOf(DARK, theme)), [DARK, 'not all', 'screen', 'not all']);
  assert.deepEqual(['', 'light', 'dark', 'contrast'].map(theme => conditionOf(CONTRAST, theme)), [CONTRAST, 'not all', 'not all', 'screen']);
});
test('other conditions stay', () => {
  assert.equal(conditionOf('(max-width: 60rem)', 'dark'), null);
});
