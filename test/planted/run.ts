/**
 * `npm run planted [NAME…]`: every planted bug is found, replayed and made smaller; one line each. Exits with 1 if one is
 * not, takes more than a minute of processor time, or does not fail each time. `-- --storm [NAME…]`: the shipped storm finds
 * every bug. `-- --blind [NAME…]`: finds the reviewers' bugs; one may be missed.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BLIND_BUGS, type BlindBug } from './blind.ts';
import { BUGS, type Bug } from './bugs.ts';
import { hunt, isSmall, sight } from './hunt.ts';
import { MESSAGE_BUGS } from './messages.ts';

const OPTIONS = { seeds: 10, replays: 10, attempts: 40 } as const;
/** Storms spent on one bug. */
const STORMS = 3;
/** Of the bugs of a reviewer. */
const MISSED_MAX = 1;
/** Of processor time, until it is found. */
const FOUND_WITHIN_MS = 60_000;

interface Outcome {
  readonly text: string;
  readonly good: boolean;
}

async function hunted(bug: string, storm?: readonly string[]): Promise<Outcome> {
  const { folder, seed, findMs, replayed, smallest } = await hunt({ ...OPTIONS, bug, stateDir, storm });
  if (folder === undefined || replayed === undefined || smallest === undefined) return notFound(seed, findMs);
  const { nodes, faults, operations } = smallest.to;
  const small = isSmall(smallest);
  return {
    text:
      `found after ${seconds(findMs)} with seed ${seed} (${replayed.failure}); replayed ${replayed.counts.same} of ${replayed.runs.length}; ` +
      `smallest ${nodes} nodes, ${faults} faults, ${operations} operations, fails ${smallest.failed} of ${smallest.of}, ${smallest.runs} runs${small ? '' : ' (TOO LARGE)'}`,
    good: small && findMs <= FOUND_WITHIN_MS && replayed.counts.same === replayed.runs.length,
  };
}

async function sighted(bug: string, settings?: readonly string[]): Promise<Outcome> {
  const given = settings === undefined ? {} : { settings };
  const { seed, findMs, why } = await sight({ bug, stateDir, seeds: STORMS, ...given });
  if (why.length === 0) return notFound(seed, findMs);
  return { text: `found after ${seconds(findMs)} with seed ${seed} (${why.join('; ')})`, good: true };
}

function notFound(seeds: number, ms: number): Outcome {
  return { text: `NOT FOUND with ${seeds} seeds, ${seconds(ms)}`, good: false };
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(0)} s of processor time`;
}

interface List {
  readonly bugs: readonly Bug[];
  readonly look: (bug: Bug) => Promise<Outcome>;
  readonly missedMax: number;
}

const LISTS: Readonly<Record<string, List>> = {
  '--storm': { bugs: BUGS, look: ({ name }) => sighted(name), missedMax: 0 },
  '--blind': {
    bugs: BLIND_BUGS,
    look: ({ name, storm }: Bug & Partial<BlindBug>) => sighted(name, storm),
    missedMax: MISSED_MAX,
  },
};
const SMALLEST: List = {
  bugs: [...BUGS, ...MESSAGE_BUGS],
  look: ({ name, storm }: Bug & Partial<BlindBug>) => hunted(name, storm),
  missedMax: 0,
};

const [first = '', ...others] = process.argv.slice(2);
const { bugs: all, look, missedMax } = LISTS[first] ?? SMALLEST;
const wanted = first in LISTS || first === '' ? others : [first, ...others];
const bugs = all.filter(({ name }) => wanted.length === 0 || wanted.includes(name));
if (bugs.length < Math.max(1, wanted.length)) {
  process.stderr.write(`expected names of planted bugs: ${all.map(({ name }) => name).join(', ')}\n`);
  process.exit(2);
}
const stateDir = mkdtempSync(join(tmpdir(), 'svcnet-planted-'));
try {
  let missed = 0;
  for (const bug of bugs) {
    const { text, good } = await look(bug);
    process.stdout.write(`${bug.name}: ${text} (${bug.about})\n`);
    if (!good) missed++;
  }
  if (missed > (wanted.length === 0 ? missedMax : 0)) process.exitCode = 1;
} finally {
  rmSync(stateDir, { recursive: true, force: true });
}
