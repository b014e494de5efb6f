import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findK6 } from '../../../../../../harness/run/load/k6/find-k6.ts';
import { temporaryFolder } from '../../../../../temporary-folder.ts';

function printing(name: string, text: string): string {
  const path = join(temporaryFolder('svcnet-k6'), name);
  writeFileSync(path, `#!/bin/sh\necho '${text}'\n`, { mode: 0o755 });
  return path;
}

test.each([
  ['k6', 'k6 v2.2.0 (go1.26.8, linux/amd64)'],
  ['k6-linux-amd64', 'k6-linux-amd64 v2.2.0 (commit/abc, go1.26.8, linux/amd64)'],
  ['loads', 'k6 v2.2.0'],
])('%s is found by its version, whatever its file is called', async (name, text) => {
  const where = printing(name, text);
  expect(await findK6(where)).toEqual({ kind: 'program', where, version: '2.2.0' });
});

test.each([
  ['go', 'node v24.9.0', `says 'node v24.9.0' instead of its k6 version`],
  ['k6', 'no version', `says 'no version' instead of its k6 version`],
  ['k6-old', 'k6-old v1.9.0', 'is k6 1.9.0, expected 2.0 or newer'],
])('%s that prints %s is refused', async (name, text, why) => {
  await expect(findK6(printing(name, text))).rejects.toMatchObject({
    code: 'BINARY_INVALID',
    message: expect.stringContaining(why) as string,
  });
});
