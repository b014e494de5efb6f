/** identify 1.0.0 and ping 1.0.0 (`p2p-protocols.md` 1.4), for strangers too. */

import { type Clock, TimeoutError } from '../../../formats/clock.ts';
import { equalBytes } from '../../../formats/crypto/hex.ts';
import { decodeMultiaddress, encodeMultiaddress } from '../address/multiaddress.ts';
import { encodeFrame } from '../codec/codec.ts';
import type { MessageOf } from '../codec/message.ts';
import { StreamError } from '../host.ts';
import type { FramedStream } from '../stream/framed-stream.ts';
import type { RawStream } from '../transport.ts';

export const IDENTIFY_ID = '/ipfs/id/1.0.0';
export const PING_ID = '/ipfs/ping/1.0.0';

const PROTOCOL_VERSION = 'ipfs/0.1.0';
/** Most that is echoed at once. */
export const PING_SIZE = 32;
/** Bounds what one stream may make us do. */
const PINGS_PER_STREAM_MAX = 100_000;

/** An honest peer pings again within seconds. */
const PING_IDLE_MS = 60_000;
const LISTEN_ADDRESSES_MAX = 64;
/** What does not fit into one message of 4 KiB comes in several. */
export const IDENTIFY_MESSAGES_MAX = 10;

export const Identify = {
  publicKey: [1, 'bytes'],
  listenAddrs: [2, ['repeated', 'bytes']],
  protocols: [3, ['repeated', 'string']],
  observedAddr: [4, 'bytes'],
  protocolVersion: [5, 'string'],
  agentVersion: [6, 'string'],
} as const;

export interface Identity {
  readonly publicKey: Uint8Array;
  readonly agentVersion: string;
  readonly addresses: readonly string[];
  readonly protocolIds: readonly string[];
}

/** One message, then the end. */
export function answerIdentify(raw: RawStream, own: Identity, remoteAddress: string): void {
  const { publicKey, agentVersion, addresses, protocolIds } = own;
  const message = {
    publicKey,
    agentVersion,
    protocolVersion: PROTOCOL_VERSION,
    listenAddrs: addresses.map(encodeMultiaddress),
    observedAddr: encodeMultiaddress(remoteAddress),
    protocols: [...protocolIds],
  };
  raw.write(encodeFrame(Identify, message));
  raw.closeWrite();
}

/**
 * Reads until the other end closes or the time is up.
 * @returns its listen addresses, without unreadable and surplus ones
 */
export async function askIdentify(stream: FramedStream, signal: AbortSignal): Promise<string[]> {
  const { listenAddrs } = await stream.read(Identify, signal);
  for (let count = 1; count < IDENTIFY_MESSAGES_MAX && listenAddrs.length < LISTEN_ADDRESSES_MAX; count++) {
    const part = await nextPart(stream, signal);
    if (part === undefined) break;
    listenAddrs.push(...part.listenAddrs);
  }
  return listenAddrs.slice(0, LISTEN_ADDRESSES_MAX).flatMap((bytes) => {
    try {
      return decodeMultiaddress(bytes);
    } catch (error) {
      if (error instanceof Error) return [];
      throw error;
    }
  });
}

async function nextPart(
  stream: FramedStream,
  signal: AbortSignal,
): Promise<MessageOf<typeof Identify> | undefined> {
  try {
    return await stream.read(Identify, signal);
  } catch (error) {
    const isOver = error instanceof StreamError && error.code === 'STREAM_ENDED';
    if (isOver || error instanceof TimeoutError) return undefined;
    throw error;
  }
}

/**
 * @param payload 32 bytes that no one else sends
 * @throws StreamError when something else comes back
 */
export async function askPing(raw: RawStream, payload: Uint8Array): Promise<void> {
  raw.write(payload);
  for (let seen = 0; seen < payload.length; ) {
    const bytes = await raw.read();
    if (bytes === undefined)
      throw new StreamError('STREAM_ENDED', 'the other side closed instead of an echo');
    const expected = payload.subarray(seen, seen + bytes.length);
    if (!equalBytes(bytes, expected)) throw new StreamError('STREAM_RESET', 'ping: the echo differs');
    seen += bytes.length;
  }
  raw.closeWrite();
}

/** Echoes every 32 bytes until the other side ends, or is silent for too long. */
export async function answerPing(raw: RawStream, clock: Clock): Promise<void> {
  let size = 0;
  for (;;) {
    const bytes = raw.take() ?? (await nextPing(raw, clock));
    if (bytes === undefined) break;
    size += bytes.length;
    if (size > PING_SIZE * PINGS_PER_STREAM_MAX) throw new StreamError('STREAM_RESET', 'too many pings');
    raw.write(bytes);
    await raw.drained();
  }
  raw.closeWrite();
}

async function nextPing(raw: RawStream, clock: Clock): Promise<Uint8Array | undefined> {
  using _limit = clock.timer(PING_IDLE_MS, () => raw.reset(new TimeoutError(PING_IDLE_MS)));
  return await raw.read();
}
