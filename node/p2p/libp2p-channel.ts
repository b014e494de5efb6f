/**
 * A secured channel between two nodes: noise over a socket of the TCP transport, then yamux. The pieces are
 * js-libp2p's; they are put together here instead of in its node object, because the latter negotiates every stream
 * in full, looks the peer up in a store and formats log lines for each.
 */
import type { Socket } from 'node:net';
import { noise } from '@chainsafe/libp2p-noise';
import type {
  ComponentLogger,
  ConnectionEncrypter,
  Logger,
  MessageStream,
  MultiaddrConnection,
  PeerId,
  PrivateKey,
  StreamMuxerFactory,
  Upgrader,
} from '@libp2p/interface';
import { abortable } from './abortable.ts';
import { Inbox } from './inbox.ts';
import { acceptProtocol, ProposedStream } from './multistream.ts';
import { noiseCrypto } from './noise-cipher.ts';
import type { RawStream } from './transport.ts';
import { YAMUX_ID } from './yamux.ts';

/** js-libp2p formats a line for every frame; nothing of it is wanted. */
export function silentLibp2pLogger(): ComponentLogger {
  const log: Logger = Object.assign(() => undefined, {
    enabled: false,
    trace: () => undefined,
    error: () => undefined,
    newScope: () => log,
  });
  return { forComponent: () => log };
}

export interface SecureChannel {
  readonly remoteId: PeerId;
  /** Encrypted from here on. */
  readonly stream: MessageStream;
  readonly socket: Socket;
}

export interface Identity {
  readonly peerId: PeerId;
  readonly privateKey: PrivateKey;
}

export type Secure = (
  connection: MultiaddrConnection,
  role: 'dialler' | 'listener',
  expected: { remotePeer?: PeerId; signal: AbortSignal },
) => Promise<SecureChannel>;

/** Noise with this node's key, ready to carry yamux. */
export function createSecure(identity: Identity, logger: ComponentLogger): Secure {
  // Noise proposes the muxers of the upgrader in its own handshake; a peer that does the same needs no further round.
  const muxers = new Map<string, StreamMuxerFactory>();
  const muxer: StreamMuxerFactory = {
    protocol: YAMUX_ID,
    createStreamMuxer() {
      throw new TypeError('streams are multiplexed by our own yamux');
    },
  };
  muxers.set(YAMUX_ID, muxer);
  const upgrader = { getStreamMuxers: () => muxers } as Upgrader;
  const encrypter: ConnectionEncrypter = noise({ crypto: noiseCrypto })({
    ...identity,
    logger,
    upgrader,
  });
  return async (connection, role, options) => {
    const { signal } = options;
    await agree(connection, role, { protocolId: encrypter.protocol, signal });
    const secured = await (role === 'dialler'
      ? encrypter.secureOutbound(connection, options)
      : encrypter.secureInbound(connection, options));
    const stream = secured.connection;
    if (secured.streamMuxer === undefined) await agree(stream, role, { protocolId: YAMUX_ID, signal });
    return { remoteId: secured.remotePeer, stream, socket: socketOf(connection) };
  };
}

/** Settles on one protocol for the whole connection. */
async function agree(
  connection: MessageStream,
  role: 'dialler' | 'listener',
  { protocolId, signal }: { protocolId: string; signal: AbortSignal },
): Promise<void> {
  const inbox = new Inbox(() => undefined);
  const onMessage = ({ data }: { data: { subarray(): Uint8Array } }) => inbox.push(data.subarray());
  const onClose = () => inbox.end();
  connection.addEventListener('message', onMessage);
  connection.addEventListener('close', onClose);
  const raw: RawStream = {
    write: (bytes) => void connection.send(bytes),
    drained: () => Promise.resolve(),
    take: () => inbox.take(),
    read: () => inbox.read(),
    closeWrite: () => inbox.end(),
    reset: (reason) => inbox.fail(reason),
  };
  try {
    const rest = await abortable(negotiate(raw, role, { protocolId, signal }), signal);
    connection.removeEventListener('message', onMessage);
    for (const bytes of rest.reverse()) connection.unshift(bytes);
  } finally {
    connection.removeEventListener('message', onMessage);
    connection.removeEventListener('close', onClose);
  }
}

/** @returns what came after the negotiation */
async function negotiate(
  raw: RawStream,
  role: 'dialler' | 'listener',
  options: { protocolId: string; signal: AbortSignal },
): Promise<Uint8Array[]> {
  const { protocolId } = options;
  let stream = raw;
  if (role === 'listener') ({ stream } = await acceptProtocol(raw, (id) => id === protocolId, options));
  else {
    const proposed = new ProposedStream(raw, protocolId);
    await proposed.agreed();
    stream = proposed;
  }
  const rest: Uint8Array[] = [];
  for (let bytes = stream.take(); bytes !== undefined; bytes = stream.take()) rest.push(bytes);
  return rest;
}

/** The TCP transport keeps its socket in a field that its type does not show; needed to write several buffers at once. */
function socketOf(connection: MultiaddrConnection): Socket {
  return (connection as unknown as { socket: Socket }).socket;
}
