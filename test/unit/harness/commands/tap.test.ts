import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tap } from '../../../../harness/commands/tap.ts';
import type { TapEvent } from '../../../../harness/places/links/tap/events.ts';
import { MessageFile } from '../../../../harness/report/messages/message-file.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';
import { contextOf } from './kit.ts';

const root = temporaryFolder('svcnet-tap-read');

test('whatever a record from elsewhere calls a message or a node, it is a short line', async () => {
  const folder = join(root, 'foreign');
  mkdirSync(folder);
  const ends = { from: 'node-0\n\u001b[31m', to: 'b', stream: 'c0/1', protocol: 'x\n', id: '/x' };
  const name = `receipt\n\u001b[31mforged${'x'.repeat(10_000)}`;
  const event: TapEvent = { at: 0, ...ends, kind: 'message', name, fields: { 'f\n': '\n' }, bytes: 1 };
  await new MessageFile(folder).append([event]);
  const read = join(folder, 'messages.jsonl.gz');
  const context = contextOf(root);
  await tap([], { read }, context);
  const [line = '', ...rest] = context.printed().split('\n');
  expect(rest).toEqual(['']);
  expect(line).not.toContain('\u001b');
  expect(line.length).toBeLessThan(1000);
  await expect(tap(['node-0\n\u001b[32m'], { read }, context)).rejects.toMatchObject({
    code: 'NODE_NOT_FOUND',
    message: expect.stringMatching(/, did you mean 'node-0 \\u001b\[31m'\?$/),
  });
});
