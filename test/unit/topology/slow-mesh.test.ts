/** Whatever gets lost while nodes start, every node must end with every other one. */
import { fc, test as property } from '@fast-check/vitest';
import { expect } from 'vitest';
import { createSigner } from '../../../formats/crypto/signer.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import { createMetrics } from '../../../node/env/metrics.ts';
import { createAddressBook } from '../../../node/p2p/address/address-book.ts';
import { type Host, StreamError } from '../../../node/p2p/host.ts';
import { createPeerHost } from '../../../node/p2p/peer-host.ts';
import { createHive } from '../../../node/protocols/hive/hive.ts';
import { createPricing } from '../../../node/protocols/pricing/pricing.ts';
import { createKademlia, type Kademlia } from '../../../node/topology/kademlia.ts';
import { FULL_NODE, memoryRecords, NETWORK_ID, testKey, ZERO_NONCE } from '../p2p/memory-nodes.ts';
import { SlowNetwork } from '../p2p/slow-network.ts';
import { ManualClock } from '../protocols/manual-clock.ts';

/** What went wrong at first has been tried again: a dial takes 45 s, its pause 20 s. */
const MESHED_AFTER_MS = 180_000;
const BOOTNODES = 3;

interface Trouble {
  readonly nodes: number;
  readonly firstKey: number;
  readonly radius: number;
  /** Of the first messages; those after them take a millisecond. */
  readonly latenciesMs: readonly number[];
  readonly lost: readonly boolean[];
  readonly startsMs: readonly number[];
}

const trouble = fc.record<Trouble>({
  nodes: fc.constantFrom(2, 3, 5),
  firstKey: fc.integer({ min: 1, max: 200 }),
  radius: fc.constantFrom(0, 2, 4),
  latenciesMs: fc.array(
    fc.oneof(
      { weight: 20, arbitrary: fc.integer({ min: 1, max: 60 }) },
      { weight: 2, arbitrary: fc.integer({ min: 1_000, max: 5_500 }) },
      { weight: 1, arbitrary: fc.integer({ min: 9_000, max: 17_000 }) },
    ),
    { maxLength: 300 },
  ),
  lost: fc.array(fc.boolean(), { maxLength: 8 }),
  startsMs: fc.array(fc.constantFrom(0, 0, 3, 40, 2_000), { minLength: 5, maxLength: 5 }),
});

interface Node {
  readonly host: Host;
  readonly kademlia: Kademlia;
}

function nodesIn(clock: ManualClock, given: Trouble): Node[] {
  let messages = 0;
  let announcements = 0;
  const network = new SlowNetwork(clock, () => given.latenciesMs[messages++] ?? 1);
  const hosts = Array.from({ length: given.nodes }, (_, i) => {
    const n = given.firstKey + i;
    const base = {
      clock,
      log: silentLogger(),
      metrics: createMetrics({ prefix: 'svc' }),
      state: memoryRecords(),
    };
    const addressBook = createAddressBook(memoryRecords());
    const options = {
      networkId: NETWORK_ID,
      nonce: ZERO_NONCE,
      fullNode: true,
      allowPrivateCidrs: true,
      welcomeMessage: '',
    };
    const transport = network.transport(n);
    const host = createPeerHost(options, {
      ...base,
      addressBook,
      transport,
      signer: createSigner(testKey(n)),
    });
    return { ...base, addressBook, host };
  });
  const bootnodes = hosts.slice(0, BOOTNODES).flatMap(({ host }) => host.underlays());
  return hosts.map((parts) => {
    const accounting = { thresholdFor: () => 1_000n, thresholdAnnounced: async () => undefined };
    createPricing({ thresholdMinimum: 1n, refreshRate: 1n }, { ...parts, accounting });
    const hive = createHive({ networkId: NETWORK_ID, allowPrivateCidrs: true, bootnodeMode: false }, parts);
    const lossy: typeof hive = {
      onLearned: (listener) => hive.onLearned(listener),
      announce: async (peer, overlays, signal) => {
        if (given.lost[announcements++] === true) throw new StreamError('STREAM_RESET', 'lost');
        await hive.announce(peer, overlays, signal);
      },
    };
    const own = parts.host.underlays();
    const kademlia = createKademlia(
      {
        ...FULL_NODE,
        allowPrivateCidrs: true,
        storageRadius: () => given.radius,
        bootnodes: bootnodes.filter((underlay) => !own.includes(underlay)),
      },
      { ...parts, hive: lossy, random: { bytes: (length) => new Uint8Array(length), below: () => 0 } },
    );
    return { host: parts.host, kademlia };
  });
}

/** What kept nodes apart. */
const examples: [Trouble][] = [
  {
    // Two dial each other; what one sends on the first connection arrives before its introduction on the second.
    nodes: 3,
    firstKey: 78,
    radius: 0,
    latenciesMs: [55, 4, 10, 34, 34, 3, 3, 9_008],
    lost: [],
    startsMs: [0, 0, 3, 3, 2_000],
  },
  {
    nodes: 5,
    firstKey: 149,
    radius: 2,
    latenciesMs: [15, 1, 9_011, 4],
    lost: [false, false, true],
    startsMs: [40, 2_000, 2_000, 2_000, 2_000],
  },
  {
    // None of them is known to be reachable yet.
    nodes: 5,
    firstKey: 3,
    radius: 4,
    latenciesMs: [],
    lost: [false, true, true, true, false, true],
    startsMs: [0, 0, 40, 0, 0],
  },
  {
    // All are of one slot, and the announcing node is not heard.
    nodes: 5,
    firstKey: 114,
    radius: 2,
    latenciesMs: [18, 15, 1, 55, 35, 58, 6, 22, 17],
    lost: [true, true, true, true, true],
    startsMs: [3, 40, 40, 0, 0],
  },
].map((given) => [given]);

property.prop([trouble], { numRuns: 60, examples })(
  'nodes that start in trouble are all connected in the end',
  async (given) => {
    const clock = new ManualClock();
    const nodes = nodesIn(clock, given);
    await Promise.all([
      clock.advance(MESHED_AFTER_MS),
      ...nodes.map(async ({ host, kademlia }, i) => {
        await clock.sleep(given.startsMs[i] as number);
        await host.start();
        await kademlia.start();
      }),
    ]);
    expect(nodes.map(({ host }) => host.peers().length)).toEqual(nodes.map(() => nodes.length - 1));
    expect(nodes.map(({ kademlia }) => kademlia.connectedCount())).toEqual(nodes.map(() => nodes.length - 1));
    const stopping = Promise.all(nodes.map(({ kademlia }) => kademlia.stop()));
    await clock.advance(60_000);
    await stopping;
    for (const { host } of nodes) await host.stop();
  },
);
