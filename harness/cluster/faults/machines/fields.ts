import { z } from 'zod';
import { parseDurationMs } from '../../../../formats/units.ts';
import { duration, type FaultField, nodeName, parseNames, signedTextOr } from '../fields.ts';

export const oneNode = z.strictObject({ node: nodeName });
export type OneNode = z.infer<typeof oneNode>;

export function whole(min: number, max: number, unit: string) {
  const error = `a whole number of ${unit} from ${min} to ${max}`;
  return z.preprocess(numberIn, z.int({ error }).min(min, { error }).max(max, { error }));
}

function numberIn(value: unknown): unknown {
  return typeof value === 'string' && /^-?\d{1,15}$/.test(value) ? Number(value) : value;
}

const SIGNED_EXPECTED = 'a duration such as 5m or -10s, or milliseconds';

export const signedDuration = signedTextOr(SIGNED_EXPECTED, signedMs);

function signedMs(text: string): number | undefined {
  const ms = parseDurationMs(text.replace(/^[-+]/, ''));
  return ms === undefined || !text.startsWith('-') ? ms : -ms;
}

export const flag = z.boolean({ error: 'true or false' }).default(false);

export const away = { wipe: flag, down: duration.default(0) };
export const AWAY_FIELDS: readonly FaultField[] = [
  { field: 'wipe', flag: '--wipe', about: 'lose everything stored except the keys' },
  { field: 'down', flag: '--down <duration>', about: 'how long each is away (default: 0s)' },
];

export const SOME_NODES: FaultField = {
  field: 'nodes',
  flag: '[nodes]',
  about: 'comma-separated names (default: all running nodes)',
  parse: parseNames,
};

export const PERCENT: FaultField = { field: 'percent', flag: '--percent <number>', about: 'from 1 to 100' };
