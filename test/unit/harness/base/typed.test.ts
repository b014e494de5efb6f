import { expect, test } from 'vitest';
import { asTyped, COMMAND_NAMES, shellWord, typed, typedForOutput } from '../../../../harness/base/typed.ts';
import { COMMANDS } from '../../../../harness/commands/table.ts';

const SCRIPT = { npm_lifecycle_event: 'svcnet' };
const NPX = { npm_lifecycle_event: 'npx' };

test.each([
  [{}, 'svcnet down --all'],
  [{ npm_lifecycle_event: 'test' }, 'svcnet down --all'],
  [SCRIPT, 'npm run svcnet -- down --all'],
  [NPX, 'npx svcnet down --all'],
])('a command is named the way it is typed with %o', (env, text) => {
  expect(typed('down --all', env)).toBe(text);
});

test('replaces commands within a text, and nothing else that contains the name', () => {
  const text =
    'Start one with: svcnet up; see .svcnet logs, /bin/svcnet up, svcnet 0.1.0, svcnet: a network, what svcnet has made, and that svcnet starts or removes it';
  expect(asTyped(text, SCRIPT)).toBe(text.replace(': svcnet up', ': npm run svcnet -- up'));
});

test('every command is known', () => {
  expect(COMMAND_NAMES).toEqual(COMMANDS.map(({ usage }) => usage.split(' ')[0]));
  for (const name of COMMAND_NAMES)
    expect(asTyped(`svcnet ${name}`, SCRIPT)).toBe(`npm run svcnet -- ${name}`);
});

test('a text whose commands are as typed stays as it is', () => {
  for (const env of [SCRIPT, NPX])
    expect(asTyped(asTyped('run svcnet up', env), env)).toBe(`run ${typed('up', env)}`);
});

test('a command whose output is kept is typed so that it prints nothing else', () => {
  expect(typedForOutput('schema', SCRIPT)).toBe('npm run -s svcnet -- schema');
  expect(typedForOutput('schema', NPX)).toBe('npx svcnet schema');
});

test.each([
  ['runs/one-2/scenario.json', 'runs/one-2/scenario.json'],
  ['a folder/run', "'a folder/run'"],
  ["it's;$HOME", String.raw`'it'\''s;$HOME'`],
])('%s is one word for a shell', (text, word) => {
  expect(shellWord(text)).toBe(word);
});
