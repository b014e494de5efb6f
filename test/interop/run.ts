/** `npm run test:interop`: runs the tests, or says why there is nothing to test against. Arguments go to vitest. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { flavoursNamed, NOBODY } from './flavours-named.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const flavours = flavoursNamed();

if (flavours.length === 0) {
  process.stdout.write(`interop tests did not run: ${NOBODY}\n`);
} else {
  process.stdout.write(`interop tests against ${flavours.join(', ')}\n`);
  const filters = process.argv.slice(2);
  // A file takes minutes: each of its tests is reported when it ends.
  const shown = ['--reporter=verbose', '--reporter=./test/suite/unfinished.ts'];
  const args = ['run', '--config', 'test/vitest.config.ts', '--no-file-parallelism', ...shown];
  const { status } = spawnSync(
    'npx',
    ['vitest', ...args, ...(filters.length === 0 ? ['test/interop'] : filters)],
    {
      cwd: root,
      stdio: 'inherit',
    },
  );
  process.exitCode = status ?? 1;
}
