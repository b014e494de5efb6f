/** `svcnet load` wraps this around a script: missing options, and the summary for the harness. */
import { config } from '../lib/config.js';

/** @import { Options } from 'k6/options' */

const SHAPES = /** @type {const} */ (['scenarios', 'stages', 'vus', 'duration', 'iterations']);

/**
 * A script that sets how it runs keeps that; everything else is merged.
 * @param {Options} [own]
 * @returns {Options}
 */
export function optionsOf(own = {}) {
  const { scenarios, thresholds, summaryTrendStats, ...rest } = /** @type {Options} */ (config.options);
  const hasShape = SHAPES.some((name) => own[name] !== undefined);
  const all = { ...own.thresholds };
  for (const [metric, conditions] of Object.entries(thresholds ?? {})) {
    all[metric] = [...(all[metric] ?? []), ...conditions];
  }
  return {
    ...rest,
    ...own,
    ...(hasShape || scenarios === undefined ? {} : { scenarios }),
    thresholds: all,
    summaryTrendStats: [...new Set([...(own.summaryTrendStats ?? []), ...(summaryTrendStats ?? [])])],
  };
}

/**
 * @param {unknown} data of k6
 * @param {((data: unknown) => Record<string, string>) | undefined} own
 * @returns {Record<string, string>}
 */
export function summaryOf(data, own) {
  return { ...own?.(data), [config.summary]: JSON.stringify(data) };
}
