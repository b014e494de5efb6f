/** The asking side of a stream: open, talk, close when it went well, reset when it did not. `p2p-protocols.md` 2.3. */
import { type Clock, TimeoutError } from '../env/clock.ts';
import type { Logger } from '../env/logger.ts';
import type { Host, MessageStream, Peer } from '../p2p/host.ts';

export interface Conversation {
  readonly peer: Peer;
  /** Protocol id. */
  readonly protocol: string;
}

interface ConversationDeps {
  readonly host: Pick<Host, 'open'>;
  readonly log: Logger;
}

/**
 * Runs `talk` on a new stream and returns its result without waiting for the other side to close.
 * @throws what `open` and `talk` throw
 */
export async function converse<T>(
  conversation: Conversation & { readonly signal: AbortSignal },
  deps: ConversationDeps,
  talk: (stream: MessageStream) => Promise<T>,
): Promise<T> {
  const { peer, protocol, signal } = conversation;
  return await talkOn(await deps.host.open(peer, protocol, { signal }), conversation, deps, talk);
}

/**
 * The same with a time for `talk` instead of a signal: its end resets the stream, and so whoever reads from it. For
 * what happens per chunk, where a signal and its listeners cost more than a timer.
 * @throws also TimeoutError
 */
export async function converseWithin<T>(
  conversation: Conversation & { readonly timeoutMs: number },
  deps: ConversationDeps & { readonly clock: Clock },
  talk: (stream: MessageStream) => Promise<T>,
): Promise<T> {
  const { peer, protocol, timeoutMs } = conversation;
  const stream = await deps.host.open(peer, protocol, {});
  using _limit = deps.clock.timer(timeoutMs, () => stream.reset(new TimeoutError(timeoutMs)));
  return await talkOn(stream, conversation, deps, talk);
}

async function talkOn<T>(
  stream: MessageStream,
  { peer, protocol }: Conversation,
  { log }: ConversationDeps,
  talk: (stream: MessageStream) => Promise<T>,
): Promise<T> {
  try {
    const result = await talk(stream);
    stream.close().catch((err: unknown) => log.debug({ err, peer: peer.id, protocol }, 'stream not closed'));
    return result;
  } catch (error) {
    stream.reset(error instanceof Error ? error : new Error('conversation failed', { cause: error }));
    throw error;
  }
}
