import { vi } from 'vitest';
import { FeedsClient, SocClient } from '../../../../harness/client/feeds.ts';
import { Subscription } from '../../../../harness/client/messages.ts';
import { PinsClient, StewardshipClient } from '../../../../harness/client/pins.ts';
import { StampsClient, TagsClient } from '../../../../harness/client/sessions.ts';
import { BytesClient, ChunksClient, FilesClient } from '../../../../harness/client/transfers.ts';
import type { Tag } from '../../../../harness/client/types.ts';
import {
  after,
  all,
  answers,
  changes,
  holding,
  impatience,
  type Lie,
  type Mutation,
  takesAll,
} from './lies.ts';

const OTHER = new Uint8Array(3);
const otherFile = answers(FilesClient.prototype, 'download', () => OTHER);
const otherFileOnce: Lie = () =>
  void vi.spyOn(FilesClient.prototype, 'download').mockResolvedValueOnce(OTHER);
const otherBytes = answers(BytesClient.prototype, 'download', () => OTHER);
const nowhere = holding(false);

function hearing(texts: (heard: readonly string[]) => string[]): Lie {
  return () =>
    void vi.spyOn(Subscription.prototype, 'texts', 'get').mockImplementation(function (this: Subscription) {
      return texts(this.received.map(({ payload }) => Buffer.from(payload).toString()));
    });
}
const deaf = all(
  impatience,
  hearing(() => []),
);
/** Each payload comes again as soon as somebody looks. */
const twice: Lie = () =>
  void vi.spyOn(Subscription.prototype, 'texts', 'get').mockImplementation(function (this: Subscription) {
    const texts = this.received.map(({ payload }) => Buffer.from(payload).toString());
    if (this.received.length === 1) this.received.push(...this.received);
    return texts;
  });

const wrongTag = changes(TagsClient.prototype, 'get', (tag) => ({
  ...tag,
  split: 1,
  seen: 0,
  stored: 0,
  sent: 0,
  synced: 2,
  address: 'ab'.repeat(32),
}));
function falling(): Lie {
  let asked = 0;
  return changes(TagsClient.prototype, 'get', (tag): Tag => {
    const more = ++asked % 2;
    const { split, seen, stored, sent, synced } = tag;
    const counters = { split: split + more, seen: seen + more, stored: stored + more };
    return { ...tag, ...counters, sent: sent + more, synced: synced + more };
  });
}
const unlike = all(
  changes(PinsClient.prototype, 'add', () => true),
  answers(PinsClient.prototype, 'list', () => []),
  changes(PinsClient.prototype, 'check', (pins) => ({ ...pins, missing: 1 })),
  changes(StewardshipClient.prototype, 'isRetrievable', (truth) => !truth),
  after(StewardshipClient.prototype, 'reupload', impatience),
  otherBytes,
);

const LETTER = { size: '100' };
const TAGS = { size: '20000', chunks: '5' };

export const CONVERGING: readonly Mutation[] = [
  [
    'soc-convergence',
    {},
    all(
      impatience,
      answers(ChunksClient.prototype, 'download', () => OTHER),
    ),
    /every node of the neighbourhood of [0-9a-f]{8} keeps the same payload/,
  ],
];

export const CONTENT: readonly Mutation[] = [
  ['act', LETTER, otherFileOnce, /node-\d reads .{8}: /],
  ['act', LETTER, all(impatience, otherFile), /node-\d reads .{8}: /, /node-\d is refused .{8} /],
  [
    'act',
    LETTER,
    changes(FilesClient.prototype, 'upload', (uploaded) => ({
      ...uploaded,
      history: (uploaded.history ?? '').toUpperCase(),
    })),
    /the answer gives the history/,
  ],
  [
    'feed',
    { updates: '1', versions: 'v1' },
    all(
      impatience,
      changes(FeedsClient.prototype, 'latest', (latest) => ({ ...latest, index: latest.index + 1n })),
    ),
    /node-\d finds update 0 of the v1 feed/,
  ],
  [
    'manifest',
    { files: '1', versions: 'v1' },
    all(impatience, otherFile),
    /serves every path of/,
    /answers a wrong path of/,
  ],
  [
    'soc',
    { count: '1' },
    all(
      impatience,
      answers(SocClient.prototype, 'download', () => ({ data: OTHER, signature: '00' })),
    ),
    /serves the content of/,
    /returns its signature/,
    /serves the newer content/,
  ],
  [
    'soc',
    { count: '1' },
    takesAll(SocClient.prototype, 'upload', () => ({ reference: 'ab'.repeat(32) })),
    /node-\d refuses (a signature of another chunk|an owner who did not sign)/,
  ],
  ['gsoc', { count: '1' }, deaf, /hears all 1 payloads uploaded/],
  ['gsoc', { count: '1' }, twice, /no payload arrives twice \(/],
  [
    'gsoc',
    { count: '1' },
    answers(StampsClient.prototype, 'buy', (cluster) => ({
      batchID: cluster.node(0).batch ?? '',
      txHash: '',
    })),
    /the two batches differ/,
  ],
  ['pss', { count: '1' }, deaf, /node-\d hears ".*"/, /each message arrives once/],
  [
    'pss',
    { count: '1' },
    hearing((heard) => [...heard, 'not for it']),
    /each message arrives once/,
    /a node with another key hears nothing/,
    /another topic hears nothing/,
  ],
  [
    'tags-and-pins',
    TAGS,
    all(impatience, wrongTag),
    /every chunk ends as synced or seen/,
    /the tag counts every chunk of the upload/,
    /every synced chunk was sent or stored/,
    /the tag names the reference/,
    /a tag that is closed by hand has its root/,
    /a tag that is closed by hand counts nothing/,
    /the tag of a stream counts its chunks/,
  ],
  [
    'tags-and-pins',
    TAGS,
    falling(),
    /no counter of a tag falls/,
    /a tag that is closed by hand counts nothing/,
  ],
  [
    'tags-and-pins',
    TAGS,
    all(
      impatience,
      nowhere,
      changes(ChunksClient.prototype, 'stream', (count) => count - 1),
      answers(TagsClient.prototype, 'delete', () => undefined),
    ),
    /every chunk of a stream is acknowledged, once/,
    /the last chunk of a stream is pushed/,
    /a deleted tag is gone/,
    /every acknowledged chunk is held by a node/,
  ],
  [
    'tags-and-pins',
    TAGS,
    unlike,
    /content is pinned once/,
    /every chunk of pinned content is stored and valid/,
    /pinned content is served without the network/,
    /the content is not retrievable without the other nodes/,
    /content that was uploaded again is retrievable/,
    /node-\d serves the content again/,
    /a root is listed until it is unpinned/,
  ],
];
