import type { Clock } from '../../../../formats/clock.ts';
import { fromHex, toHex } from '../../../../formats/crypto/hex.ts';
import type { Host, Peer, ProtocolHandler, ProtocolSpec } from '../../../../node/p2p/host.ts';
import { StreamError } from '../../../../node/p2p/host.ts';
import { FramedStream, PeerStream } from '../../../../node/p2p/stream/framed-stream.ts';
import { Inbox } from '../../../../node/p2p/stream/inbox.ts';

export interface RawEnd {
  /** Bytes written so far, a hex text per write. */
  readonly written: string[];
  readonly resets: Error[];
  push(bytes: Uint8Array): void;
  end(): void;
  readonly stream: PeerStream;
}

export function rawStream(peer: Peer, clock: Clock): RawEnd {
  const inbox = new Inbox(() => undefined);
  const written: string[] = [];
  const resets: Error[] = [];
  const raw = {
    write: (bytes: Uint8Array) => void written.push(toHex(bytes)),
    drained: () => undefined,
    take: () => inbox.take(),
    read: () => inbox.read(),
    closeWrite: () => undefined,
    reset(reason: Error) {
      resets.push(reason);
      inbox.fail(reason);
    },
  };
  return {
    written,
    resets,
    push: (bytes) => inbox.push(bytes),
    end: () => inbox.end(),
    stream: new PeerStream(peer, new Map(), new FramedStream(raw, { clock })),
  };
}

export function pushHex(end: RawEnd, frames: readonly string[], size = 7): void {
  const bytes = fromHex(frames.join(''));
  for (let at = 0; at < bytes.length; at += size) end.push(bytes.subarray(at, at + size));
}

/** Streams come from `open`, handlers can be called. */
export function rawHost(overlay: Uint8Array, open: () => RawEnd) {
  const handlers = new Map<string, ProtocolHandler>();
  const host: Pick<Host, 'overlay' | 'handle' | 'open' | 'misbehaved'> = {
    overlay,
    misbehaved: () => undefined,
    handle: (spec: ProtocolSpec, handler: ProtocolHandler) => void handlers.set(spec.id, handler),
    open: async () => open().stream,
  };
  return {
    host,
    serve: (id: string, end: RawEnd): Promise<void> => {
      const handler = handlers.get(id);
      if (handler === undefined) throw new StreamError('PROTOCOL_UNSUPPORTED', id);
      return handler(end.stream, end.stream.peer.closed);
    },
  };
}
