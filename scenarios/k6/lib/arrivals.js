/**
 * Intended starts of an open model's iterations. k6 starts each when a user is free, or drops it; latencies without that
 * wait make every percentile too low. Runs in k6 and in Node.js.
 */

import { DURATION_EXPECTED, parseDurationMs } from '../../../formats/units.ts';

/**
 * A k6 scenario as in its options, with durations as texts or ms.
 * @typedef {object} Executor
 * @property {string} executor
 * @property {number | null} [rate] k6 has null for what was not set
 * @property {number | null} [startRate]
 * @property {string | number | null} [timeUnit]
 * @property {{ duration: string | number, target: number }[] | null} [stages]
 */

/**
 * Ms after the scenario's begin at which its n-th iteration is meant to start. A dropped iteration has no
 * number: the ones after it take its place, and their waiting time grows by it.
 * @param {Executor} scenario
 * @param {number} n from 0
 * @returns {number | undefined} undefined for a closed model, whose iterations start when users are free
 */
export function intendedStartMs({ executor, rate, startRate, timeUnit, stages }, n) {
  const unitMs = durationMs(timeUnit ?? '1s');
  if (executor === 'constant-arrival-rate') return (n * unitMs) / (rate ?? 1);
  if (executor !== 'ramping-arrival-rate') return undefined;
  // Iteration n starts when the area below the rate has reached n + 1.
  let missing = n + 1;
  let from = (startRate ?? 0) / unitMs;
  let beginMs = 0;
  for (const { duration, target } of stages ?? []) {
    const to = target / unitMs;
    const lengthMs = durationMs(duration);
    const area = (lengthMs * (from + to)) / 2;
    if (missing <= area) return beginMs + timeToArea(missing, { from, to, lengthMs });
    missing -= area;
    beginMs += lengthMs;
    from = to;
  }
  return beginMs;
}

/**
 * @param {number} area
 * @param {{ from: number, to: number, lengthMs: number }} stage whose rate changes evenly
 */
function timeToArea(area, { from, to, lengthMs }) {
  if (from === to) return area / to;
  const slope = (to - from) / lengthMs;
  return (Math.sqrt(Math.max(0, from * from + 2 * slope * area)) - from) / slope;
}

/**
 * @param {string | number} text such as `1m30s`; a number is ms
 * @returns {number}
 * @throws {RangeError} when the text is no duration
 */
export function durationMs(text) {
  const ms = typeof text === 'number' ? text : parseDurationMs(text);
  if (ms === undefined) throw new RangeError(`got '${text}', expected ${DURATION_EXPECTED}`);
  return ms;
}
