/**
 * Durations and sizes as people write them: one grammar, one description for errors. A duration may have several parts, the
 * largest unit first or not.
 */

/** A longer timer of the runtime fires at once. */
export const TIMER_MAX_MS = 2 ** 31 - 1;

/** A request must not make a regular expression work long. */
const LENGTH_MAX = 64;
const WRITTEN_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

export const DURATION_EXPECTED = 'a duration such as 500ms, 15s or 1m30s';

/**
 * `500ms`, `0.5s`, `1m30s`, `24h`, `2d` → milliseconds; undefined when the text is none of these.
 * @param unitsMs milliseconds of each unit; default: ms, s, m, h and d
 */
export function parseDurationMs(
  text: string,
  unitsMs: Readonly<Record<string, number>> = WRITTEN_MS,
): number | undefined {
  if (text.length > LENGTH_MAX) return undefined;
  const parts = [...text.matchAll(/(\d+(?:\.\d*)?|\.\d+)([a-zµμ]+)/g)];
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== text) return undefined;
  const ms = parts.map(([, count, unit = '']) => Number(count) * (unitsMs[unit] ?? Number.NaN));
  const sum = ms.reduce((total, part) => total + part, 0);
  return Number.isNaN(sum) ? undefined : sum;
}

export const WAIT_EXPECTED = `${DURATION_EXPECTED}, at most 24d`;

/** Undefined also when it is too long for a timer. */
export function parseWaitMs(text: string): number | undefined {
  const ms = parseDurationMs(text);
  return ms === undefined || ms > TIMER_MAX_MS ? undefined : ms;
}

/** `1m30s`. @param ms whole milliseconds */
export function durationText(ms: number): string {
  let left = ms;
  const parts = Object.entries(WRITTEN_MS)
    .toReversed()
    .map(([unit, of]) => {
      const count = Math.floor(left / of);
      left -= count * of;
      return count === 0 ? '' : `${count}${unit}`;
    });
  return parts.join('') || '0s';
}

const BINARY_UNITS = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 } as const;
export const SIZE_UNITS = { ...BINARY_UNITS, kB: 1e3, KB: 1e3, MB: 1e6, GB: 1e9 } as const;

export const SIZE_EXPECTED = 'a size such as 4096, 64KiB or 1.5MiB';

/** `4096`, `64KiB`, `1.5 GiB`, `2MB` → bytes, the nearest whole number; undefined when the text is none of these. */
export function parseSizeBytes(text: string): number | undefined {
  const [, count, unit = 'B'] = /^(\d+(?:\.\d+)?)\s*([A-Za-z]+)?$/.exec(text) ?? [];
  const bytes = Math.round(
    Number(count) * ((SIZE_UNITS as Readonly<Record<string, number>>)[unit] ?? Number.NaN),
  );
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}

const RATE_UNITS: Readonly<Record<string, number>> = {
  ...SIZE_UNITS,
  kbit: 125,
  Mbit: 125_000,
  Gbit: 125_000_000,
};

export const RATE_EXPECTED = 'a rate such as 1MB/s or 2Mbit/s';

/** `1MB/s`, `2Mbit/s` → bytes per second; undefined when the text is none of these. */
export function parseRate(text: string): number | undefined {
  const [, count, unit = 'B'] = /^(\d+(?:\.\d+)?)(\w+)\/s$/.exec(text) ?? [];
  const bytes = RATE_UNITS[unit];
  return count === undefined || bytes === undefined ? undefined : Number(count) * bytes;
}

export function sizeText(bytes: number): string {
  const [unit, size] = Object.entries(BINARY_UNITS).findLast(([, of]) => bytes % of === 0) ?? ['B', 1];
  return `${bytes / size} ${unit}`;
}
