/** A link proxy in another process, see `serve.ts`. */
import { requestDirectly } from '../../../base/direct.ts';
import { HarnessError, messageOf } from '../../../base/errors.ts';
import type { LinkControl } from '../rules.ts';
import type { TapControl } from '../tap/events.ts';

/** Limit of a call: a proxy answers at once, but a busy machine gets time. */
const CALL_TIMEOUT_MS = 10_000;

/**
 * @param url of its control endpoint
 * @throws HarnessError `FAULT_REFUSED` by its methods, when the proxy is gone or refuses
 */
export function remoteLinks(
  url: string,
  { token, knowsDiallers }: { readonly token: string; readonly knowsDiallers: boolean },
): LinkControl & TapControl {
  async function call<T>(method: keyof (LinkControl & TapControl), ...given: readonly unknown[]): Promise<T> {
    let document: { readonly result: T; readonly message?: string };
    let status: number;
    try {
      const answered = await requestDirectly(`${url}/${method}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(given),
        signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
      });
      status = answered.statusCode;
      document = (await answered.body.json()) as typeof document;
    } catch (error) {
      throw new HarnessError('FAULT_REFUSED', `the link proxy does not answer: ${messageOf(error)}`, {
        cause: error,
      });
    }
    if (status === 200) return document.result;
    throw new HarnessError('FAULT_REFUSED', `the link proxy: ${document.message ?? `status ${status}`}`);
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
    tapped: (after) => call('tapped', after),
    beginMessages: (id, rule) => call('beginMessages', id, rule),
    messageEffect: (id) => call('messageEffect', id),
    endMessages: (id) => ended('endMessages', id),
  };
}

function isGone(error: unknown): boolean {
  const { cause } = error as { cause?: NodeJS.ErrnoException };
  return cause?.code === 'ECONNREFUSED';
}
