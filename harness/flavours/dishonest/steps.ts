import { makeCac } from '../../../formats/chunk/cac.ts';
import type { Chunk } from '../../../formats/chunk/chunk.ts';
import { STAMP_SIZE } from '../../../formats/chunk/stamp.ts';
import type { Random } from '../../../formats/random.ts';
import type { MessageStream, Peer } from '../../../node/p2p/host.ts';
import type { Stage } from './behaviour.ts';

const PAYLOAD_SIZE = 4096;

/** Refusals and aborts are normal here; other errors are our bugs. @returns whether it went well */
export async function succeeds(work: () => Promise<unknown>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    if (error instanceof Error && ('code' in error || error.name === 'AbortError')) return false;
    throw error;
  }
}

/** The stream is reset afterwards. @returns whether it went well */
export function withStream(
  { host, signal }: Pick<Stage, 'host' | 'signal'>,
  peer: Peer,
  protocol: string,
  converse: (stream: MessageStream) => Promise<unknown>,
): Promise<boolean> {
  return succeeds(async () => {
    const stream = await host.open(peer, protocol, { signal });
    try {
      await converse(stream);
    } finally {
      stream.reset(new Error('done with it'));
    }
  });
}

/** Every `everyMs`, with all peers for which `work` is not still running, until the node stops. */
export async function withPeers(
  stage: Pick<Stage, 'host' | 'clock' | 'signal'>,
  everyMs: number,
  work: (peer: Peer) => Promise<unknown>,
): Promise<void> {
  const { host, clock, signal } = stage;
  const { promise: failed, reject } = Promise.withResolvers<never>();
  const busy = new Set<Peer>();
  const begin = async (peer: Peer) => {
    busy.add(peer);
    try {
      await work(peer);
    } catch (error) {
      reject(error);
    } finally {
      busy.delete(peer);
    }
  };
  do {
    for (const peer of host.peers()) if (!busy.has(peer)) void begin(peer);
  } while (await Promise.race([pause(clock, everyMs, signal), failed]));
}

/** @returns false when the node stops */
export async function pause(
  clock: Pick<Stage['clock'], 'sleep'>,
  ms: number,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await clock.sleep(ms, signal);
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  }
}

export function randomChunk(random: Random): Chunk {
  return makeCac(BigInt(PAYLOAD_SIZE), random.bytes(PAYLOAD_SIZE));
}

export function randomStamp(random: Random): Uint8Array {
  return random.bytes(STAMP_SIZE);
}
