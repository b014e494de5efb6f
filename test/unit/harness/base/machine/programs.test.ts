import { expect, test } from 'vitest';
import { expectOptionsOfNodes } from '../../../../../harness/base/machine/programs.ts';

test.each([
  ['--no-addons', '--no-addons'],
  ['--disallow_code_generation_from_strings', '--disallow-code-generation-from-strings'],
  ['--no-warnings --permission', '--permission'],
])('nodes are not started with NODE_OPTIONS=%s', (options, named) => {
  expect(() => expectOptionsOfNodes({ NODE_OPTIONS: options })).toThrow(
    `nodes cannot run with ${named}, which NODE_OPTIONS sets`,
  );
});

test.each([{}, { NODE_OPTIONS: '' }, { NODE_OPTIONS: '--no-warnings --max-old-space-size=4096' }])(
  'nodes are started with %j',
  (environment) => {
    expect(() => expectOptionsOfNodes(environment)).not.toThrow();
  },
);
