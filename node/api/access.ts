/** Counts, times and logs every request, including those whose client did not wait for the answer. */
import type { Exchange } from './exchange/exchange.ts';
import type { ApiMetrics } from './metrics.ts';
import type { Port } from './route/route.ts';
import type { NodeServices } from './services.ts';

/** Counted for an answer that its client did not await. */
const CLIENT_GONE_STATUS = 499;

interface AccessDeps {
  readonly services: Pick<NodeServices, 'clock' | 'log'>;
  readonly metrics: ApiMetrics;
  readonly port: Port;
}

/** To be called when the request has arrived. */
export function observeRequest(exchange: Exchange, deps: AccessDeps): void {
  const { clock, log } = deps.services;
  const { id, method, response } = exchange;
  const startMs = clock.monotonic();
  let recorded = false;
  deps.metrics.requestCount.inc();
  response.once('finish', () => record(response.statusCode));
  response.once('close', () => record(CLIENT_GONE_STATUS));

  function record(status: number): void {
    if (recorded) return;
    recorded = true;
    const durationMs = clock.monotonic() - startMs;
    deps.metrics.responseCodeCount.inc({ code: String(status), method });
    deps.metrics.responseDuration.observe(durationMs / 1000);
    if (!log.isLevelEnabled('debug')) return;
    log.debug({ id, method, route: exchange.route, status, durationMs, port: deps.port }, 'request answered');
  }
}
