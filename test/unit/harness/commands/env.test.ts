import { expect, test } from 'vitest';
import { env } from '../../../../harness/commands/env.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';
import { contextOf } from './kit.ts';

test.each([
  [false, 'false\n'],
  [true, ''],
])(
  'a failure is told to the shell that evaluates the lines, not to readers of JSON: %j',
  async (json, text) => {
    const context = contextOf(temporaryFolder('svcnet-env'), json);
    await expect(env({}, context)).rejects.toMatchObject({ code: 'CLUSTER_NOT_FOUND' });
    expect(context.printed()).toBe(text);
  },
);
