/**
 * The real network: TCP, noise and yamux, wire-compatible with the public network's nodes (`p2p-protocols.md` 1), over
 * plain TCP. Its own identity is Ed25519; peers may have any. Everything about peers is in `peer-host.ts`, everything about connections in
 * `libp2p-transport.ts`.
 */
import { generateKeyPair, generateKeyPairFromSeed, publicKeyToProtobuf } from '@libp2p/crypto/keys';
import { peerIdFromPrivateKey } from '@libp2p/peer-id';
import { VERSION } from '../version.ts';
import type { Host } from './host.ts';
import { createSecure, silentLibp2pLogger } from './libp2p-channel.ts';
import { Libp2pTransport, type Stranger } from './libp2p-transport.ts';
import { createPeerHost, type PeerHostDeps, type PeerHostOptions } from './peer-host.ts';
import { underlayOf } from './underlay.ts';

export interface Libp2pHostOptions extends PeerHostOptions {
  /** `ip:port`; port 0 takes a free one. */
  readonly listen: string;
  /** `host:port` to advertise instead of the listening addresses. */
  readonly natAddress?: string;
}

export interface Libp2pHostDeps extends Omit<PeerHostDeps, 'transport'> {
  /** Ed25519 seed, 32 bytes: the libp2p identity. */
  readonly identity: Uint8Array;
}

/** Two words, the first without a version of another program: the form that real nodes expect (checklist item 11). */
const AGENT_VERSION = `svcnet/${VERSION} node/${process.versions.node.split('.')[0]}`;

export async function createLibp2pHost(options: Libp2pHostOptions, deps: Libp2pHostDeps): Promise<Host> {
  const { identity, ...shared } = deps;
  const privateKey = await generateKeyPairFromSeed('Ed25519', identity);
  const peerId = peerIdFromPrivateKey(privateKey);
  const logger = silentLibp2pLogger();
  const transport = new Libp2pTransport(
    {
      localId: peerId.toString(),
      publicKey: publicKeyToProtobuf(privateKey.publicKey),
      agentVersion: AGENT_VERSION,
      listen: underlayOf(options.listen),
      advertised: options.natAddress === undefined ? undefined : underlayOf(options.natAddress),
    },
    {
      secure: await createSecure(privateKey),
      stranger,
      logger,
      clock: deps.clock,
      log: deps.log,
      // Frames of one turn leave together: most of the cost of a small frame is its system call and its encryption.
      defer: (flush) => setImmediate(flush),
    },
  );
  return createPeerHost(options, { ...shared, transport });
}

async function stranger(): Promise<Stranger> {
  const privateKey = await generateKeyPair('Ed25519');
  return { publicKey: publicKeyToProtobuf(privateKey.publicKey), secure: await createSecure(privateKey) };
}
