import { NodeClient } from '../../../../harness/client/node-client.ts';
import { PinsClient } from '../../../../harness/client/pins.ts';
import { TagsClient } from '../../../../harness/client/sessions.ts';
import { BytesClient } from '../../../../harness/client/transfers.ts';
import { all, answers, changes, type Lie, lasts, type Mutation } from './lies.ts';

const HOUR_MS = 3_600_000;

const otherBytes = all(
  answers(BytesClient.prototype, 'download', () => new Uint8Array(3)),
  lasts(BytesClient.prototype, 'download', HOUR_MS),
);
const neverSynced = all(
  changes(TagsClient.prototype, 'list', (tags) =>
    tags.map((tag) => ({ ...tag, synced: 0, seen: 0, split: 1 })),
  ),
  lasts(TagsClient.prototype, 'list', HOUR_MS),
);
const idle = changes(NodeClient.prototype, 'backlog', (backlog) => ({
  ...backlog,
  reserve: { ...backlog.reserve, storageRadius: 0 },
  uploads: [],
}));
const overfull = changes(NodeClient.prototype, 'status', (status) => ({
  ...status,
  reserveSize: 1_000_000_000,
}));
const noRadius = changes(NodeClient.prototype, 'status', (status) => ({ ...status, storageRadius: 0 }));
/** None at first, and all of them ever after. */
function wrongPins(): Lie {
  let asked = 0;
  return all(
    changes(PinsClient.prototype, 'list', (pins) => (asked++ === 0 ? [] : pins)),
    answers(PinsClient.prototype, 'delete', () => undefined),
  );
}

const FEW = { chunks: '20', sizes: '4096' };

export const GC: readonly Mutation[] = [
  [
    'gc',
    { chunks: '150', within: '500ms' },
    all(noRadius, wrongPins()),
    /the storage radius grows when the reserves are full/,
    /nodes drop chunks outside their radius and none inside it/,
    /a pinned chunk stays and is listed/,
    /an unpinned chunk is no longer listed/,
  ],
];

export const GROWTH: readonly Mutation[] = [
  [
    'radius-growth',
    FEW,
    all(idle, overfull),
    /the storage radius has grown/,
    /no reserve holds much more than its capacity/,
  ],
  ['radius-growth', FEW, otherBytes, /every node delivers every file that is reported as synced/],
  [
    'radius-growth',
    FEW,
    all(idle, neverSynced, otherBytes),
    /every upload that is not synced waits for a named neighbourhood/,
    /uploads that wait for a place are not lost/,
    /the storage radius has grown/,
  ],
];
