/** Noise over a TCP connection, ready to carry yamux. */
import { abortable } from '../../env/abortable.ts';
import type { OwnIdentity } from '../address/identity-key.ts';
import { generateDhKey } from '../noise/noise.ts';
import {
  NOISE_ID,
  noiseIdentity,
  noiseInbound,
  noiseOutbound,
  StaticKeyProofs,
} from '../noise/noise-stream.ts';
import type { TcpConnection } from '../tcp-host.ts';
import type { RawStream } from '../transport.ts';
import { acceptProtocol, ProposedStream } from './multistream.ts';
import { YAMUX_ID } from './yamux.ts';

export interface SecureChannel {
  readonly remoteId: string;
  readonly stream: RawStream;
  readonly connection: TcpConnection;
}

type Role = 'dialler' | 'listener';

export interface SecureOptions {
  /** Identity that a dialled node must prove. */
  readonly expected?: string | undefined;
  readonly signal: AbortSignal;
}

export type Secure = (
  connection: TcpConnection,
  role: Role,
  options: SecureOptions,
) => Promise<SecureChannel>;

/** @param proofs shared by the identities of one node */
export function createSecure(identity: OwnIdentity, proofs = new StaticKeyProofs()): Secure {
  const own = noiseIdentity(identity, generateDhKey(), { muxers: [YAMUX_ID], proofs });
  const secure = async (raw: RawStream, role: Role, { expected, signal }: SecureOptions) => {
    const bare = await agree(raw, role, { protocolId: NOISE_ID, signal });
    const channel = await (role === 'dialler' ? noiseOutbound(bare, own, expected) : noiseInbound(bare, own));
    const { remoteId, muxers, stream } = channel;
    // Named in the handshake: no further round trip.
    if (muxers.includes(YAMUX_ID)) return { remoteId, stream };
    return { remoteId, stream: await agree(stream, role, { protocolId: YAMUX_ID, signal }) };
  };
  return async (connection, role, options) => {
    const secured = await abortable(secure(connection.raw, role, options), options.signal);
    return { ...secured, connection };
  };
}

/** @returns the stream after the negotiation */
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
