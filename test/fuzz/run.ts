/** `npm run fuzz -- [target …] [--runs N] [--seconds N] [--seed N] [--keep]` */
import { parseArgs } from 'node:util';
import { extendCorpus, fuzzTarget, keepInput } from './campaign.ts';
import { TARGETS, type TargetName } from './targets.ts';

const USAGE = `usage: npm run fuzz -- [target …] [options]

  --runs N      inputs per target (default 100000)
  --seconds N   longest time per target (default 3600)
  --seed N      seed of the mutations (default 1)
  --keep        add inputs that reach new code to test/fuzz/corpus

targets: ${Object.keys(TARGETS).join(', ')}
A night: npm run fuzz -- --runs 10000000 --seconds 7200`;

const isTarget = (name: string): name is TargetName => Object.hasOwn(TARGETS, name);

function refuse(problem: string): never {
  process.stderr.write(`${problem}\n\n${USAGE}\n`);
  process.exit(2);
}

function whole(name: string, text: string): number {
  const value = Number(text);
  return /^\d{1,12}$/.test(text) && value > 0
    ? value
    : refuse(`--${name} ${text}: expected a whole number from 1`);
}

function options() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        runs: { type: 'string', default: '100000' },
        seconds: { type: 'string', default: '3600' },
        seed: { type: 'string', default: '1' },
        keep: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
  } catch (error) {
    return refuse((error as Error).message);
  }
}

const { values, positionals } = options();
if (values.help) {
  process.stdout.write(`${USAGE}\n`);
  process.exit(0);
}
const campaign = {
  runs: whole('runs', values.runs),
  seconds: whole('seconds', values.seconds),
  seed: whole('seed', values.seed),
  hangMs: 10_000,
};
const names = positionals.length > 0 ? positionals : Object.keys(TARGETS);
let failures = 0;
for (const name of names) {
  if (!isTarget(name)) refuse(`no target '${name}'`);
  const { runs, blocks, found, failure } = await fuzzTarget(name, campaign);
  if (failure === undefined) {
    if (values.keep) extendCorpus(name, found);
    process.stdout.write(
      `  ✔ ${name.padEnd(22)} ${runs} inputs, ${blocks} blocks, ${found.length} new inputs\n`,
    );
    continue;
  }
  failures++;
  const file = keepInput('fuzz-failures', failure.input);
  process.stdout.write(`  ✖ ${name.padEnd(22)} ${runs} inputs, then ${file}: ${failure.why}\n`);
}
process.exitCode = failures === 0 ? 0 : 1;
