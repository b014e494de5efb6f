/**
 * The real network: TCP, noise and yamux, wire-compatible with the public network's nodes (`p2p-protocols.md` 1), over
 * plain TCP. Its own identity is Ed25519; peers may have any. Everything about peers is in `peer-host.ts`, everything
 * about connections in `libp2p/transport.ts`.
 */
import type { Random } from '../env/random.ts';
import { VERSION } from '../version.ts';
import { ownIdentity } from './address/identity-key.ts';
import { underlayOf } from './address/underlay.ts';
import type { Host } from './host.ts';
import { createSecure } from './libp2p/channel.ts';
import { Libp2pTransport, type Stranger } from './libp2p/transport.ts';
import { createPeerHost, type PeerHostDeps, type PeerHostOptions } from './peer-host.ts';
import { tcp } from './tcp-host.ts';

export interface Libp2pHostOptions extends PeerHostOptions {
  /** `ip:port`; port 0 takes a free one. */
  readonly listen: string;
  /** `host:port` to advertise instead of the listening addresses. */
  readonly natAddress?: string;
}

export interface Libp2pHostDeps extends Omit<PeerHostDeps, 'transport'> {
  /** Ed25519 seed, 32 bytes: the libp2p identity. */
  readonly identity: Uint8Array;
  /** Of the identities that probe peers. */
  readonly random: Random;
}

/** Two words, the first without a version of another program: the form that real nodes expect (checklist item 11). */
const AGENT_VERSION = `svcnet/${VERSION} node/${process.versions.node.split('.')[0]}`;

/** Bytes of an Ed25519 seed. */
const SEED_SIZE = 32;

export function createLibp2pHost(options: Libp2pHostOptions, deps: Libp2pHostDeps): Host {
  const { identity, random, ...shared } = deps;
  const own = ownIdentity(identity);
  const transport = new Libp2pTransport(
    {
      localId: own.peerId,
      publicKey: own.publicKey,
      agentVersion: AGENT_VERSION,
      listen: underlayOf(options.listen),
      advertised: options.natAddress === undefined ? undefined : underlayOf(options.natAddress),
    },
    {
      tcp,
      secure: createSecure(own),
      stranger: () => stranger(random),
      clock: deps.clock,
      log: deps.log,
      // Frames of one turn leave together: most of the cost of a small frame is its system call and its encryption.
      defer: (flush) => setImmediate(flush),
    },
  );
  return createPeerHost(options, { ...shared, transport });
}

function stranger(random: Random): Stranger {
  const identity = ownIdentity(random.bytes(SEED_SIZE));
  return { publicKey: identity.publicKey, secure: createSecure(identity) };
}
