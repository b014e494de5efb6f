import { z } from 'zod';
import { DURATION_EXPECTED, parseDurationMs, parseRate, RATE_EXPECTED } from '../../../../formats/units.ts';
import { durationMs, textAs } from '../../../base/fields.ts';
import internet from '../../../places/links/internet.json' with { type: 'json' };
import { type Regions, regionMistakes } from '../../../places/links/regions.ts';
import { text } from '../fields.ts';
import { NotExpected } from './flag.ts';

export const INTERNET = 'internet';
const ROUND_TRIP_MAX_MS = 60_000;
/** Bytes per second; slower nodes fail their handshakes. */
const RATE_MIN = 1000;

const REGIONS_EXPECTED =
  "'internet', or a map with shares and roundTripMs; in a cluster file also the path of a file with such a map";
const MS_EXPECTED = `milliseconds from 0 to ${ROUND_TRIP_MAX_MS}`;
const SHARE_EXPECTED = 'a share of the nodes, a number above 0';

const milliseconds = z
  .number({ error: MS_EXPECTED })
  .min(0, { error: MS_EXPECTED })
  .max(ROUND_TRIP_MAX_MS, { error: MS_EXPECTED });

const regionMap = z.strictObject(
  {
    about: text('text').optional().describe('Where the figures come from.'),
    shares: z
      .record(z.string(), z.number({ error: SHARE_EXPECTED }).positive({ error: SHARE_EXPECTED }), {
        error: 'a map of regions to their shares of the nodes',
      })
      .refine((shares) => Object.keys(shares).length > 0, { error: 'at least one region' })
      .describe('Regions by name, each with its share of the nodes, relative to the sum of all.'),
    roundTripMs: z
      .record(z.string(), z.record(z.string(), milliseconds, { error: 'a map of regions to milliseconds' }), {
        error: 'a map of regions to maps of regions to milliseconds',
      })
      .describe('Round trips between two regions and within each, milliseconds; each pair once.'),
  },
  { error: REGIONS_EXPECTED },
);

export const network = z.strictObject(
  {
    latency: durationMs
      .refine((ms) => ms <= ROUND_TRIP_MAX_MS, { error: `${DURATION_EXPECTED}, at most 1m` })
      .optional()
      .describe('Round trip between any two nodes.'),
    jitter: durationMs
      .refine((ms) => ms <= ROUND_TRIP_MAX_MS, { error: `${DURATION_EXPECTED}, at most 1m` })
      .optional()
      .describe('Variation of a round trip, up to this much either way, drawn from the seed.'),
    regions: z
      .union([z.literal(INTERNET), regionMap], { error: REGIONS_EXPECTED })
      .transform((value): Regions => (value === INTERNET ? internet : value))
      .optional()
      .describe(
        'Regions of the world that the seed places the nodes in: internet, or a map, or in a cluster file the path of one.',
      ),
    bandwidth: textAs(RATE_EXPECTED, parseRate)
      .refine((rate) => rate >= RATE_MIN, { error: `${RATE_EXPECTED}, at least 1kB/s` })
      .optional()
      .describe('What each node sends at most, on all its links together, such as 10Mbit/s.'),
  },
  { error: 'a map with latency, jitter, regions and bandwidth' },
);

/** @returns a line each, without the network's key */
export function networkMistakes({ latency, jitter, regions }: z.output<typeof network>): string[] {
  if (regions === undefined) {
    if (jitter === undefined || latency !== undefined) return [];
    return [`.jitter: got ${jitter} ms alone, expected latency or regions beside it`];
  }
  const both =
    latency === undefined ? [] : [`.latency: got ${latency} ms beside regions, expected one of the two`];
  return [...both, ...regionMistakes(regions).map((line) => `.regions${line}`)];
}

/** After commas: a round trip and perhaps its jitter, or the regions by name; then what a node sends. */
export function networkFlag(value: string): z.input<typeof network> {
  const parts = value.split(',');
  const isRate = parseRate(parts.at(-1) ?? '') !== undefined;
  const bandwidth = isRate ? { bandwidth: parts.pop() } : {};
  const [latency, jitter, ...others] = parts;
  if (latency === undefined) return bandwidth;
  if (latency === INTERNET && jitter === undefined) return { regions: INTERNET, ...bandwidth };
  const isDuration = (text: string) => parseDurationMs(text) !== undefined;
  if (others.length === 0 && isDuration(latency)) {
    if (jitter === undefined) return { latency, ...bandwidth };
    if (isDuration(jitter)) return { latency, jitter, ...bandwidth };
  }
  throw new NotExpected(
    `Expected ${INTERNET}, or a round trip and, after a comma, its jitter: ${DURATION_EXPECTED}; and, after a comma, what each node sends at most: ${RATE_EXPECTED}.`,
  );
}

export function writtenNetwork({ latency, jitter, regions, bandwidth }: z.input<typeof network>): string {
  const parts = [regions === undefined ? latency : INTERNET, jitter, bandwidth];
  return parts.filter((part) => part !== undefined).join();
}
