/** The asking side of a stream: open, talk, close when it went well, reset when it did not. `p2p-protocols.md` 2.3. */
import type { Logger } from '../env/logger.ts';
import type { Host, MessageStream, Peer } from '../p2p/host.ts';

export interface Conversation {
  readonly peer: Peer;
  /** Protocol id. */
  readonly protocol: string;
  readonly signal: AbortSignal;
}

/**
 * Runs `talk` on a new stream and returns its result without waiting for the other side to close.
 * @throws what `open` and `talk` throw
 */
export async function converse<T>(
  { peer, protocol, signal }: Conversation,
  { host, log }: { host: Pick<Host, 'open'>; log: Logger },
  talk: (stream: MessageStream) => Promise<T>,
): Promise<T> {
  const stream = await host.open(peer, protocol, { signal });
  try {
    const result = await talk(stream);
    stream.close().catch((err: unknown) => log.debug({ err, peer: peer.id, protocol }, 'stream not closed'));
    return result;
  } catch (error) {
    stream.reset(error instanceof Error ? error : new Error('conversation failed', { cause: error }));
    throw error;
  }
}
