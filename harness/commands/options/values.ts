import { DURATION_EXPECTED, parseDurationMs, parseWaitMs, WAIT_EXPECTED } from '../../../formats/units.ts';
import { NotExpected, seed, whole } from '../../cluster/plan/options/flag.ts';
import type { Options } from './spec.ts';

const INTERVAL_MS = { min: 100, max: 3_600_000 } as const;

export const JSON_OPTION = {
  '--json': { help: 'print one JSON document and nothing else', once: true },
} as const satisfies Options;

export const NAME_OPTION = { '--name <cluster>': 'name of the cluster (default: the only one)' };

export const ONE_CLUSTER = { ...NAME_OPTION, ...JSON_OPTION };

export const WIDE_OPTION = { '--wide': { help: 'print every value in full', once: true } } as const;

export const METRICS_PORT_OPTION = {
  '--metrics-port <port>': {
    help: 'local port that serves /metrics of the run itself while the run lasts (default: none)',
    parse: whole(1024, 65_535),
    once: true,
  },
} as const satisfies Options;

export function big(text: string): bigint {
  if (/^\d{1,78}$/.test(text)) return BigInt(text);
  throw new NotExpected('Expected a whole number.');
}

export function duration(text: string): number {
  const ms = parseDurationMs(text);
  if (ms !== undefined) return ms;
  throw new NotExpected(`Expected ${DURATION_EXPECTED}.`);
}

export interface SeedRange {
  readonly first: bigint;
  readonly last: bigint;
}

export function seedRange(text: string): SeedRange {
  const [, from, to] = /^(\w+)\.\.(\w+)$/.exec(text) ?? [];
  if (from === undefined || to === undefined) throw new NotExpected('Expected two seeds, such as 1..1000.');
  const [first, last] = [seed(from), seed(to)];
  if (first <= last) return { first, last };
  throw new NotExpected('Expected the lower seed first, such as 1..1000.');
}

export function limit(text: string): number {
  const ms = parseWaitMs(text);
  if (ms !== undefined) return ms;
  throw new NotExpected(`Expected ${WAIT_EXPECTED}.`);
}

export function interval(text: string): number {
  const ms = parseDurationMs(text);
  if (ms !== undefined && ms >= INTERVAL_MS.min && ms <= INTERVAL_MS.max) return ms;
  throw new NotExpected(`Expected ${DURATION_EXPECTED}, from 100ms to 1h.`);
}

/** What `--flavours` takes. */
export const FLAVOURS_HELP =
  'two or more, separated by commas: svc, bee or the path of a flavour file, with @PROGRAM for another program';

export function reference(text: string): string {
  if (/^(?:[0-9a-fA-F]{64}){1,2}$/.test(text)) return text.toLowerCase();
  throw new NotExpected('Expected 64 hex digits, or 128 with the key of encrypted content.');
}

export function batch(text: string): string {
  if (/^[0-9a-f]{64}$/i.test(text)) return text.toLowerCase();
  throw new NotExpected('Expected 64 hex digits.');
}
