import type { KeyObject } from 'node:crypto';
import { generateKeyPairSync } from 'node:crypto';
import type { TapEvent } from '../../../../../../harness/places/links/tap/events.ts';
import { identityOf } from '../../../../../../harness/places/links/tap/identity.ts';
import { Tap } from '../../../../../../harness/places/links/tap/tap.ts';
import { createSecure } from '../../../../../../node/p2p/libp2p/channel.ts';
import { YamuxSession, type YamuxStream } from '../../../../../../node/p2p/libp2p/yamux.ts';
import { Inbox } from '../../../../../../node/p2p/stream/inbox.ts';
import type { TcpConnection } from '../../../../../../node/p2p/tcp-host.ts';
import type { RawStream } from '../../../../../../node/p2p/transport.ts';

export type KeyKind = 'ed25519' | 'P-256' | 'secp256k1';
export const OVERLAYS = { dialler: '11'.repeat(32), node: '22'.repeat(32) } as const;

export function newKey(kind: KeyKind): KeyObject {
  return kind === 'ed25519'
    ? generateKeyPairSync('ed25519').privateKey
    : generateKeyPairSync('ec', { namedCurve: kind }).privateKey;
}

export const pem = (key: KeyObject) => key.export({ format: 'pem', type: 'pkcs8' }).toString();

export function tapOf(keys: readonly [KeyObject, KeyObject]): Tap {
  const overlays = [OVERLAYS.dialler, OVERLAYS.node];
  const tap = new Tap();
  keys.forEach((key, index) => {
    tap.know({ node: `node-${index}`, key: pem(key), overlay: overlays[index] as string });
  });
  return tap;
}

export async function eventsOf(tap: Tap): Promise<readonly TapEvent[]> {
  return (await tap.tapped(0)).events;
}

/** @param pieceOf how many bytes arrive at once */
export function tapped(tap: Tap, pieceOf: () => number = () => Number.MAX_SAFE_INTEGER) {
  const [toDialler, toNode] = [new Inbox(() => undefined), new Inbox(() => undefined)];
  const relay = tap.relay('node-1', ['node-0'], (way, bytes) =>
    (way === 'up' ? toNode : toDialler).push(bytes),
  );
  if (relay === undefined) throw new TypeError('it is not tapped');
  const broken: Error[] = [];
  const end = (own: Inbox, other: Inbox, way: 'up' | 'down'): RawStream => ({
    write(bytes) {
      for (let at = 0; at < bytes.length && broken.length === 0; ) {
        const piece = Buffer.from(bytes.subarray(at, at + pieceOf()));
        at += piece.length;
        try {
          other.push(relay[way](piece));
        } catch (error) {
          broken.push(error as Error);
          relay.closed();
          for (const inbox of [own, other]) inbox.fail(error as Error);
        }
      }
    },
    drained: () => undefined,
    take: () => own.take(),
    read: () => own.read(),
    closeWrite: () => other.end(),
    reset: (reason) => other.fail(reason),
  });
  return { relay, broken, dialler: end(toDialler, toNode, 'up'), node: end(toNode, toDialler, 'down') };
}

const signal = new AbortController().signal;

export async function secured(
  { dialler, node }: ReturnType<typeof tapped>,
  keys: readonly [KeyObject, KeyObject],
) {
  const connection = (raw: RawStream) => ({ raw }) as unknown as TcpConnection;
  const expected = identityOf(keys[1]).peerId;
  return await Promise.all([
    createSecure(identityOf(keys[0]))(connection(dialler), 'dialler', { signal, expected }),
    createSecure(identityOf(keys[1]))(connection(node), 'listener', { signal }),
  ]);
}

/** It reads all the time. */
export function multiplexed(channel: RawStream, client: boolean) {
  const accepted: YamuxStream[] = [];
  const session: YamuxSession = new YamuxSession(
    { client },
    {
      send(bytes) {
        channel.write(bytes);
        return true;
      },
      defer: (flush) => queueMicrotask(flush),
      accepted: (stream) => accepted.push(stream),
      broken: (error) => session.end(error),
    },
  );
  const read = async () => {
    for (let bytes = await channel.read(); bytes !== undefined; bytes = await channel.read())
      session.receive(bytes);
  };
  const reading = read().catch((error: unknown) => session.end(error as Error));
  return { session, accepted, reading };
}

/** Until nothing that is ready is left to run. */
export async function rest(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
}

export async function all(stream: RawStream): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for (let part = await stream.read(); part !== undefined; part = await stream.read()) parts.push(part);
  return Buffer.concat(parts);
}
