/**
 * One attack on the p2p port of a node: `node attack-wire-process.ts NAME UNDERLAY NETWORK_ID LIMIT_MS BATCH`. Prints a line
 * of JSON when it has begun, and one with what it has done at the end. Only for nodes that the benchmark started on this
 * machine.
 */
import { once } from 'node:events';
import { connect as connectSocket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeCac } from '../../formats/chunk/cac.ts';
import { systemClock } from '../../formats/clock.ts';
import { fromHex } from '../../formats/crypto/hex.ts';
import { createSigner } from '../../formats/crypto/signer.ts';
import { systemRandom } from '../../formats/random.ts';
import { silentLogger } from '../../node/env/logger.ts';
import { createMetrics } from '../../node/env/metrics.ts';
import { createAddressBook } from '../../node/p2p/address/address-book.ts';
import { ownIdentity } from '../../node/p2p/address/identity-key.ts';
import { mintRecord, NO_CHEQUEBOOK } from '../../node/p2p/address/record.ts';
import { encodeUnderlays, isLoopback, peerIdOf, withPeerId } from '../../node/p2p/address/underlay.ts';
import type { Host, MessageStream, Peer } from '../../node/p2p/host.ts';
import { createSecure } from '../../node/p2p/libp2p/channel.ts';
import { createLibp2pHost } from '../../node/p2p/libp2p-host.ts';
import { createTcp } from '../../node/p2p/tcp-host.ts';
import { HIVE, Peers } from '../../node/protocols/hive/wire.ts';
import { PINGPONG, Ping, Pong } from '../../node/protocols/pingpong/wire.ts';
import { PRICING } from '../../node/protocols/pricing/wire.ts';
import { Delivery as Parcel, PUSHSYNC, Receipt } from '../../node/protocols/pushsync/wire.ts';
import { Delivery, RETRIEVAL, Request } from '../../node/protocols/retrieval/wire.ts';
import { STATUS } from '../../node/protocols/status/wire.ts';
import { memoryRecords } from '../unit/p2p/memory-nodes.ts';
import type { Attacked } from './attack-wire.ts';

const random = systemRandom();
const clock = systemClock();
const done: Attacked = { sessions: 0, sent: 0, answered: 0 };
/** Between two connections of one attacker, which would wear itself out otherwise. */
const PAUSE_MS = 20;
const NONCE = new Uint8Array(32);
const signer = createSigner(random.bytes(32));

const [name = '', underlay = '', networkId = '', limitMs = '', batch = ''] = process.argv.slice(2);
if (!isLoopback(underlay)) throw new Error(`${underlay} is not on this machine`);
const over = AbortSignal.any([AbortSignal.timeout(Number(limitMs)), terminated()]);

/** An attacker is refused, thrown out or told to end, and tries again. Anything else is a fault of this file. */
function refusedOnly(error: unknown): void {
  if (!(error instanceof Error && 'code' in error)) throw error;
}

function terminated(): AbortSignal {
  const controller = new AbortController();
  process.once('SIGTERM', () => controller.abort());
  return controller.signal;
}

// ── strangers ───────────────────────────────────────────────────────────────────────────────────────────────────────

interface Held {
  readonly closed: Promise<unknown>;
}

/** Connections that end are opened anew. */
async function heldOpen(count: number, open: () => Promise<Held>): Promise<void> {
  const hold = async () => {
    while (!over.aborted) {
      try {
        const { closed } = await open();
        done.sent++;
        await Promise.race([closed, aborted()]);
      } catch (error) {
        refusedOnly(error);
      }
      await sleep(PAUSE_MS * 50);
    }
  };
  const holding: Promise<void>[] = [];
  for (let n = 0; n < count && !over.aborted; n++) {
    holding.push(hold());
    if (n % 10 === 9) await sleep(PAUSE_MS);
  }
  await Promise.all(holding);
}

function aborted(): Promise<void> {
  return new Promise((resolve) => {
    if (over.aborted) resolve();
    else over.addEventListener('abort', () => resolve(), { once: true });
  });
}

async function silentSocket(): Promise<Held> {
  const [, , host = '', , port = ''] = underlay.split('/');
  const socket = connectSocket(Number(port), host);
  socket.on('error', () => socket.destroy());
  await once(socket, 'connect', { signal: over });
  return { closed: once(socket, 'close') };
}

const strangerIdentity = ownIdentity(random.bytes(32));
const secure = createSecure(strangerIdentity);
const tcp = createTcp();

async function stranger(): Promise<Held> {
  const connection = await tcp.dial(underlay, over);
  await secure(connection, 'dialler', { signal: over, expected: peerIdOf(underlay) });
  const { promise, resolve } = Promise.withResolvers<void>();
  connection.onClosed(() => resolve());
  return { closed: promise };
}

// ── peers ───────────────────────────────────────────────────────────────────────────────────────────────────────────

interface Attacker {
  readonly host: Host;
  readonly peer: Peer;
}

async function asPeers(atOnce: number, flood: (one: Attacker) => Promise<void>): Promise<void> {
  while (!over.aborted) {
    const host = newHost();
    await host.start();
    try {
      const peer = await host.connect([underlay], over);
      done.sessions++;
      await Promise.all(
        Array.from({ length: atOnce }, () => untilThrownOut(peer, () => flood({ host, peer }))),
      );
    } catch (error) {
      refusedOnly(error);
    } finally {
      await host.stop();
    }
    await sleep(PAUSE_MS);
  }
}

async function untilThrownOut(peer: Peer, flood: () => Promise<void>): Promise<void> {
  while (!over.aborted && !peer.closed.aborted) {
    try {
      await flood();
    } catch (error) {
      refusedOnly(error);
      await sleep(1);
    }
  }
}

function newHost(): Host {
  const host = createLibp2pHost(
    {
      listen: '127.0.0.1:0',
      networkId: BigInt(networkId),
      nonce: NONCE,
      fullNode: true,
      allowPrivateCidrs: true,
      welcomeMessage: '',
    },
    {
      identity: random.bytes(32),
      signer: createSigner(random.bytes(32)),
      addressBook: createAddressBook(memoryRecords()),
      state: memoryRecords(),
      clock,
      random,
      log: silentLogger(),
      metrics: createMetrics({ prefix: 'svc' }),
    },
  );
  // Who cannot be told these is dropped.
  for (const protocol of [PRICING, ...Object.values(HIVE)]) {
    host.handle(protocol, async (stream) => void (await stream.read({})));
  }
  return host;
}

async function opened(
  { host, peer }: Attacker,
  protocolId: string,
  talk: (stream: MessageStream) => Promise<void>,
): Promise<void> {
  const stream = await host.open(peer, protocolId, { signal: over });
  try {
    await talk(stream);
    done.answered++;
  } finally {
    stream.reset(new Error('done with it'));
  }
}

async function pings(one: Attacker): Promise<void> {
  await opened(one, PINGPONG.id, async (stream) => {
    for (;;) {
      for (let n = 0; n < 100; n++) {
        await stream.write(Ping, { greeting: 'ping' });
        done.sent++;
      }
      for (let n = 0; n < 100; n++) await stream.read(Pong);
    }
  });
}

async function openAndLeave(one: Attacker): Promise<void> {
  done.sent++;
  await opened(one, STATUS.id, async () => undefined);
}

async function push(one: Attacker, { badly }: { badly: 'stamped' | 'addressed' }): Promise<void> {
  const { address, data } = makeCac(4096n, random.bytes(4096));
  // What is wrong with it shows only in its signature.
  const stamp = Buffer.concat([fromHex(batch), random.bytes(16), signer.sign(address)]);
  done.sent++;
  await opened(one, PUSHSYNC.id, async (stream) => {
    await stream.write(Parcel, { address: badly === 'addressed' ? random.bytes(32) : address, data, stamp });
    await stream.read(Receipt);
  });
}

async function miss(one: Attacker): Promise<void> {
  done.sent++;
  await opened(one, RETRIEVAL.id, async (stream) => {
    await stream.write(Request, { addr: random.bytes(32) });
    await stream.read(Delivery);
  });
}

async function gossip(one: Attacker): Promise<void> {
  const peers = Array.from({ length: 30 }, () => invented());
  done.sent += peers.length;
  await opened(one, HIVE['15.0.0'].id, async (stream) => {
    await stream.write(Peers, { peers });
    await stream.close();
  });
}

/** It looks real; nobody listens at its address. */
function invented() {
  const [port = 0] = random.bytes(1);
  const address = withPeerId(`/ip4/127.0.0.1/tcp/${port + 1}`, strangerIdentity.peerId);
  const statement = {
    underlay: encodeUnderlays([address]),
    nonce: NONCE,
    timestamp: BigInt(Math.floor(clock.now() / 1000)),
    chequebook: NO_CHEQUEBOOK,
  };
  return mintRecord(statement, { signer: createSigner(random.bytes(32)), networkId: BigInt(networkId) });
}

const ATTACKS: Readonly<Record<string, () => Promise<void>>> = {
  'silent sockets': () => heldOpen(1_000, silentSocket),
  strangers: () => heldOpen(1_500, stranger),
  pings: () => asPeers(8, (one) => pings(one)),
  streams: () => asPeers(64, (one) => openAndLeave(one)),
  'bad stamps': () => asPeers(64, (one) => push(one, { badly: 'stamped' })),
  'bad chunks': () => asPeers(64, (one) => push(one, { badly: 'addressed' })),
  'missing chunks': () => asPeers(500, (one) => miss(one)),
  gossip: () => asPeers(8, (one) => gossip(one)),
};

const attack = ATTACKS[name];
if (attack === undefined) throw new Error(`no attack '${name}', expected ${Object.keys(ATTACKS).join(', ')}`);
process.stdout.write('{"begun":true}\n');
await attack();
process.stdout.write(`${JSON.stringify(done)}\n`, () => process.exit());
