/** PromQL of the metrics of nodes and of the testbed, filtered by the variables of the boards. */

const NODE_FILTER = 'node=~"$node",group=~"$group"';
/** Exactly one: what two runs say of the same nodes must not be added up. */
const RUN_FILTER = 'run="$run"';

/**
 * A metric that nodes declare without its prefix, which is `svc` or `bee`: in a mixed network both are shown.
 * @param name such as `pushsync_total_sent` @param labels more filters, such as `status="ok"`
 */
export function ofNodes(name: string, labels = ''): string {
  return `{__name__=~"\${namespace}_${name}",${NODE_FILTER}${labels === '' ? '' : `,${labels}`}}`;
}

/** A metric of the process of a node, which has no prefix. */
export function ofProcesses(name: string, labels = ''): string {
  return `${name}{job="nodes",${NODE_FILTER}${labels === '' ? '' : `,${labels}`}}`;
}

/** A metric of a run, without the prefix `testbed_`. */
export function ofRun(name: string, labels = ''): string {
  return `testbed_${name}{${RUN_FILTER}${labels === '' ? '' : `,${labels}`}}`;
}

/** A metric of the testbed about nodes. */
export function ofMembers(name: string, labels = ''): string {
  return `testbed_${name}{${RUN_FILTER},${NODE_FILTER}${labels === '' ? '' : `,${labels}`}}`;
}

/** Per second, over the interval that the board chooses. */
export function rate(selector: string): string {
  return `rate(${selector}[$interval])`;
}

export function increase(selector: string, over = '$interval'): string {
  return `increase(${selector}[${over}])`;
}

/** What a run says at its very end is read once or twice before the run is gone: its last value is kept for a while. */
export function last(selector: string): string {
  return `last_over_time(${selector}[$interval])`;
}

export function sum(expr: string, ...by: readonly string[]): string {
  return by.length === 0 ? `sum(${expr})` : `sum by (${by.join(', ')}) (${expr})`;
}

/** Zero where nothing of a part has been seen yet, but of the whole. */
export function orZero(part: string, whole: string): string {
  return `(${part} or ${whole} * 0)`;
}

/** Not a number where nothing has been counted, which is drawn as a gap. */
export function share(part: string, whole: string): string {
  return `${orZero(part, whole)} / ${whole}`;
}

/**
 * Of a histogram, never of percentiles.
 * @param selector of its buckets
 */
export function quantile(q: number, selector: string, ...by: readonly string[]): string {
  return `histogram_quantile(${q}, ${sum(rate(selector), 'le', ...by)})`;
}
