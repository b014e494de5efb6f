/**
 * A secured channel between two nodes: noise over a socket of the TCP transport, then yamux. Put together here instead
 * of in js-libp2p's node object, because the latter does not know the identities of the public network's nodes,
 * negotiates every stream in full, looks the peer up in a store and formats log lines for each.
 */
import type { Socket } from 'node:net';
import type { ComponentLogger, Logger, MultiaddrConnection, PrivateKey } from '@libp2p/interface';
import { abortable } from './abortable.ts';
import { Inbox } from './inbox.ts';
import { acceptProtocol, ProposedStream } from './multistream.ts';
import { generateDhKey } from './noise.ts';
import { NOISE_ID, noiseIdentity, noiseInbound, noiseOutbound } from './noise-stream.ts';
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
  /** libp2p identity of the other end, as text. */
  readonly remoteId: string;
  /** Encrypted from here on, carries yamux. */
  readonly stream: RawStream;
  readonly connection: MultiaddrConnection;
  readonly socket: Socket;
}

type Role = 'dialler' | 'listener';

export interface SecureOptions {
  /** Identity that a dialled node must prove. */
  readonly expected?: string | undefined;
  readonly signal: AbortSignal;
}

export type Secure = (
  connection: MultiaddrConnection,
  role: Role,
  options: SecureOptions,
) => Promise<SecureChannel>;

/** Noise with this node's key, ready to carry yamux. */
export async function createSecure(privateKey: PrivateKey): Promise<Secure> {
  const own = await noiseIdentity(privateKey, generateDhKey(), [YAMUX_ID]);
  const secure = async (raw: RawStream, role: Role, { expected, signal }: SecureOptions) => {
    const bare = await agree(raw, role, { protocolId: NOISE_ID, signal });
    const channel = await (role === 'dialler' ? noiseOutbound(bare, own, expected) : noiseInbound(bare, own));
    const { remoteId, muxers, stream } = channel;
    // Both have named it in the handshake: no further round.
    if (muxers.includes(YAMUX_ID)) return { remoteId, stream };
    return { remoteId, stream: await agree(stream, role, { protocolId: YAMUX_ID, signal }) };
  };
  return async (connection, role, options) => {
    const secured = await abortable(secure(rawOf(connection), role, options), options.signal);
    return { ...secured, connection, socket: socketOf(connection) };
  };
}

/** Settles on one protocol for the whole connection. @returns the stream after the negotiation */
async function agree(
  raw: RawStream,
  role: Role,
  { protocolId, signal }: { protocolId: string; signal: AbortSignal },
): Promise<RawStream> {
  if (role === 'listener') return (await acceptProtocol(raw, (id) => id === protocolId, { signal })).stream;
  const proposed = new ProposedStream(raw, protocolId);
  await proposed.agreed();
  return proposed;
}

/** The connection's bytes; its reader is always waiting, so that nothing piles up. */
function rawOf(connection: MultiaddrConnection): RawStream {
  const inbox = new Inbox(() => undefined);
  connection.addEventListener('message', ({ data }) => {
    if (data instanceof Uint8Array) inbox.push(data);
    else for (const part of data) inbox.push(part);
  });
  connection.addEventListener('remoteCloseWrite', () => inbox.end());
  connection.addEventListener('close', ({ error }) =>
    error === undefined ? inbox.end() : inbox.breakOff(error),
  );
  return {
    write: (bytes) => void connection.send(bytes),
    drained: () => (connection.writableNeedsDrain ? connection.onDrain() : undefined),
    take: () => inbox.take(),
    read: () => inbox.read(),
    closeWrite: () => void connection.close(),
    reset: (reason) => connection.abort(reason),
  };
}

/** The TCP transport keeps its socket in a field that its type does not show; needed to write several buffers at once. */
function socketOf(connection: MultiaddrConnection): Socket {
  return (connection as unknown as { socket: Socket }).socket;
}
