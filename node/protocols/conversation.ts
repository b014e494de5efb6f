import { type Clock, TimeoutError } from '../../formats/clock.ts';
import type { Logger } from '../env/logger.ts';
import type { Headers, Host, MessageStream, Peer } from '../p2p/host.ts';

export interface Conversation {
  readonly peer: Peer;
  readonly protocol: string;
  readonly headers?: Headers;
}

interface ConversationDeps {
  readonly host: Pick<Host, 'open'>;
  readonly log: Logger;
}

/**
 * Returns the result of `talk` without waiting for the other side to close.
 * @throws what `open` and `talk` throw
 */
export async function converse<T>(
  { peer, protocol, headers, signal }: Conversation & { readonly signal: AbortSignal },
  deps: ConversationDeps,
  talk: (stream: MessageStream) => Promise<T>,
): Promise<T> {
  const options = headers === undefined ? { signal } : { signal, headers };
  const stream = await deps.host.open(peer, protocol, options);
  try {
    const result = await talk(stream);
    closeLater(stream, protocol, deps);
    return result;
  } catch (error) {
    stream.reset(asError(error));
    throw error;
  }
}

/** Like `converse`, but resets the stream after a time limit, which costs less than a signal. @throws also TimeoutError */
export async function converseWithin<T>(
  { peer, protocol, timeoutMs }: Conversation & { readonly timeoutMs: number },
  deps: ConversationDeps & { readonly clock: Clock },
  talk: (stream: MessageStream) => Promise<T>,
): Promise<T> {
  const stream = await deps.host.open(peer, protocol, NO_OPTIONS);
  const limit = timeLimit(stream, timeoutMs, deps.clock);
  try {
    const result = await talk(stream);
    closeLater(stream, protocol, deps);
    return result;
  } catch (error) {
    stream.reset(asError(error));
    throw error;
  } finally {
    limit[Symbol.dispose]();
  }
}

const NO_OPTIONS = {};

/** The reset ends any pending read. */
export function timeLimit(stream: MessageStream, ms: number, clock: Clock): Disposable {
  return clock.timer(ms, () => stream.reset(new TimeoutError(ms)));
}

function closeLater(stream: MessageStream, protocol: string, { log }: ConversationDeps): void {
  stream
    .close()
    .catch((err: unknown) => log.debug({ err, peer: stream.peer.overlayHex, protocol }, 'stream not closed'));
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error('conversation failed', { cause: error });
}
