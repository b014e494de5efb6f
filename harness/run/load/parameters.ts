import { DURATION_EXPECTED, parseDurationMs } from '../../../formats/units.ts';
import { HarnessError } from '../../base/errors.ts';
import { suggestion } from '../../base/format.ts';
import { type ParametersOf, parameter } from '../scenario.ts';
import { LOAD_PROFILES, type LoadModel, type LoadPlan, type LoadProfile } from './plan.ts';
import { parseReads } from './reads.ts';
import { findScript, type LoadScript } from './scripts.ts';
import { parseSizes } from './sizes.ts';
import { ERRORS_DEFAULT, parseRate, parseThreshold, type Threshold } from './thresholds.ts';

const RATE_DEFAULT = '10/s';
const RATE_MAX = 10_000;
const VUS_MAX = 1000;
const SIZES_DEFAULT = '64KiB';
const READS_DEFAULT = 'zipf:1.1';
const DURATION_DEFAULT: Readonly<Record<LoadProfile, string>> = {
  constant: '1m',
  ramp: '1m',
  spike: '1m',
  soak: '30m',
};
/** Nodes compile hot code and open their connections meanwhile. */
const WARMUP_DEFAULT = '3s';
const REDUNDANCY_MAX = 4;
const DURATION_MAX_MS = 24 * 3_600_000;

/** Empty texts let the load choose. */
export const LOAD_PARAMETERS = {
  script: parameter('text', 'upload', 'built-in load, or the path of a k6 script'),
  profile: parameter('text', 'constant', 'shape of the load over time', {
    oneOf: LOAD_PROFILES,
  }),
  rate: parameter('text', '', `arrival rate of iterations, such as 20/s (default: ${RATE_DEFAULT})`),
  vus: parameter(
    'integer',
    0,
    'concurrent users instead of a rate; each starts its next iteration when the last one ends; 0: use the rate',
  ),
  duration: parameter('text', '', 'length of the measured phase (default: 1m; soak: 30m)'),
  warmup: parameter(
    'text',
    '',
    `length of the unmeasured phase before the measured one (default: ${WARMUP_DEFAULT}; 0s with your own script)`,
  ),
  sizes: parameter('text', '', `sizes of the uploads, such as 4KiB..1MiB (default: ${SIZES_DEFAULT})`),
  mode: parameter(
    'text',
    'direct',
    'when an upload is answered: once the network has stored it (direct), or once the node has (deferred)',
    {
      oneOf: ['direct', 'deferred'],
    },
  ),
  encrypt: parameter('boolean', false, 'encrypt uploads'),
  redundancy: parameter('integer', 0, 'redundancy level, 0 to 4'),
  reads: parameter('text', '', `which objects are read: zipf:EXPONENT or cold (default: ${READS_DEFAULT})`),
  objects: parameter('integer', 50, 'number of objects to upload in advance, for reading', { min: 1 }),
  readShare: parameter('integer', 80, 'for mixed: percentage of downloads'),
  files: parameter('integer', 10, 'number of files per directory', { min: 1 }),
  node: parameter('node', '', 'only node to upload to; all in turn when empty'),
  thresholds: parameter('list', [], 'conditions such as p95<500ms, errors<1%, upload:rate>=20/s'),
  findLimit: parameter(
    'text',
    '',
    'condition such as p95<500ms: search for the highest rate that meets it, starting at rate',
  ),
  k6: parameter('text', '', 'k6 executable (default: SVCNET_K6, then PATH, then its container image)'),
};
/** Values of `LOAD_PARAMETERS`. */
export type LoadParameters = ParametersOf<typeof LOAD_PARAMETERS>;

const COMPARE_SHARE = 0.1;

/** @throws HarnessError `USAGE` for invalid values, and for those that exclude each other */
export function loadPlan(parameters: LoadParameters, seed: bigint): LoadPlan {
  const script = findScript(parameters.script);
  const profile = parameters.profile as LoadProfile;
  refuseUnused(script, parameters);
  const warmup = parameters.warmup === '' ? (script.own ? '0s' : WARMUP_DEFAULT) : parameters.warmup;
  const { encrypt, objects, files } = parameters;
  const objective =
    parameters.findLimit === '' ? [] : [parseThreshold(objectiveOf(parameters), '--find-limit')];
  return {
    script: parameters.script,
    profile,
    model: modelOf(parameters),
    node: parameters.node === '' ? undefined : parameters.node,
    durationMs: durationOf('--duration', parameters.duration || DURATION_DEFAULT[profile], 1000),
    warmupMs: durationOf('--warmup', warmup, 0),
    sizes: parseSizes(parameters.sizes || SIZES_DEFAULT),
    mode: parameters.mode as LoadPlan['mode'],
    encrypt,
    redundancyLevel: atMost('--redundancy', parameters.redundancy, REDUNDANCY_MAX),
    reads: parseReads(parameters.reads || READS_DEFAULT),
    objects,
    readShare: atMost('--read-share', parameters.readShare, 100) / 100,
    compareShare: COMPARE_SHARE,
    files,
    thresholds: thresholdsOf(script, [
      ...objective,
      ...parameters.thresholds.map((text) => parseThreshold(text)),
    ]),
    seed,
    label: 'load',
  };
}

function objectiveOf({ findLimit, vus, profile, duration }: LoadParameters): string {
  const [flag] =
    (
      [
        ['--vus', vus !== 0],
        ['--profile', profile !== 'constant'],
        ['--duration', duration !== ''],
      ] as const
    ).find(([, isGiven]) => isGiven) ?? [];
  if (flag === undefined) return findLimit;
  throw new HarnessError(
    'USAGE',
    `${flag}: the search for a limit chooses rates and lengths itself; leave it out`,
    {
      hint: '--rate says where the search begins.',
    },
  );
}

function modelOf({ rate, vus }: LoadParameters): LoadModel {
  if (vus === 0) return { model: 'open', rate: rateOf(rate || RATE_DEFAULT) };
  if (rate !== '') {
    throw new HarnessError(
      'USAGE',
      `--rate ${rate} starts iterations by the clock, --vus ${vus} when users are free: choose one of them`,
    );
  }
  return { model: 'closed', vus: atMost('--vus', vus, VUS_MAX) };
}

function rateOf(text: string): number {
  const rate = parseRate(text);
  // k6 counts in whole iterations per minute.
  if (rate !== undefined && rate * 60 >= 1 && rate <= RATE_MAX) return rate;
  throw new HarnessError(
    'USAGE',
    `--rate: got '${text}', expected a rate such as 20/s or 90/m, from 1/m to ${RATE_MAX}/s`,
  );
}

function durationOf(flag: string, text: string, minMs: number): number {
  const ms = text === '0' ? 0 : parseDurationMs(text);
  if (ms !== undefined && ms >= minMs && ms <= DURATION_MAX_MS) return ms;
  throw new HarnessError(
    'USAGE',
    `${flag}: got '${text}', expected ${DURATION_EXPECTED}, from ${minMs / 1000}s to 24h`,
  );
}

function atMost(flag: string, value: number, max: number): number {
  if (value <= max) return value;
  throw new HarnessError('USAGE', `${flag}: got ${value}, expected a whole number from 0 to ${max}`);
}

function refuseUnused({ name, facts, own }: LoadScript, parameters: LoadParameters): void {
  if (own) return;
  const { shapes, reads, writes } = facts;
  const unused = [
    ['--sizes', parameters.sizes !== '', writes || reads],
    ['--encrypt', parameters.encrypt, shapes],
    ['--redundancy', parameters.redundancy !== 0, shapes],
    ['--reads', parameters.reads !== '', reads],
    ['--mode', parameters.mode === 'deferred', writes || facts.updates === true],
  ] as const;
  const [flag] = unused.find(([, isGiven, isUsed]) => isGiven && !isUsed) ?? [];
  if (flag !== undefined) throw new HarnessError('USAGE', `${flag} has no meaning for the load '${name}'`);
}

function thresholdsOf({ name, facts }: LoadScript, given: Threshold[]): Threshold[] {
  const { operations } = facts;
  for (const { text, operation } of given) {
    if (operation === undefined || operations === undefined || operations.includes(operation)) continue;
    throw new HarnessError(
      'USAGE',
      `'${text}': the load '${name}' has no operation '${operation}'${suggestion(operation, operations)} (it has: ${operations.join(', ')})`,
    );
  }
  const hasErrors = given.some(({ figure, operation }) => figure === 'errors' && operation === undefined);
  return hasErrors ? given : [...given, parseThreshold(ERRORS_DEFAULT)];
}
