import { vi } from 'vitest';
import { Chain } from '../../../../harness/chain/chain.ts';
import { MessagesClient, type Subscription } from '../../../../harness/client/messages.ts';
import { NodeClient } from '../../../../harness/client/node-client.ts';
import { StampsClient, TagsClient } from '../../../../harness/client/sessions.ts';
import { BytesClient, ChunksClient, FilesClient } from '../../../../harness/client/transfers.ts';
import { Cluster } from '../../../../harness/cluster/cluster.ts';
import type { Fault } from '../../../../harness/cluster/faults/fault.ts';
import { Faults } from '../../../../harness/cluster/faults/faults.ts';
import { ClusterNode } from '../../../../harness/cluster/nodes/cluster-node.ts';
import {
  after,
  all,
  answers,
  changes,
  fails,
  isCalledFrom,
  type Lie,
  lasts,
  late,
  type Mutation,
  refusal,
  waits,
} from './lies.ts';

const MINUTE_MS = 60_000;
const CHECKS = 'steps/storm/checks.ts';
const SAFETY = 'steps/storm/safety.ts';
const UPDATES = 'steps/storm/updates.ts';

const noSlots = answers(StampsClient.prototype, 'buckets', () => ({
  depth: 20,
  bucketDepth: 16,
  bucketUpperBound: 16,
  buckets: [],
}));
function chunksFor(held: boolean, ...files: readonly string[]): Lie {
  return () => {
    const holds = Reflect.get<ClusterNode, 'holds'>(ClusterNode.prototype, 'holds');
    vi.spyOn(ClusterNode.prototype, 'holds').mockImplementation(function (this: ClusterNode, ...given) {
      return files.some(isCalledFrom) ? Promise.resolve(held) : holds.apply(this, given);
    });
  };
}
const oneTokenMore: Lie = () => {
  const view = Reflect.get<Chain, 'view'>(Chain.prototype, 'view');
  vi.spyOn(Chain.prototype, 'view').mockImplementation(async function (this: Chain, ...given) {
    // Afterwards the caller is not known.
    const more = isCalledFrom(SAFETY) ? 1n : 0n;
    return (await view.apply(this, given)) + more;
  });
};
const noMesh = fails(Cluster.prototype, 'meshed', late);
const noTags = answers(TagsClient.prototype, 'list', () => []);
const nothingIsTaken = after(
  NodeClient.prototype,
  'balances',
  all(
    fails(BytesClient.prototype, 'upload', refusal(503)),
    fails(FilesClient.prototype, 'upload', refusal(503)),
    fails(ChunksClient.prototype, 'upload', refusal(503)),
  ),
);
const nothingIsServed = all(
  fails(BytesClient.prototype, 'download', refusal(404)),
  fails(FilesClient.prototype, 'download', refusal(404)),
  fails(ChunksClient.prototype, 'download', refusal(404)),
);
const otherBytes = all(
  answers(BytesClient.prototype, 'download', () => new Uint8Array(3)),
  answers(FilesClient.prototype, 'download', () => new Uint8Array(3)),
  answers(ChunksClient.prototype, 'download', () => new Uint8Array(11)),
);
const refusals = answers(NodeClient.prototype, 'blocklist', () => [
  { address: 'ab'.repeat(32), reason: 'a test', duration: 60 },
]);
const everLarger: Lie = () => {
  let bytes = 0;
  vi.spyOn(ClusterNode.prototype, 'stats').mockImplementation(() => {
    bytes += 2 ** 30;
    return Promise.resolve({ memoryBytes: bytes });
  });
};
const moreOwed: Lie = (cluster) => {
  let reads = 0n;
  const counted = <D>(data: D): D => {
    reads += 1n;
    return data;
  };
  all(
    changes(BytesClient.prototype, 'download', counted),
    changes(FilesClient.prototype, 'download', counted),
    changes(ChunksClient.prototype, 'download', counted),
    changes(NodeClient.prototype, 'balances', (rows) =>
      rows.map((row) => ({ ...row, balance: row.balance + reads })),
    ),
  )(cluster);
};
const heard = (as: (texts: string[]) => string[]): Lie =>
  changes(MessagesClient.prototype, 'listen', (subscription) => readAs(subscription, as));
const heardAtAddress = (as: (texts: string[]) => string[]): Lie =>
  changes(MessagesClient.prototype, 'listenTo', (subscription) => readAs(subscription, as));
function readAs(subscription: Subscription, as: (texts: string[]) => string[]): Subscription {
  const prototype = Object.getPrototypeOf(subscription) as Subscription;
  const texts = () => Reflect.get(prototype, 'texts', subscription);
  Object.defineProperty(subscription, 'texts', { get: () => as(texts()) });
  return subscription;
}
const otherPayload: Lie = () => {
  const download = Reflect.get<ChunksClient, 'download'>(ChunksClient.prototype, 'download');
  vi.spyOn(ChunksClient.prototype, 'download').mockImplementation(function (this: ChunksClient, ...given) {
    return isCalledFrom(UPDATES) ? Promise.resolve(new Uint8Array(200)) : download.apply(this, given);
  });
};
function history(as: (faults: readonly Fault[]) => readonly Fault[]): Lie {
  return () => {
    const truth = Object.getOwnPropertyDescriptor(Faults.prototype, 'history');
    vi.spyOn(Faults.prototype, 'history', 'get').mockImplementation(function (this: Faults) {
      return as(truth?.get?.call(this) as readonly Fault[]);
    });
  };
}

const CALM = { duration: '2s', faults: '', lanes: '1', pace: '100ms', sizes: '5000' };
/** Long enough for a message. */
const TALK = { ...CALM, duration: '4s' };
const SLOW = { ...CALM, faults: 'slow', 'fault-every': '300ms', 'fault-for': '500ms' };

/**
 * The first four end a storm. It takes seconds, so each of the others is told all lies that leave each other alone; what a
 * condition saw says which of them turned it red.
 */
export const STORMS: readonly Mutation[] = [
  ['storm', CALM, oneTokenMore, /money is neither made nor lost/],
  ['storm', CALM, otherBytes, /no node has served or named anything wrong/],
  [
    'storm',
    CALM,
    chunksFor(false, 'steps/storm/operations.ts'),
    /what a direct upload acknowledges is on a node at once/,
  ],
  ['storm', CALM, chunksFor(false, SAFETY), /no acknowledged chunk is lost/],
  [
    'storm',
    CALM,
    all(
      noMesh,
      noSlots,
      refusals,
      everLarger,
      chunksFor(false, 'inspect/ledger/placement.ts', 'inspect/ledger/ledger.ts'),
      waits(10_000, CHECKS),
    ),
    /the mesh is whole again: it does not come to an end/,
    /every acknowledged chunk has a slot of its batch to itself: [^]*: 0 slots for /,
    /no node refuses another: [^]* refuses abababab: a test/,
    /memory, handles and disk of every node stay within bounds: [^]* GiB more memory/,
    /chunks are on every node of their neighbourhood: .*\b(\d+) of \1 chunks/,
    /every acknowledged chunk is held by a node: [1-9]\d* missing/,
  ],
  [
    'storm',
    SLOW,
    all(
      nothingIsTaken,
      history(() => []),
    ),
    /nodes take uploads: 0 of /,
    /faults were injected: 0 of /,
  ],
  [
    'storm',
    SLOW,
    history((faults) => faults.map((fault) => ({ ...fault, endAt: fault.at + 60_000, effect: {} }))),
    /every fault has an effect/,
  ],
  [
    'storm',
    TALK,
    all(
      heard(() => []),
      waits(1000, 'steps/storm/messages.ts'),
      heardAtAddress((texts) => texts.slice(0, 1)),
      waits(1000, 'steps/storm/payloads.ts'),
      otherPayload,
      waits(1000, UPDATES),
    ),
    /every message is heard by the node it is for: 0 of /,
    /every payload sent to one address is heard: [^]* has not heard 'second payload'/,
    /the newest payload at an address replaces the older ones: [^]* has '\W+' at /,
  ],
  [
    'storm',
    TALK,
    all(
      heard((texts) => [...texts, ...texts]),
      chunksFor(true, 'steps/storm/expiry.ts'),
      waits(1000, 'steps/storm/expiry.ts'),
    ),
    /no message is heard twice: [1-9]/,
    /chunks of an expired batch leave the reserves: .* still has 16 of 16/,
  ],
  [
    'storm',
    CALM,
    all(
      noTags,
      lasts(TagsClient.prototype, 'list', MINUTE_MS, CHECKS),
      nothingIsServed,
      lasts(BytesClient.prototype, 'download', 2 * MINUTE_MS, CHECKS),
      waits(1000, UPDATES),
    ),
    /every deferred upload reaches the network: [^]*upload \d+, /,
    /every upload is delivered: [^]*refused by a test/,
    /the newest payload at an address replaces the older ones: [^]*refused by a test/,
  ],
  [
    'storm',
    CALM,
    all(moreOwed, waits(1000, 'steps/money.ts')),
    /work after the faults adds no difference between the ends of a link/,
    /nothing is lost or made: balances, cheques and tokens add up/,
  ],
];
