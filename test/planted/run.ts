/**
 * `npm run planted [NAME…]`: every planted bug is found, replayed and made smaller; one line each. Exits with 1 when one
 * is not. Takes minutes per bug.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BUGS } from './bugs.ts';
import { hunt, isSmall } from './hunt.ts';

const OPTIONS = { seeds: 10, replays: 3, attempts: 40 } as const;

const wanted = process.argv.slice(2);
const bugs = BUGS.filter(({ name }) => wanted.length === 0 || wanted.includes(name));
if (bugs.length < Math.max(1, wanted.length)) {
  process.stderr.write(`expected names of planted bugs: ${BUGS.map(({ name }) => name).join(', ')}\n`);
  process.exit(2);
}
const stateDir = mkdtempSync(join(tmpdir(), 'svcnet-planted-'));
try {
  for (const { name, about } of bugs) {
    const { folder, seed, findMs, replayed, smallest } = await hunt({ ...OPTIONS, bug: name, stateDir });
    const seconds = (findMs / 1000).toFixed(0);
    if (folder === undefined || replayed === undefined || smallest === undefined) {
      process.stdout.write(`${name}: NOT FOUND with ${seed} seeds, ${seconds} s (${about})\n`);
      process.exitCode = 1;
      continue;
    }
    const { nodes, faults, operations } = smallest.to;
    const small = isSmall(smallest);
    if (!small || replayed.counts.same === 0) process.exitCode = 1;
    process.stdout.write(
      `${name}: found after ${seconds} s with seed ${seed} (${replayed.failure}); replayed ${replayed.counts.same} of ${replayed.runs.length}; ` +
        `smallest ${nodes} nodes, ${faults} faults, ${operations} operations, fails ${smallest.failed} of ${smallest.of}, ${smallest.runs} runs${small ? '' : ' (TOO LARGE)'}\n`,
    );
  }
} finally {
  rmSync(stateDir, { recursive: true, force: true });
}
