/** Lists of scenarios, with parameters that make them fit their time. Source: `scenarios.md` 7. */
import { HarnessError } from '../base/errors.ts';
import { suggestion } from '../base/format.ts';
import { bundledScenarios, loadScenario } from './catalogue.ts';
import { kindWanted } from './kinds.ts';
import type { Scenario } from './scenario.ts';

interface Member {
  readonly name: string;
  readonly set?: Readonly<Record<string, string>>;
}

export interface Suite {
  readonly about: string;
  readonly members: readonly Member[];
}

const CONNECTIONS: readonly Member[] = [
  { name: 'pingpong' },
  { name: 'peer-count' },
  { name: 'full-connectivity' },
  { name: 'kademlia' },
];

const QUICK: readonly Member[] = [
  ...CONNECTIONS,
  { name: 'pushsync', set: { mode: 'chunks', 'chunks-per-node': '3' } },
  { name: 'retrieval', set: { sizes: '4096,64KiB', count: '3' } },
  { name: 'file-retrieval' },
  { name: 'soc' },
  { name: 'feed' },
  { name: 'pss' },
  { name: 'balances' },
  { name: 'postage' },
];

const CHECKS: readonly Member[] = [
  ...CONNECTIONS,
  { name: 'act' },
  { name: 'balances' },
  { name: 'bounced-cheque', set: { beneficiaries: '2', size: '1MiB' } },
  { name: 'chain-reorg' },
  { name: 'chain-stall', set: { stall: '5s' } },
  { name: 'changed-chunk' },
  { name: 'cheques' },
  { name: 'chunk-retrieval-loop' },
  { name: 'data-durability' },
  { name: 'feed' },
  { name: 'file-retrieval' },
  { name: 'gc' },
  { name: 'gsoc' },
  { name: 'ledger-verify' },
  { name: 'long-availability' },
  { name: 'lost-receipt' },
  { name: 'manifest' },
  { name: 'network-availability' },
  { name: 'postage' },
  { name: 'pss' },
  { name: 'pullsync', set: { 'chunks-per-node': '3' } },
  { name: 'pushsync', set: { 'chunks-per-node': '3', 'upload-node-count': '3' } },
  { name: 'pushsync', set: { mode: 'chunks', 'chunks-per-node': '3', 'upload-node-count': '3' } },
  { name: 'pushsync', set: { mode: 'light-chunks', 'chunks-per-node': '3' } },
  { name: 'redistribution-round', set: { rounds: '1' } },
  { name: 'redundancy', set: { levels: '1,3' } },
  { name: 'repeated-cheque' },
  { name: 'retrieval' },
  { name: 'settlements' },
  { name: 'smoke', set: { size: '4MiB' } },
  { name: 'soc' },
  { name: 'soc-convergence' },
  { name: 'stake' },
  { name: 'tags-and-pins', set: { size: '1MiB', chunks: '300' } },
  { name: 'upload' },
  { name: 'upload-stress', set: { 'file-count': '2', 'max-file-size': '1MiB' } },
  { name: 'withdraw' },
];

const CHAOS: readonly Member[] = [
  { name: 'batch-expiry' },
  { name: 'churn', set: { rounds: '2' } },
  { name: 'clock-skew', set: { tolerated: '1s', refused: '5m', hold: '1s' } },
  { name: 'disk-full' },
  { name: 'kill-during-upload' },
  { name: 'node-kill', set: { every: '3s', 'down-for': '2s', duration: '15s', 'min-reads': '0.9' } },
  { name: 'pause', set: { hold: '10s' } },
  { name: 'partition-and-heal', set: { hold: '10s', baseline: '2s' } },
  { name: 'rolling-restart' },
  { name: 'rolling-upgrade' },
  { name: 'slow-link', set: { hold: '3s' } },
  { name: 'storm', set: { duration: '30s' } },
];

const NIGHTLY_CHAOS: readonly Member[] = [
  { name: 'batch-expiry' },
  { name: 'byzantine' },
  { name: 'churn', set: { rounds: '10' } },
  { name: 'clock-skew' },
  { name: 'disk-full' },
  { name: 'kill-during-upload', set: { 'kill-times': '5', size: '20MiB' } },
  { name: 'node-kill', set: { duration: '10m' } },
  { name: 'partition-and-heal' },
  { name: 'pause' },
  { name: 'radius-growth' },
  { name: 'rolling-restart' },
  { name: 'rolling-upgrade' },
  { name: 'slow-link', set: { hold: '60s' } },
  { name: 'storm', set: { duration: '30m', reserve: '75000' } },
];

export const SUITES: Readonly<Record<string, Suite>> = {
  quick: { about: 'what fits into a minute', members: QUICK },
  ci: { about: 'every function, and each kind of fault for a few seconds', members: [...CHECKS, ...CHAOS] },
  nightly: {
    about: 'every function, and faults for hours',
    members: [...CHECKS.map(patient), ...NIGHTLY_CHAOS],
  },
};

/** Defaults, except for what takes long by itself. */
function patient({ name, set }: Member): Member {
  return name === 'pushsync' && set !== undefined ? { name, set } : { name };
}

export interface Chosen {
  readonly scenario: Scenario;
  readonly set: Readonly<Record<string, string>>;
}

/** Puts those that want the same cluster next to each other. @throws HarnessError `USAGE` */
export async function scenariosOfSuite(name: string): Promise<Chosen[]> {
  const suite = Object.hasOwn(SUITES, name) ? SUITES[name] : undefined;
  if (suite === undefined) {
    const known = Object.keys(SUITES);
    throw new HarnessError(
      'USAGE',
      `--suite: got '${name}', expected one of ${known.join(', ')}${suggestion(name, known)}`,
    );
  }
  const chosen = await Promise.all(
    suite.members.map(async (member) => ({
      scenario: await loadScenario(member.name),
      set: member.set ?? {},
    })),
  );
  return byCluster(chosen);
}

/** @param tag a tag or a group @throws HarnessError `USAGE` */
export async function scenariosWithTag(tag: string): Promise<Chosen[]> {
  const all = await Promise.all(bundledScenarios().map(loadScenario));
  const chosen = all.filter((scenario) => tagsOf(scenario).includes(tag));
  if (chosen.length === 0) {
    const known = await tagsOfAll();
    throw new HarnessError(
      'USAGE',
      `--tag: got '${tag}', expected one of ${known.join(', ')}${suggestion(tag, known)}`,
    );
  }
  return byCluster(chosen.map((scenario) => ({ scenario, set: {} })));
}

export async function tagsOfAll(): Promise<string[]> {
  const all = await Promise.all(bundledScenarios().map(loadScenario));
  return [...new Set(all.flatMap(tagsOf))].toSorted();
}

export function tagsOf({ group, tags = [] }: Pick<Scenario, 'group' | 'tags'>): string[] {
  return [group, ...tags];
}

/** Every change of cluster costs a start. */
function byCluster(chosen: readonly Chosen[]): Chosen[] {
  const kinds = Map.groupBy(chosen, ({ scenario }) => kindWanted(scenario));
  return [...kinds.values()].flat();
}
