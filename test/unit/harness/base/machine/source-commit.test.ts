import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const ROOT = join(import.meta.dirname, '../../../../..');
const MODULE = JSON.stringify(join(ROOT, 'harness/base/machine/source-commit.ts'));

const ASKED = `
  const { sourceCommit } = await import(${MODULE});
  const { PATH } = process.env;
  const answers = [];
  for (process.env.PATH of ['/nowhere', PATH, '/nowhere']) answers.push((await sourceCommit()) ?? null);
  console.log(JSON.stringify(answers));
`;

test('a commit is asked for until it is found, and then kept', () => {
  const printed = execFileSync(process.execPath, ['--input-type=module', '--eval', ASKED], {
    encoding: 'utf8',
  });
  const found = existsSync(join(ROOT, '.git')) ? expect.stringMatching(/^[0-9a-f]{12}(\+changes)?$/) : null;
  expect(JSON.parse(printed)).toEqual([null, found, found]);
});
