/** PromQL of nodes' and the testbed's metrics, filtered by the boards' variables. */

const NODE_FILTER = 'node=~"$node",group=~"$group"';
/** What two runs say of the same nodes must not be added up. */
const RUN_FILTER = 'run="$run"';

/**
 * Of nodes, without prefix: a mixed network has both `svc` and `bee`.
 * @param name such as `pushsync_total_sent` @param labels such as `status="ok"`
 */
export function ofNodes(name: string, labels = ''): string {
  return `{__name__=~"\${namespace}_${name}",${NODE_FILTER}${labels === '' ? '' : `,${labels}`}}`;
}

/** A metric of a node's process, which has no prefix. */
export function ofProcesses(name: string, labels = ''): string {
  return `${name}{job="nodes",${NODE_FILTER}${labels === '' ? '' : `,${labels}`}}`;
}

/** A metric of a run, without the prefix `testbed_`. */
export function ofRun(name: string, labels = ''): string {
  return `testbed_${name}{${RUN_FILTER}${labels === '' ? '' : `,${labels}`}}`;
}

export function ofMembers(name: string, labels = ''): string {
  return `testbed_${name}{${RUN_FILTER},${NODE_FILTER}${labels === '' ? '' : `,${labels}`}}`;
}

/**
 * Four scrapes or more: Grafana's data source knows the interval. A fixed or chosen span could hold a single scrape of a
 * slow Prometheus, and a rate needs two.
 */
const WINDOW = '$__rate_interval';

export function rate(selector: string): string {
  return `rate(${selector}[${WINDOW}])`;
}

export function increase(selector: string, over = WINDOW): string {
  return `increase(${selector}[${over}])`;
}

/** A run's last reading is seen once or twice: it is kept for a while. */
export function last(selector: string): string {
  return `last_over_time(${selector}[${WINDOW}])`;
}

export function highest(selector: string): string {
  return `max_over_time(${selector}[${WINDOW}])`;
}

/** Since the last value, at most an hour ago: what restarts is gone for a while. */
export function changed(selector: string): string {
  return `${selector} != last_over_time(${selector}[1h] offset ${WINDOW})`;
}

/** There now, and not before, however seldom Prometheus scrapes. */
export function appeared(selector: string): string {
  return `${selector} unless ${selector} offset ${WINDOW}`;
}

export function sum(expr: string, ...by: readonly string[]): string {
  return by.length === 0 ? `sum(${expr})` : `sum by (${by.join(', ')}) (${expr})`;
}

/** Zero where the whole has been seen, and nothing of the part. */
export function orZero(part: string, whole: string): string {
  return `(${part} or ${whole} * 0)`;
}

/** Undefined, and so a gap, where nothing has been counted. */
export function share(part: string, whole: string): string {
  return `${orZero(part, whole)} / ${whole}`;
}

/** @param selector of buckets */
export function quantile(q: number, selector: string, ...by: readonly string[]): string {
  return `histogram_quantile(${q}, ${sum(rate(selector), 'le', ...by)})`;
}
