import { vi } from 'vitest';
import { SocClient } from '../../../../harness/client/feeds.ts';
import { GranteesClient } from '../../../../harness/client/grantees.ts';
import { NodeClient } from '../../../../harness/client/node-client.ts';
import { StampsClient, TagsClient } from '../../../../harness/client/sessions.ts';
import { BytesClient, ChunksClient, FilesClient } from '../../../../harness/client/transfers.ts';
import { Cluster } from '../../../../harness/cluster/cluster.ts';
import { ClusterNode } from '../../../../harness/cluster/nodes/cluster-node.ts';
import { Ledger } from '../../../../harness/inspect/ledger/ledger.ts';
import { all, answers, changes, holding, type Lie, lasts, type Mutation, refusal } from './lies.ts';

const MINUTE_MS = 60_000;

const nobody: Lie = () => void vi.spyOn(NodeClient.prototype, 'peers').mockResolvedValue([]);
const noChunk = holding(false);
const otherBytes: Lie = () =>
  void vi.spyOn(ChunksClient.prototype, 'download').mockResolvedValue(new Uint8Array(4104));
const stranger: Lie = () => {
  const peers = Reflect.get<NodeClient, 'peers'>(NodeClient.prototype, 'peers');
  vi.spyOn(NodeClient.prototype, 'peers').mockImplementation(async function (this: NodeClient, signal) {
    return [...(await peers.call(this, signal)), { address: 'ab'.repeat(32), fullNode: true }];
  });
};
const emptyTable: Lie = () => {
  const topology = Reflect.get<NodeClient, 'topology'>(NodeClient.prototype, 'topology');
  vi.spyOn(NodeClient.prototype, 'topology').mockImplementation(async function (this: NodeClient, signal) {
    const table = await topology.call(this, signal);
    const bin = {
      population: 1,
      connected: 0,
      connectedPeers: [],
      disconnectedPeers: [{ address: 'ab'.repeat(32) }],
    };
    const bins = Object.fromEntries(Object.keys(table.bins).map((name) => [name, bin]));
    return { ...table, depth: 3, bins };
  });
};
const flatTable: Lie = () => {
  const topology = Reflect.get<NodeClient, 'topology'>(NodeClient.prototype, 'topology');
  let asked = 0;
  vi.spyOn(NodeClient.prototype, 'topology').mockImplementation(async function (this: NodeClient, signal) {
    const table = await topology.call(this, signal);
    return { ...table, depth: asked++ % 2 };
  });
};
const refusals: Lie = () =>
  void vi
    .spyOn(NodeClient.prototype, 'blocklist')
    .mockResolvedValue([{ address: 'ab'.repeat(32), reason: 'a test', duration: 60 }]);
const lost: Lie = () =>
  void vi
    .spyOn(Ledger.prototype, 'verify')
    .mockResolvedValue({ acknowledged: 1, found: 0, missing: 1, losses: [] });

const refused = refusal(507);
const nothingComes: Lie = () => void vi.spyOn(ChunksClient.prototype, 'download').mockRejectedValue(refused);
const allIsStored: Lie = () =>
  void vi.spyOn(BytesClient.prototype, 'upload').mockResolvedValue({ reference: 'ab'.repeat(32) });
const staysFull: Lie = () => {
  const upload = Reflect.get<ChunksClient, 'upload'>(ChunksClient.prototype, 'upload');
  let isFull = false;
  const uploadBytes = Reflect.get<BytesClient, 'upload'>(BytesClient.prototype, 'upload');
  vi.spyOn(BytesClient.prototype, 'upload').mockImplementation(function (this: BytesClient, ...given) {
    return uploadBytes.apply(this, given).finally(() => (isFull = true));
  });
  vi.spyOn(ChunksClient.prototype, 'upload').mockImplementation(async function (
    this: ChunksClient,
    ...given
  ) {
    if (isFull) throw refused;
    return upload.apply(this, given);
  });
};
const silentLog: Lie = () => void vi.spyOn(ClusterNode.prototype, 'loggedErrors').mockResolvedValue([]);

const wholeAtOnce: Lie = () =>
  void vi.spyOn(Cluster.prototype, 'meshed').mockResolvedValue({ links: 1, expected: 1 });

const otherContent: Lie = () => {
  const data = new Uint8Array(3);
  vi.spyOn(BytesClient.prototype, 'download').mockResolvedValue(data);
  vi.spyOn(FilesClient.prototype, 'download').mockResolvedValue(data);
  vi.spyOn(FilesClient.prototype, 'open').mockResolvedValue({
    contentType: 'text/other',
    filename: 'other',
    async *pieces() {
      yield data;
    },
  });
};
/** Only of the first one read: later answers are true, so that nothing waits for them. */
const otherSoc: Lie = () => {
  const answer = { data: new Uint8Array(3), signature: '00' };
  vi.spyOn(SocClient.prototype, 'download').mockResolvedValueOnce(answer);
  vi.spyOn(ChunksClient.prototype, 'download').mockResolvedValueOnce(new Uint8Array(3));
};
const otherReference: Lie = () =>
  void vi.spyOn(BytesClient.prototype, 'upload').mockResolvedValue({ reference: 'ab'.repeat(32) });
const otherSocReference = changes(SocClient.prototype, 'upload', () => ({ reference: 'ab'.repeat(32) }));
const noUpload: Lie = () => {
  vi.spyOn(BytesClient.prototype, 'upload').mockRejectedValue(refusal(503));
  vi.spyOn(ChunksClient.prototype, 'upload').mockRejectedValue(refusal(503));
};
const noDownload: Lie = () => {
  vi.spyOn(BytesClient.prototype, 'download').mockRejectedValue(refusal(503));
  vi.spyOn(ChunksClient.prototype, 'download').mockRejectedValue(refusal(503));
};
const smallerBatch: Lie = () => {
  const get = Reflect.get<StampsClient, 'get'>(StampsClient.prototype, 'get');
  vi.spyOn(StampsClient.prototype, 'get').mockImplementation(async function (this: StampsClient, ...given) {
    const stamp = await get.apply(this, given);
    return { ...stamp, depth: stamp.depth - 1 };
  });
};
const anyPath: Lie = () => {
  const download = Reflect.get<FilesClient, 'download'>(FilesClient.prototype, 'download');
  vi.spyOn(FilesClient.prototype, 'download').mockImplementation(function (this: FilesClient, ...given) {
    return given[1]?.includes('no-such-file') === true
      ? Promise.resolve(new Uint8Array(3))
      : download.apply(this, given);
  });
};
const nobodyGranted: Lie = () => void vi.spyOn(GranteesClient.prototype, 'list').mockResolvedValue([]);
const noTags: Lie = () => void vi.spyOn(TagsClient.prototype, 'list').mockResolvedValue([]);

const nothingSettled = all(
  changes(NodeClient.prototype, 'accounting', (truth) =>
    truth.map((account) => ({ ...account, thresholdReceived: 1n })),
  ),
  answers(NodeClient.prototype, 'timeSettlements', () => ({
    totalSent: 0n,
    totalReceived: 0n,
    settlements: [],
  })),
);
const SKEWS = { tolerated: '1s', refused: '5m', hold: '300ms', debt: '1', 'recovers-within': '300ms' };
const FULL = { chunks: '1', attempts: '1', 'resumes-within': '5s' };
const SOON = { within: '300ms' };
const SMALL = { sizes: '5000', count: '1' };
const STRESS = { 'min-file-size': '5000', 'max-file-size': '5000', 'file-count': '1', retries: '0' };
const SMOKE = { size: '5000', dir: 'scenarios/known' };
const TAGS = { size: '20000', chunks: '5' };
export const WIDE: readonly Mutation[] = [
  ['pingpong', { retries: '1' }, nobody, /has a peer/],
  [
    'pingpong',
    { retries: '1' },
    () => void vi.spyOn(NodeClient.prototype, 'pingpong').mockResolvedValue('soon'),
    /answer each other/,
  ],
  [
    'pingpong',
    { 'max-rtt': '1ms', retries: '1' },
    () => void vi.spyOn(NodeClient.prototype, 'pingpong').mockResolvedValue('2ms'),
    /answer each other/,
  ],
  ['peer-count', SOON, nobody, /enough peers/],
  ['full-connectivity', SOON, nobody, /connected to those that it needs/],
  ['full-connectivity', SOON, stranger, /peer outside the cluster/],
  ['kademlia', SOON, emptyTable, /no bin below the depth is empty/, /every known neighbour is connected/],
  [
    'kademlia',
    { ...SOON, dynamic: 'true' },
    emptyTable,
    /no bin below the depth is empty/,
    /every neighbour of the cluster is connected/,
  ],
  ['kademlia', {}, flatTable, /every routing table has a depth/],
  [
    'pushsync',
    { retries: '1', mode: 'chunks', 'sync-within': '100ms', 'chunks-per-node': '4' },
    noChunk,
    /reaches the node closest/,
    /another node of its neighbourhood/,
    /every acknowledged chunk/,
  ],
  ['pushsync', {}, lost, /every acknowledged chunk/],
  ['pullsync', { 'replication-factor-threshold': '5' }, () => undefined, /enough copies/],
  ['chunk-retrieval-loop', { rounds: '1' }, otherBytes, /enough chunks are/],
  ['data-durability', { size: '5000', 'max-attempts': '1' }, otherBytes, /enough chunks come/],
  ['network-availability', {}, otherBytes, /every neighbourhood returns its chunk/],
  [
    'ledger-verify',
    { size: '5000', within: '300ms' },
    noChunk,
    /have copies in their neighbourhoods/,
    /every acknowledged chunk/,
  ],
  ['ledger-verify', { size: '5000', within: '300ms' }, lost, /every acknowledged chunk/],
  ['rolling-restart', {}, all(wholeAtOnce, lasts(ClusterNode.prototype, 'stop', MINUTE_MS)), /stops in time/],
  ['partition-and-heal', { hold: '1s', baseline: '1s' }, refusals, /no node refuses another/],
  ['partition-and-heal', { hold: '1s', baseline: '1s' }, otherBytes, /no chunk comes with other bytes/],
  [
    'upload',
    { ...SMALL, mode: 'direct' },
    otherReference,
    /the reference matches the bytes/,
    /every acknowledged chunk/,
  ],
  ['retrieval', SMALL, otherContent, /serves .{8} \(.*\)/],
  ['upload-stress', { ...STRESS, 'retry-delay': '0ms' }, noUpload, /no upload fails more often/],
  ['long-availability', { size: '5000', 'retry-count': '1' }, noDownload, /content is available/],
  ['network-availability', {}, noUpload, /every neighbourhood takes a chunk/],
  ['ledger-verify', { size: '5000', within: '300ms' }, noDownload, /every chunk can be retrieved/],
  [
    'file-retrieval',
    { size: '5000' },
    otherContent,
    /serves .* \(/,
    /returns the name of/,
    /content type of/,
  ],
  ['feed', { updates: '1', versions: 'v1' }, otherContent, /serves update .* behind the/],
  ['manifest', { files: '1', versions: 'v1' }, anyPath, /answers a wrong path of/],
  ['redundancy', { levels: '1', encrypt: 'false' }, otherContent, /recovers/, /tells that .{8} is lost/],
  ['smoke', SMOKE, otherContent, /serves the large file/, /serves every file of the directory/],
  ['smoke', SMOKE, smallerBatch, /the batch bought is usable/],
  ['balances', { size: '5000' }, otherContent, /reads what was uploaded/, /a download costs something/],
  [
    'settlements',
    { size: '5000', deadline: '1' },
    otherContent,
    /something was settled/,
    /reads what was uploaded/,
  ],
  [
    'soc',
    { count: '1' },
    otherSoc,
    /serves the content of/,
    /returns its signature/,
    /serves the chunk .* itself/,
  ],
  [
    'soc',
    { count: '1' },
    otherSocReference,
    /the reference is the hash of id and owner/,
    /every acknowledged chunk/,
  ],
  ['act', { size: '100' }, nobodyGranted, /the list has/],
  ['tags-and-pins', TAGS, noTags, /the tag is listed/],
];

/** Nodes are left that find their peers only later. */
export const LAST: readonly Mutation[] = [
  ['pause', { hold: '300ms', 'max-p99': '0ms' }, wholeAtOnce, /do not wait for the paused node/],
];

export const MACHINES: readonly Mutation[] = [
  [
    'clock-skew',
    SKEWS,
    nothingComes,
    /skew 1s: all nodes keep serving/,
    /skew 5m: all other nodes keep serving/,
    /recovers once its clock is right/,
  ],
  ['clock-skew', SKEWS, otherBytes, /no chunk comes with other bytes/],
  ['clock-skew', SKEWS, nothingSettled, /skew 1s: time settles debts meanwhile/],
  ['disk-full', FULL, all(allIsStored, silentLog), /it refuses uploads/, /its log says so/],
  [
    'disk-full',
    FULL,
    all(nothingComes, silentLog),
    /it serves what was stored before/,
    /all other nodes keep serving/,
    /its log says so/,
  ],
  [
    'disk-full',
    { ...FULL, 'resumes-within': '300ms' },
    staysFull,
    /it stores again by itself/,
    /all other nodes keep serving/,
  ],
];
