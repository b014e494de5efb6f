/** What users read and copy: documentation, examples, and the scenarios that ship. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

export function usersText(): string {
  const paths = ['README.md', 'docs/*.md', 'examples/*', 'scenarios/*.ts'];
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', ...paths], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  return listed
    .split('\n')
    .filter((path) => path !== '')
    .map((path) => readFileSync(join(ROOT, path), 'utf8'))
    .join('\n');
}
