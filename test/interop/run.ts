/** `npm run test:interop`: the tests against real Bees, or a line that says why there are none. Arguments go to vitest. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const binaries = process.env['SVCNET_BEE_BINARY'] ?? '';

if (binaries.trim() === '') {
  process.stdout.write(
    'interop tests did not run: SVCNET_BEE_BINARY names no program (one path, or several with commas between)\n',
  );
} else {
  process.stdout.write(`interop tests against ${binaries}\n`);
  const filters = process.argv.slice(2);
  const args = ['run', '--config', 'test/vitest.config.ts', '--no-file-parallelism'];
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
