import { afterAll, beforeAll, expect, test } from 'vitest';
import { ClientError } from '../../../harness/client/errors.ts';
import type { Uploaded } from '../../../harness/client/types.ts';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../../harness/cluster/nodes/cluster-node.ts';
import { bytesOf, http, sameBytes, stateFolder } from './kit.ts';

const stateDir = stateFolder();
let net: Cluster;
let publisher: ClusterNode;
let grantee: ClusterNode;
let stranger: ClusterNode;
const keys = new Map<ClusterNode, string>();

beforeAll(async () => {
  net = await Cluster.start({
    driver: 'simulated',
    nodes: [{ count: 2 }, { mode: 'light' }],
    seed: 41,
    stateDir,
  });
  [grantee, stranger, publisher] = net.nodes as [ClusterNode, ClusterNode, ClusterNode];
  for (const node of net.nodes) keys.set(node, (await node.client.addresses()).publicKey);
});
afterAll(async () => {
  await net.stop();
});

const keyOf = (node: ClusterNode) => keys.get(node) as string;

async function read(
  node: ClusterNode,
  { reference, history = '' }: Uploaded,
  timestamp?: number,
): Promise<Uint8Array | string> {
  const access = { publisher: keyOf(publisher), history, ...(timestamp === undefined ? {} : { timestamp }) };
  try {
    return await node.bytes.download(reference, { access, cache: false });
  } catch (error) {
    return error instanceof ClientError ? error.class : String(error);
  }
}

async function expectRead(node: ClusterNode, uploaded: Uploaded, data: Uint8Array, at?: number) {
  const seen = await read(node, uploaded, at);
  expect(
    seen instanceof Uint8Array && sameBytes(seen, data),
    `${node.name}: ${String(seen).slice(0, 60)}`,
  ).toBe(true);
}

test.each([
  { size: 0, deferred: false, encrypt: false },
  { size: 5000, deferred: true, encrypt: false },
  { size: 5000, deferred: false, encrypt: true },
])(
  '$size bytes (deferred: $deferred, encrypted: $encrypt) can be read only by their publisher',
  async (how) => {
    const { size, ...options } = how;
    const data = bytesOf(`alone ${size}`, size);
    const uploaded = await publisher.bytes.upload(data, { ...options, act: true });
    if (options.deferred) await net.synced(uploaded.reference);
    expect(uploaded).toMatchObject({
      reference: expect.stringMatching(options.encrypt ? /^\w{128}$/ : /^\w{64}$/),
    });
    await expectRead(publisher, uploaded, data);
    for (const node of [grantee, stranger]) expect(await read(node, uploaded)).toBe('http.404');
    const plain = await http(stranger, `/bytes/${uploaded.reference}`);
    expect(plain.status).toBeGreaterThanOrEqual(400);
  },
);

test('a grantee can read and a stranger cannot; after revocation only earlier content can be read', async () => {
  const [before, after] = [bytesOf('before', 9000), bytesOf('after', 9000)];
  const direct = { deferred: false, act: true };
  const list = await publisher.grantees.create([keyOf(grantee)], { deferred: false });
  expect(await publisher.grantees.list(list.reference)).toEqual([keyOf(grantee)]);
  await expect(stranger.grantees.list(list.reference)).rejects.toMatchObject({ class: 'http.404' });
  const old = await publisher.bytes.upload(before, { ...direct, actHistory: list.history });
  expect(old.history).toBe(list.history);
  await expectRead(grantee, old, before);
  expect(await read(stranger, old)).toBe('http.404');

  // Entries of a history last a second: the change must come in a later one.
  const then = Math.floor(net.clock.now() / 1000);
  await net.clock.sleep(1000);
  const change = { add: [keyOf(stranger)], revoke: [keyOf(grantee)] };
  const next = await publisher.grantees.patch(list, change, { deferred: false });
  expect(await publisher.grantees.list(next.reference)).toEqual([keyOf(stranger)]);
  const fresh = await publisher.bytes.upload(after, { ...direct, actHistory: next.history });
  await expectRead(stranger, fresh, after);
  expect(await read(grantee, fresh)).toBe('http.404');
  await expectRead(grantee, old, before);
  await expectRead(grantee, { ...old, history: next.history }, before, then);
  expect(await read(grantee, { ...old, history: next.history })).toBe('http.404');
  await expectRead(publisher, fresh, after);
});

test('two simultaneous changes of one history make two histories, and both are valid', async () => {
  const made = await publisher.grantees.create([], { deferred: false });
  const [a, b] = await Promise.all(
    [grantee, stranger].map((node) =>
      publisher.grantees.patch(made, { add: [keyOf(node)] }, { deferred: false }),
    ),
  );
  expect(await publisher.grantees.list(a?.reference ?? '')).toEqual([keyOf(grantee)]);
  expect(await publisher.grantees.list(b?.reference ?? '')).toEqual([keyOf(stranger)]);
});

test('a directory is read path by path, only with the reference of its upload', async () => {
  const { reference, history = '' } = await publisher.files.upload(bytesOf('file', 300), {
    name: 'a.bin',
    deferred: false,
    act: true,
  });
  const access = { publisher: keyOf(publisher), history };
  expect(
    sameBytes(await publisher.files.download(reference, 'a.bin', { access }), bytesOf('file', 300)),
  ).toBe(true);
  await expect(publisher.files.download(reference, 'a.bin')).rejects.toMatchObject({ class: 'http.404' });
});
