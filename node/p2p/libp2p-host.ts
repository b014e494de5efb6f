/**
 * TCP or WebSockets, noise and yamux (`p2p-protocols.md` 1). Peers are in `peer-host.ts`, connections in
 * `libp2p/transport.ts`.
 */

import { setImmediate } from 'node:timers';
import type { Random } from '../../formats/random.ts';
import { VERSION } from '../../formats/version.ts';
import type { Power } from '../env/power.ts';
import { ownIdentity } from './address/identity-key.ts';
import { DEFAULT_CARRIERS, underlayOf } from './address/underlay.ts';
import type { Host } from './host.ts';
import type { HostDeps, HostOptions } from './host-options.ts';
import { createSecure } from './libp2p/channel.ts';
import { Libp2pTransport, type Stranger } from './libp2p/transport.ts';
import { StaticKeyProofs } from './noise/noise-stream.ts';
import { createPeerHost } from './peer-host.ts';
import { createTcp, type Tcp } from './tcp-host.ts';
import type { SocketOptions } from './websocket-host.ts';

/** Two words, the first without another program's version: real nodes expect this form. */
const AGENT_VERSION = `svcnet/${VERSION} node/${process.versions.node.split('.')[0]}`;

const SEED_SIZE = 32;

export function createLibp2pHost(options: HostOptions, deps: HostDeps & { readonly power?: Power }): Host {
  const { identity, random, power, ...shared } = deps;
  const { carriers = DEFAULT_CARRIERS, secure, authority } = options;
  const own = ownIdentity(identity);
  const proofs = new StaticKeyProofs();
  // One for all probes, as in a real node.
  let prober: Stranger | undefined;
  const transport = new Libp2pTransport(
    {
      localId: own.peerId,
      publicKey: own.publicKey,
      agentVersion: AGENT_VERSION,
      listen: listeners(options),
    },
    {
      tcp: socketsFor({ carriers, secure, authority }, power),
      secure: createSecure(own, proofs),
      stranger: () => (prober ??= stranger(random, proofs)),
      clock: deps.clock,
      log: deps.log,
      // Most of a small frame's cost is its system call and encryption.
      defer: (flush) => setImmediate(() => (power === undefined ? flush() : power.run(flush))),
    },
  );
  return createPeerHost(options, { ...shared, transport });
}

/** WebSockets cost five megabytes and a tenth of a start. */
function socketsFor(options: SocketOptions, power: Power | undefined): Tcp {
  if (options.carriers.every((name) => name === 'tcp')) return createTcp(power);
  let loaded: Promise<Tcp> | undefined;
  // On first use, so that failures reach the one who dials or listens.
  const sockets = () =>
    (loaded ??= import('./websocket-host.ts').then(({ createSockets }) => createSockets(options, power)));
  return {
    dial: async (underlay, signal) => (await sockets()).dial(underlay, signal),
    listen: async (address, events) => (await sockets()).listen(address, events),
  };
}

function listeners(options: HostOptions): { address: string; advertised: string | undefined }[] {
  const { listen, natAddress, secure, carriers = DEFAULT_CARRIERS } = options;
  const advertised = (nat: string | undefined) => (nat === undefined ? undefined : underlayOf(nat));
  const isPlain = carriers.some((carrier) => carrier !== 'wss');
  return [
    ...(isPlain ? [{ address: underlayOf(listen), advertised: advertised(natAddress) }] : []),
    ...(secure === undefined
      ? []
      : [{ address: `${underlayOf(secure.listen)}/tls/ws`, advertised: advertised(secure.natAddress) }]),
  ];
}

function stranger(random: Random, proofs: StaticKeyProofs): Stranger {
  const identity = ownIdentity(random.bytes(SEED_SIZE));
  return { publicKey: identity.publicKey, secure: createSecure(identity, proofs) };
}
