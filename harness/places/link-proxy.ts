import type { Clock } from '../../formats/clock.ts';
import { HarnessError } from '../base/errors.ts';
import type { LogPosition, PartLog } from '../base/logs/file-log.ts';
import { until } from '../base/wait.ts';
import type { ProxyLine } from './links/proxy/proxy.ts';
import type { Refusal } from './links/proxy/routes.ts';

const START_MS = 30_000;

/**
 * @param since where its log ended before
 * @returns port of its control endpoint
 * @throws HarnessError `PORT_IN_USE`, `PROCESS_FAILED`, `WAIT_TIMEOUT`
 */
export function proxyPort(
  log: PartLog,
  since: LogPosition,
  { clock, hasEnded }: { readonly clock: Clock; readonly hasEnded: () => Promise<boolean> },
): Promise<number> {
  return until<number>(
    'the link proxy is not ready',
    async () => {
      const ended = await hasEnded();
      const lines = await log.since(since);
      const line = lines.find((text) => text.startsWith('{"ready":'));
      const answer = line === undefined ? undefined : (JSON.parse(line) as ProxyLine);
      if (answer?.ready === true) return { done: answer.control };
      if (answer === undefined && !ended) return { missing: lines.at(-1) ?? 'it has printed nothing' };
      const { code = '', message = lines.at(-1) ?? 'it has printed nothing' } = answer ?? {};
      throw proxyError('the link proxy could not start', { code, message });
    },
    { clock, timeoutMs: START_MS },
  );
}

export function proxyError(what: string, { code, message }: Refusal): HarnessError {
  return new HarnessError(code === 'EADDRINUSE' ? 'PORT_IN_USE' : 'PROCESS_FAILED', `${what}: ${message}`);
}
