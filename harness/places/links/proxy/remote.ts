import { type CallAddress, callRemote, type Served, serveCalls } from '../../../base/calls.ts';
import { HarnessError, type HarnessErrorCode, messageOf } from '../../../base/errors.ts';
import { whileRunning } from '../../../base/machine/processes.ts';
import type { LinkControl } from '../rules.ts';
import type { TapControl } from '../tap/events.ts';
import type { Refusal, RouteControl } from './routes.ts';

const GONE = new Set(['ECONNREFUSED', 'ECONNRESET', 'UND_ERR_SOCKET', 'GONE']);
const METHODS = {
  begin: 'FAULT_REFUSED',
  effect: 'FAULT_REFUSED',
  end: 'FAULT_REFUSED',
  tapped: 'FAULT_REFUSED',
  beginMessages: 'FAULT_REFUSED',
  messageEffect: 'FAULT_REFUSED',
  endMessages: 'FAULT_REFUSED',
  route: 'PROCESS_FAILED',
  unroute: 'PROCESS_FAILED',
} as const satisfies Partial<Record<keyof ProxyControl, HarnessErrorCode>>;
type Method = keyof typeof METHODS;

export type ProxyControl = LinkControl & TapControl & RouteControl;

/** @param at default: for processes of this machine alone */
export function serveLinks(control: ProxyControl, token: string, at?: CallAddress): Promise<Served> {
  return serveCalls(control, Object.keys(METHODS) as Method[], token, at);
}

/**
 * @param url of its control endpoint @param pid of a process of this machine
 * @throws HarnessError `FAULT_REFUSED` or `PROCESS_FAILED` by its methods, when the proxy is gone or refuses
 */
export function remoteLinks(
  url: string,
  {
    token,
    knowsDiallers,
    pid,
  }: { readonly token: string; readonly knowsDiallers: boolean; readonly pid?: number | undefined },
): ProxyControl {
  async function call<T>(method: Method, ...given: readonly unknown[]): Promise<T> {
    const unanswered = (cause: unknown) =>
      new HarnessError(METHODS[method], `the link proxy does not answer: ${messageOf(cause)}`, {
        cause,
        hint: 'If it has died, start the whole cluster again: svcnet start',
      });
    const ask = (signal?: AbortSignal) =>
      callRemote(`${url}/${method}`, given, { token, signal, unanswered });
    const answer = await (pid === undefined ? ask() : whileRunning(pid, ask));
    if ('result' in answer) return answer.result as T;
    throw new HarnessError(METHODS[method], `the link proxy: ${answer.refused}`);
  }
  async function ended(method: 'end' | 'endMessages' | 'unroute', what: unknown): Promise<void> {
    try {
      await call(method, what);
    } catch (error) {
      // A proxy that is gone has ended all that it did.
      if (!isGone(error)) throw error;
    }
  }
  return {
    knowsDiallers,
    begin: (id, rule) => call('begin', id, rule),
    effect: (id) => call('effect', id),
    end: (id) => ended('end', id),
    tapped: (after, raw) => call('tapped', after, raw),
    beginMessages: (id, rule) => call('beginMessages', id, rule),
    messageEffect: (id) => call('messageEffect', id),
    endMessages: (id) => ended('endMessages', id),
    route: async (routes) => (await call<Refusal | null>('route', routes)) ?? undefined,
    unroute: (nodes) => ended('unroute', nodes),
  };
}

function isGone(error: unknown): boolean {
  const { cause } = error as { cause?: NodeJS.ErrnoException };
  return GONE.has(cause?.code ?? '');
}
