/** A link proxy in another process. */
import { type CallAddress, callRemote, type Served, serveCalls } from '../../../base/calls.ts';
import { HarnessError, messageOf } from '../../../base/errors.ts';
import type { LinkControl } from '../rules.ts';
import type { TapControl } from '../tap/events.ts';

/** Limit of a call: a proxy answers at once, but a busy machine gets time. */
const CALL_TIMEOUT_MS = 10_000;
const METHODS = [
  ...(['begin', 'effect', 'end'] as const),
  ...(['tapped', 'beginMessages', 'messageEffect', 'endMessages'] as const),
];

/** @param at default: for processes of this machine alone */
export function serveLinks(
  control: LinkControl & TapControl,
  token: string,
  at?: CallAddress,
): Promise<Served> {
  return serveCalls(control, METHODS, token, at);
}

/**
 * @param url of its control endpoint
 * @throws HarnessError `FAULT_REFUSED` by its methods, when the proxy is gone or refuses
 */
export function remoteLinks(
  url: string,
  { token, knowsDiallers }: { readonly token: string; readonly knowsDiallers: boolean },
): LinkControl & TapControl {
  const unanswered = (cause: unknown) =>
    new HarnessError('FAULT_REFUSED', `the link proxy does not answer: ${messageOf(cause)}`, { cause });
  async function call<T>(method: (typeof METHODS)[number], ...given: readonly unknown[]): Promise<T> {
    const answer = await callRemote(`${url}/${method}`, given, {
      token,
      timeoutMs: CALL_TIMEOUT_MS,
      unanswered,
    });
    if ('result' in answer) return answer.result as T;
    throw new HarnessError('FAULT_REFUSED', `the link proxy: ${answer.refused}`);
  }
  async function ended(method: 'end' | 'endMessages', id: string): Promise<void> {
    try {
      await call(method, id);
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
  };
}

function isGone(error: unknown): boolean {
  const { cause } = error as { cause?: NodeJS.ErrnoException };
  return cause?.code === 'ECONNREFUSED';
}
