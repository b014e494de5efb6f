/** The public network's check files: `checks` from names to type, timeout and options. Source: `scenarios.md` Appendix A. */
import { z } from 'zod';
import { durationText, parseWaitMs, WAIT_EXPECTED } from '../../formats/units.ts';
import { HarnessError } from '../base/errors.ts';
import { mistakeLines } from '../base/foreign-text.ts';
import { suggestion } from '../base/format.ts';
import { bundledScenarios, loadScenario } from './catalogue.ts';
import { ParameterError, resolveParameters, type Scenario } from './scenario.ts';
import type { Chosen } from './suites.ts';

interface Row {
  readonly scenario: string;
  readonly set?: Readonly<Record<string, string>>;
  /** Theirs to ours; one of theirs may map to several of ours. */
  readonly options?: Readonly<Record<string, string | readonly string[]>>;
}

const COLLECTION = { 'files-in-collection': 'files', 'max-pathname-length': 'pathBytes' } as const;

const TYPES: Readonly<Record<string, Row>> = {
  act: { scenario: 'act', options: { 'file-size': 'size' } },
  balances: { scenario: 'balances', options: { 'file-size': 'size', 'upload-node-count': 'uploaders' } },
  cashout: { scenario: 'cheques' },
  datadurability: { scenario: 'data-durability' },
  feed: { scenario: 'feed', set: { versions: 'v2' }, options: { 'n-updates': 'updates' } },
  'feed-v1': { scenario: 'feed', set: { versions: 'v1' }, options: { 'n-updates': 'updates' } },
  'file-retrieval': {
    scenario: 'file-retrieval',
    options: {
      'file-name': 'file',
      'file-size': 'size',
      'files-per-node': 'count',
      'upload-node-count': 'uploaders',
    },
  },
  'full-connectivity': { scenario: 'full-connectivity' },
  gc: { scenario: 'gc' },
  gsoc: { scenario: 'gsoc' },
  kademlia: { scenario: 'kademlia' },
  load: { scenario: 'upload-stress', options: { 'content-size': ['min-file-size', 'max-file-size'] } },
  longavailability: { scenario: 'long-availability' },
  manifest: { scenario: 'manifest', set: { versions: 'v2' }, options: COLLECTION },
  'manifest-v1': { scenario: 'manifest', set: { versions: 'v1' }, options: COLLECTION },
  networkavailability: { scenario: 'network-availability' },
  'peer-count': { scenario: 'peer-count' },
  pingpong: { scenario: 'pingpong' },
  postage: { scenario: 'postage' },
  pss: { scenario: 'pss', options: { 'address-prefix': 'prefix' } },
  pullsync: { scenario: 'pullsync' },
  pushsync: { scenario: 'pushsync' },
  redundancy: { scenario: 'redundancy', options: { 'data-size': 'size' } },
  retrieval: { scenario: 'chunk-retrieval-loop' },
  settlements: { scenario: 'settlements', options: { 'file-size': 'size' } },
  smoke: { scenario: 'retrieval', options: { 'content-size': 'sizes', 'file-sizes': 'sizes' } },
  soc: { scenario: 'soc' },
  stake: { scenario: 'stake' },
  withdraw: { scenario: 'withdraw' },
};

/** Batches, funds and metrics are the cluster's. */
const TAKEN_CARE_OF = new Set([
  'postage-ttl',
  'postage-depth',
  'postage-label',
  'postage-amount',
  'metrics-enabled',
  'seed',
  'rnd-seed',
]);

/** Each entry loads a scenario, or is compared with all names. */
const ENTRIES_MAX = 200;
const few = (map: object) => Object.keys(map).length <= ENTRIES_MAX;

const option = z.union([z.string(), z.number(), z.boolean(), z.array(z.union([z.string(), z.number()]))]);
const document = z.looseObject({
  checks: z
    .record(
      z.string(),
      z.strictObject({
        type: z.string(),
        timeout: z.string().optional(),
        options: z
          .record(z.string(), option)
          .refine(few, { error: `at most ${ENTRIES_MAX} options` })
          .nullish(),
      }),
      { error: 'a map from names to checks' },
    )
    .refine(few, { error: `at most ${ENTRIES_MAX} checks` }),
});

export interface ChecksFile {
  readonly chosen: readonly Chosen[];
  readonly unknown: readonly string[];
}

/**
 * @param input parsed YAML @param source names it in messages
 * @throws HarnessError `DEFINITION_INVALID` without checks, or for a wrong value
 */
export async function readChecks(input: unknown, source: string): Promise<ChecksFile> {
  const parsed = document.safeParse(input);
  if (!parsed.success) {
    const mistakes = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
    throw new HarnessError('DEFINITION_INVALID', mistakeLines(mistakes, source));
  }
  const chosen: Chosen[] = [];
  const unknown: string[] = [];
  for (const [name, { type, timeout, options }] of Object.entries(parsed.data.checks)) {
    const row = Object.hasOwn(TYPES, type) ? TYPES[type] : ownRow(type);
    if (row === undefined) {
      unknown.push(`${name}: no check of type '${type}'${suggestion(type, Object.keys(TYPES))}`);
      continue;
    }
    const scenario = await loadScenario(row.scenario);
    const set: Record<string, string> = { ...row.set };
    for (const [given, value] of Object.entries(options ?? {})) {
      const named = [row.options?.[given] ?? given].flat();
      const known = named.filter((own) => Object.hasOwn(scenario.parameters, own));
      for (const own of known) set[own] = textOf(scenario, own, value);
      if (known.length === 0 && !TAKEN_CARE_OF.has(given)) {
        const names = [...Object.keys(row.options ?? {}), ...Object.keys(scenario.parameters)];
        unknown.push(`${name}: ${type} has no option '${given}'${suggestion(given, names)}`);
      }
    }
    expectValues(scenario, set, `${source}: ${name}`);
    chosen.push({ scenario: withTimeout(scenario, timeout, `${source}: ${name}`), set });
  }
  return { chosen, unknown };
}

/** Our own names are types, too. */
function ownRow(type: string): Row | undefined {
  return bundledScenarios().includes(type) ? { scenario: type } : undefined;
}

/** Sizes are bytes, durations may be plain milliseconds. */
function textOf(scenario: Scenario, name: string, value: z.infer<typeof option>): string {
  if (Array.isArray(value)) return value.join(',');
  const isDuration = scenario.parameters[name]?.kind === 'duration';
  return isDuration && typeof value === 'number' ? durationText(value) : String(value);
}

function expectValues(scenario: Scenario, set: Readonly<Record<string, string>>, where: string): void {
  try {
    resolveParameters(scenario, new Map(Object.entries(set)));
  } catch (error) {
    if (error instanceof ParameterError)
      throw new HarnessError('DEFINITION_INVALID', `${where}: ${error.message}`, { cause: error });
    throw error;
  }
}

function withTimeout(scenario: Scenario, timeout: string | undefined, where: string): Scenario {
  if (timeout === undefined) return scenario;
  const timeoutMs = parseWaitMs(timeout);
  if (timeoutMs === undefined)
    throw new HarnessError(
      'DEFINITION_INVALID',
      `${where}: timeout: got '${timeout}', expected ${WAIT_EXPECTED}`,
    );
  return { ...scenario, timeoutMs };
}
