/**
 * Finds a planted bug with the rough scenario or a storm of its own, replays the run that found it, and makes it smaller; or
 * finds it with the shipped storm. By commands alone.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ScenarioResult } from '../../harness/report/result.ts';
import type { MinimiseDocument } from '../../harness/run/replay/minimise.ts';
import type { ReplayDocument } from '../../harness/run/replay/replay.ts';
import { commandHere, PlantedCommands } from './commands.ts';

const SCENARIO = join(import.meta.dirname, 'rough.ts');

/** Chunks wait in queues then, as on machines. */
export const ROUND_TRIP = '--network=50ms';

/** Before the options of every run. */
const ROUGH = [SCENARIO, ROUND_TRIP] as const;

const NODES_MAX = 3;
const FAULTS_MAX = 3;

export interface HuntOptions {
  readonly bug: string;
  readonly stateDir: string;
  readonly seeds: number;
  readonly replays: number;
  /** Runs spent on the smallest one; 0: none. */
  readonly attempts: number;
  /** Default: the rough scenario. */
  readonly storm?: readonly string[] | undefined;
}

export interface Hunt {
  /** Of the failed run; undefined: none failed. */
  readonly folder: string | undefined;
  readonly seed: number;
  /** Processor time until it was found. */
  readonly findMs: number;
  readonly replayed: ReplayDocument | undefined;
  readonly smallest: MinimiseDocument | undefined;
}

/** @throws Error if a command could not do its work, or if the run fails without the bug, too */
export async function hunt({ bug, stateDir, seeds, replays, attempts, storm }: HuntOptions): Promise<Hunt> {
  const scenario = storm === undefined ? ROUGH : ['storm', ...storm];
  using planted = new PlantedCommands(bug);
  const svcnet = (...args: string[]) => planted.run(args, stateOf(stateDir));
  let findMs = 0;
  for (let seed = 1; seed <= seeds; seed++) {
    const folder = join(stateDir, `${bug}-${seed}`);
    const { code, stderr, cpuMs } = await svcnet(...runOf(scenario, { seed, folder }));
    findMs += cpuMs;
    if (code === 0) continue;
    await expectInnocent(scenario, { seed, folder: `${folder}-without`, stateDir });
    const again = await svcnet('replay', folder, '--times', String(replays), '--json');
    if (again.stdout === '') throw new Error(`${bug}: ${stderr}${again.stderr}`);
    const replayed = JSON.parse(again.stdout) as ReplayDocument;
    if (attempts === 0) return { folder, seed, findMs, replayed, smallest: undefined };
    const smaller = await svcnet(
      'minimise',
      folder,
      '--attempts',
      String(attempts),
      '--budget',
      '5m',
      '--json',
    );
    if (smaller.code !== 0) throw new Error(`${bug}: ${smaller.stderr}`);
    return { folder, seed, findMs, replayed, smallest: JSON.parse(smaller.stdout) as MinimiseDocument };
  }
  return { folder: undefined, seed: seeds, findMs, replayed: undefined, smallest: undefined };
}

export interface Sighting {
  readonly seed: number;
  /** Processor time until it was found. */
  readonly findMs: number;
  readonly why: readonly string[];
}

export interface SightOptions extends Pick<HuntOptions, 'bug' | 'stateDir' | 'seeds'> {
  /** Default: the shipped storm, but shorter. */
  readonly settings?: readonly string[];
}

export async function sight({
  bug,
  stateDir,
  seeds,
  settings = [ROUND_TRIP, '--set=duration=90s'],
}: SightOptions): Promise<Sighting> {
  const storm = ['storm', ...settings];
  using planted = new PlantedCommands(bug);
  let findMs = 0;
  for (let seed = 1; seed <= seeds; seed++) {
    const folder = join(stateDir, `storm-${bug}-${seed}`);
    const { code, cpuMs } = await planted.run(runOf(storm, { seed, folder }), stateOf(stateDir));
    findMs += cpuMs;
    if (code === 0) continue;
    await expectInnocent(storm, { seed, folder: `${folder}-without`, stateDir });
    return { seed, findMs, why: whyOf(folder) };
  }
  return { seed: seeds, findMs, why: [] };
}

function whyOf(folder: string): string[] {
  const { scenarios } = JSON.parse(readFileSync(join(folder, 'report.json'), 'utf8')) as {
    readonly scenarios: readonly ScenarioResult[];
  };
  return scenarios.flatMap(({ error, assertions }) => [
    ...(error?.split('\n', 1) ?? []),
    ...assertions.flatMap(({ name, passed }) => (passed ? [] : [name])),
  ]);
}

/** A person can follow it. */
export function isSmall({ to: { nodes, faults } }: Pick<MinimiseDocument, 'to'>): boolean {
  return nodes <= NODES_MAX && faults <= FAULTS_MAX;
}

function runOf(
  scenario: readonly string[],
  { seed, folder }: { readonly seed: number; readonly folder: string },
): string[] {
  const run = ['--driver', 'simulated', '--seed', String(seed), '--report', folder, '--json'];
  return ['run', ...scenario, ...run];
}

async function expectInnocent(
  scenario: readonly string[],
  { seed, folder, stateDir }: { readonly seed: number; readonly folder: string; readonly stateDir: string },
): Promise<void> {
  const { code, stderr } = await commandHere(runOf(scenario, { seed, folder }), stateOf(stateDir));
  if (code !== 0) throw new Error(`seed ${seed} fails without a bug as well: ${stderr}`);
}

function stateOf(stateDir: string): string {
  return join(stateDir, 'state');
}
