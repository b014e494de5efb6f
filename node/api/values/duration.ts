/** Durations in the API's notation: `http-api-completion.md` 4.1. */
import { parseDurationMs } from '../../../formats/units.ts';

const UNIT_MS = { ns: 1e-6, us: 1e-3, µs: 1e-3, μs: 1e-3, ms: 1, s: 1e3, m: 6e4, h: 3.6e6 } as const;
const MINUTE_NS = 6e10;
/** 2^63 nanoseconds, as in Bees. */
const MAX_MS = 2 ** 63 / 1e6;

/** `1m30s`, `500ms`, or bare milliseconds; else undefined. */
export function parseDuration(text: string): number | undefined {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  const ms = parseDurationMs(text, UNIT_MS);
  return ms === undefined || ms >= MAX_MS ? undefined : ms;
}

/** `412ns`, `3.2µs`, `5.0018ms`, `1.5s`, `2m3s`, `1h0m0.5s`. */
export function formatDuration(ms: number): string {
  const ns = Math.round(ms * 1e6);
  if (ns === 0) return '0s';
  if (ns < 1e3) return `${ns}ns`;
  if (ns < 1e6) return `${decimal(ns, 3)}µs`;
  if (ns < 1e9) return `${decimal(ns, 6)}ms`;
  const minutes = Math.floor(ns / MINUTE_NS);
  const seconds = `${decimal(ns - minutes * MINUTE_NS, 9)}s`;
  if (minutes === 0) return seconds;
  return minutes < 60 ? `${minutes}m${seconds}` : `${Math.floor(minutes / 60)}h${minutes % 60}m${seconds}`;
}

/** `ns` divided by 10^places, without trailing zeros. */
function decimal(ns: number, places: number): string {
  const digits = String(ns).padStart(places + 1, '0');
  const fraction = digits.slice(-places).replace(/0+$/, '');
  return fraction === '' ? digits.slice(0, -places) : `${digits.slice(0, -places)}.${fraction}`;
}
