/**
 * `npm run record:conversations`, with SVCNET_BEE_BINARY. A host of this process talks to each Bee in every protocol and
 * lets it talk back. All bytes of every stream after the negotiation go to `test/vectors/conversations.json`; tests replay
 * them.
 */
import { rmSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { closerTo } from '../../formats/chunk/address.ts';
import { makeCac } from '../../formats/chunk/cac.ts';
import { type Chunk, ChunkNotFoundError } from '../../formats/chunk/chunk.ts';
import { signSoc } from '../../formats/chunk/soc.ts';
import { bucketOf, type Stamp, stampDigest, stampIndex } from '../../formats/chunk/stamp.ts';
import { systemClock } from '../../formats/clock.ts';
import { fromHex, toHex } from '../../formats/crypto/hex.ts';
import { createSigner, type Signer } from '../../formats/crypto/signer.ts';
import type { Cluster } from '../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../harness/cluster/nodes/cluster-node.ts';
import { deriveNode } from '../../harness/cluster/plan/seed.ts';
import { silentLogger } from '../../node/env/logger.ts';
import { createMetrics } from '../../node/env/metrics.ts';
import { createAddressBook } from '../../node/p2p/address/address-book.ts';
import { ownIdentity } from '../../node/p2p/address/identity-key.ts';
import type { Peer } from '../../node/p2p/host.ts';
import { createSecure } from '../../node/p2p/libp2p/channel.ts';
import { Libp2pTransport } from '../../node/p2p/libp2p/transport.ts';
import { createPeerHost } from '../../node/p2p/peer-host.ts';
import { createTcp } from '../../node/p2p/tcp-host.ts';
import type { StatusSnapshot } from '../../node/protocols/status/status.ts';
import { memoryRecords, testKey, ZERO_NONCE } from '../unit/p2p/memory-nodes.ts';
import { protocolSet } from '../unit/protocols/protocol-set.ts';
import { aBee, OTHERS, startMixed } from './kit.ts';
import { type Recorded, RecordingTransport } from './recording-transport.ts';

const VECTORS = fileURLToPath(new URL('../vectors/conversations.json', import.meta.url));
const SEED = 41;
/** Depth 20: 16 slots in each of 2^16 buckets; the Bee itself begins with the first. */
const BUCKET_DEPTH = 16;
const LAST_SLOT = 15;
const never = new AbortController().signal;

const SNAPSHOT: StatusSnapshot = {
  reserveSize: 3n,
  pullsyncRate: 0,
  storageRadius: 0,
  connectedPeers: 1n,
  neighborhoodSize: 2n,
  beeMode: 'full',
  batchCommitment: 1n << 21n,
  isReachable: true,
  reserveSizeWithinRadius: 3n,
  lastSyncedBlock: 30n,
  committedDepth: 0,
  metrics: new Map(),
};

async function ownNode(networkId: bigint) {
  const identity = ownIdentity(testKey(1));
  const { peerId, publicKey } = identity;
  const secure = createSecure(identity);
  const clock = systemClock();
  const log = silentLogger();
  const metrics = createMetrics({ prefix: 'svc' });
  const signer = createSigner(testKey(1));
  const addressBook = createAddressBook(memoryRecords());
  const transport = new RecordingTransport(
    new Libp2pTransport(
      {
        localId: peerId,
        publicKey,
        agentVersion: 'recorder/0.1.0 node/24',
        listen: [{ address: '/ip4/127.0.0.1/tcp/0' }],
      },
      {
        tcp: createTcp(),
        secure,
        stranger: () => ({ publicKey, secure }),
        clock,
        log,
        defer: (flush) => setImmediate(flush),
      },
    ),
  );
  const shared = { transport, signer, addressBook, clock, log, metrics };
  const host = createPeerHost(
    { networkId, nonce: ZERO_NONCE, fullNode: true, allowPrivateCidrs: true, welcomeMessage: 'hello' },
    { ...shared, state: memoryRecords() },
  );
  const protocols = await protocolSet(
    { networkId, radius: 0, snapshot: () => SNAPSHOT },
    { ...shared, host },
  );
  await host.start();
  return { ...protocols, host, transport, addressBook };
}

type Own = Awaited<ReturnType<typeof ownNode>>;

/** Its closest node is the first of these. */
function chunkNear([winner, ...others]: readonly Uint8Array[], n: number): Chunk {
  for (let i = 0, found = 0; ; i++) {
    const payload = Buffer.from(`recorded ${i}`);
    const chunk = makeCac(BigInt(payload.length), payload);
    const closest = others.every((other) => closerTo(chunk.address, winner as Uint8Array, other) < 0);
    if (closest && found++ === n) return chunk;
  }
}

/** Made with the key of the batch's owner. */
function stamper(batchId: Uint8Array, owner: Signer): (chunk: Chunk) => Stamp {
  return ({ address }) => {
    const index = stampIndex(bucketOf(address, BUCKET_DEPTH), LAST_SLOT);
    const timestamp = new Uint8Array(8);
    new DataView(timestamp.buffer).setBigUint64(0, BigInt(Date.now()) * 1_000_000n);
    return {
      batchId,
      index,
      timestamp,
      signature: owner.sign(stampDigest(address, batchId, index, timestamp)),
    };
  };
}

async function until(what: string, holds: () => boolean): Promise<void> {
  for (let tries = 0; tries < 300; tries++) {
    if (holds()) return;
    await sleep(100);
  }
  throw new Error(`${what} did not come`);
}

async function converse(own: Own, net: Cluster, bee: ClusterNode): Promise<void> {
  const { host, transport } = own;
  const beeOverlay = fromHex(bee.overlay);
  const peer = await host.connect([bee.p2p], never);
  const batch = net.batches.find(({ node }) => node === bee.name);
  if (batch === undefined) throw new Error(`${bee.name} has no batch`);
  const { keys } = deriveNode({ seed: BigInt(SEED), index: bee.index, networkId: net.chain.networkId });
  const stamp = stamper(fromHex(batch.id), createSigner(keys.swarm));
  const heard = (id: string) =>
    transport.recorded.some(({ opener, protocol }) => opener === 'theirs' && protocol.includes(id));
  await until('pricing of the Bee', () => heard('pricing'));
  await until('status of the Bee', () => heard('status'));
  await asked(own, peer, { beeOverlay, stamp });
  await asking(own, bee, { beeOverlay, stamp, batch: batch.id, other: net.node(0) });
}

/** We ask. */
async function asked(
  own: Own,
  peer: Peer,
  bee: { beeOverlay: Uint8Array; stamp: (chunk: Chunk) => Stamp },
): Promise<void> {
  const { host } = own;
  await own.hive.announce(peer, [toHex(host.overlay), peer.overlayHex, ...own.addressBook.overlays()], never);
  await own.pingpong.ping(peer, never);
  await own.status.request(peer, never);
  const nearBee = [bee.beeOverlay, host.overlay];
  const chunk = chunkNear(nearBee, 0);
  const soc = signSoc(new Uint8Array(32).fill(7), chunkNear(nearBee, 1).data, createSigner(testKey(9)));
  for (const [about, one] of [
    ['content-addressed chunk', chunk],
    ['single-owner chunk', soc],
  ] as const) {
    own.transport.about = about;
    const pushed = await own.pushsync.push(one, bee.stamp(one), { signal: never });
    if (pushed.outcome !== 'synced') throw new Error(`the Bee did not take ${toHex(one.address)}`);
  }
  own.transport.about = 'content-addressed chunk';
  await own.retrieval.retrieve(chunk.address, { signal: never });
  own.transport.about = 'single-owner chunk';
  await own.retrieval.retrieve(soc.address, { signal: never });
  own.transport.about = 'chunk that nobody has';
  await nobodyHas(own, chunkNear(nearBee, 2).address);
  const owed = own.accounting.balance(peer.overlayHex)?.consumedBalance ?? 0n;
  await own.pseudosettle.settle(peer, -owed);
  const { cursors } = await own.pullsync.cursors(peer, never);
  const bin = cursors.findIndex((cursor) => cursor > 0n);
  await own.pullsync.sync(peer, bin, 1n, never);
}

async function nobodyHas({ retrieval }: Own, address: Uint8Array): Promise<void> {
  const outcome = await retrieval.retrieve(address, { signal: never }).catch((error: unknown) => error);
  if (!(outcome instanceof ChunkNotFoundError)) {
    throw new Error(`${toHex(address)} should be nowhere`, { cause: outcome });
  }
}

/** The Bee asks. */
async function asking(
  own: Own,
  bee: ClusterNode,
  {
    beeOverlay,
    stamp,
    batch,
    other,
  }: { beeOverlay: Uint8Array; stamp: (chunk: Chunk) => Stamp; batch: string; other: ClusterNode },
): Promise<void> {
  const { host, transport } = own;
  const nearUs = [host.overlay, beeOverlay];
  await bee.client.pingpong(toHex(host.overlay));
  const pulled = chunkNear(nearUs, 3);
  await own.store.reserve.put(pulled, stamp(pulled));
  await until('a page for the Bee', () =>
    transport.recorded.some(
      ({ opener, protocol, turns }) =>
        opener === 'theirs' && protocol.endsWith('/pullsync') && turns.length >= 6,
    ),
  );
  transport.about = 'content-addressed chunk';
  const cached = chunkNear(nearUs, 4);
  own.store.cache.put(cached);
  const ask = (address: Uint8Array) => fetch(`${bee.api}/chunks/${toHex(address)}`);
  if (!(await ask(cached.address)).ok) throw new Error('the Bee did not retrieve a chunk from us');
  transport.about = 'chunk that nobody has';
  await ask(chunkNear([...nearUs, fromHex(other.overlay)], 5).address);
  transport.about = 'content-addressed chunk';
  const sent = chunkNear(nearUs, 6);
  const headers = {
    'swarm-postage-batch-id': batch,
    'swarm-deferred-upload': 'false',
    'content-type': 'application/octet-stream',
  };
  const uploaded = await fetch(`${bee.api}/chunks`, {
    method: 'POST',
    headers,
    body: Buffer.from(sent.data),
  });
  if (!uploaded.ok) throw new Error(`the Bee did not push: ${uploaded.status} ${await uploaded.text()}`);
  // The ends of the last streams.
  await sleep(1_000);
}

/** For its side of the handshake. */
async function beDialled(networkId: bigint, bee: ClusterNode): Promise<readonly Recorded[]> {
  const own = await ownNode(networkId);
  try {
    await bee.client.connect(own.host.underlays()[0] as string);
    await sleep(1_000);
    return own.transport.recorded.filter(
      ({ protocol, remote }) => protocol.includes('handshake') && bee.p2p.endsWith(remote.id),
    );
  } finally {
    await own.host.stop();
    // A Bee refuses a peer that reconnects at once.
    await sleep(6_000);
  }
}

/** Side that opened, protocol and outcome make a kind. */
function selection(recorded: readonly Recorded[]): Recorded[] {
  const kinds = new Map<string, Recorded>();
  for (const conversation of recorded) {
    const { opener, protocol, turns, about, whole } = conversation;
    const varied = /retrieval|pushsync/.test(protocol);
    const kind = [opener, protocol, turns.length, varied ? about : ''].join(' ');
    if (whole && !kinds.has(kind)) kinds.set(kind, varied ? conversation : { ...conversation, about: '' });
  }
  return [...kinds.values()];
}

const recordings = [];
for (const side of OTHERS.filter((one) => aBee(one) === undefined)) {
  const stateDir = await mkdtemp(join(tmpdir(), 'conversations-'));
  try {
    await using net = await startMixed({ side, own: 1, others: 1, seed: SEED, stateDir });
    const [, bee] = net.nodes as [ClusterNode, ClusterNode];
    const networkId = BigInt(net.chain.networkId);
    const dialled = await beDialled(networkId, bee);
    const own = await ownNode(networkId);
    try {
      await converse(own, net, bee);
    } finally {
      await own.host.stop();
    }
    const [ours] = own.transport.recorded;
    // Other nodes talk to us, too.
    const ofBee = own.transport.recorded.filter(({ remote }) => remote.id === ours?.remote.id);
    const conversations = selection([...dialled, ...ofBee]);
    recordings.push({ bee: side.title, overlay: bee.overlay, networkId: String(networkId), conversations });
    process.stdout.write(`${side.title}: ${conversations.length} of ${ofBee.length} conversations\n`);
  } finally {
    rmSync(stateDir, { recursive: true, force: true });
  }
}
if (recordings.length === 0) throw new Error('expected a Bee in SVCNET_FLAVOURS or SVCNET_BEE_BINARY');
const file = {
  source: 'Real Bees of the named versions on a chain of our own, recorded by test/interop/record.ts.',
  about:
    "Bytes on each stream after the negotiation, hex, turn by turn: '>' from us, '<' from the Bee. Our node has the key of 32 bytes of value 1 and nonce 0; `overlay` is the Bee's.",
  recordings,
};
writeFileSync(VECTORS, `${JSON.stringify(file, undefined, 1)}\n`);
