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

/**
 * Grafana makes it four scrapes or more, as its data source says how often Prometheus scrapes. A span that a board fixed,
 * or a person chose, would hold a single scrape of a slow Prometheus, and a rate needs two.
 */
const WINDOW = '$__rate_interval';

/** Per second, over a few scrapes. */
export function rate(selector: string): string {
  return `rate(${selector}[${WINDOW}])`;
}

export function increase(selector: string, over = WINDOW): string {
  return `increase(${selector}[${over}])`;
}

/** What a run says at its very end is read once or twice before the run is gone: its last value is kept for a while. */
export function last(selector: string): string {
  return `last_over_time(${selector}[${WINDOW}])`;
}

/** The highest value of the last few scrapes. */
export function highest(selector: string): string {
  return `max_over_time(${selector}[${WINDOW}])`;
}

/** Of another value than the last one before, which may lie up to an hour back: what restarts is gone for a while. */
export function changed(selector: string): string {
  return `${selector} != last_over_time(${selector}[1h] offset ${WINDOW})`;
}

/** There now, and not before: seen once or more, however seldom Prometheus scrapes. */
export function appeared(selector: string): string {
  return `${selector} unless ${selector} offset ${WINDOW}`;
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
