import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { BLIND_BUGS } from '../planted/blind.ts';
import { BUGS } from '../planted/bugs.ts';
import { MESSAGE_BUGS } from '../planted/messages.ts';
import { edited } from '../planted/plant.ts';

const NODE = join(import.meta.dirname, '../../node');

test.each([...BUGS, ...BLIND_BUGS, ...MESSAGE_BUGS])(
  '$name can be applied to the sources: $about',
  ({ edits }) => {
    for (const edit of edits) {
      const source = readFileSync(join(NODE, edit.file), 'utf8');
      expect(edited(source, edit)).not.toBe(source);
    }
  },
);

test('an edit whose place is missing or ambiguous is an error', () => {
  const edit = { file: 'x.ts', from: 'one', to: 'two' };
  expect(() => edited('', edit)).toThrow('0 places');
  expect(() => edited('one one', edit)).toThrow('2 places');
});
