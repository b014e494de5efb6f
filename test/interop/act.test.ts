import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeCac } from '../../formats/chunk/cac.ts';
import { seededRandom } from '../../formats/random.ts';
import { tarOf } from '../../harness/base/tree.ts';
import { ClientError } from '../../harness/client/errors.ts';
import type { Uploaded } from '../../harness/client/types.ts';
import type { Cluster } from '../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../harness/cluster/nodes/cluster-node.ts';
import { nextSecond } from '../../scenarios/steps/steps.ts';
import { OTHERS, of, ownErrors, startMixed } from './kit.ts';

const DIRECT = { deferred: false, redundancyLevel: 0 } as const;
/** A Bee asks its whole neighbourhood before it reports a missing chunk. */
const READ_TIMEOUT_MS = 120_000;
const never = new AbortController().signal;

describe.each(OTHERS)('$title', (side) => {
  let net: Cluster;
  let ours: ClusterNode;
  let theirs: ClusterNode;
  let theirOther: ClusterNode;
  const keys = new Map<ClusterNode, string>();
  const keyOf = (node: ClusterNode) => keys.get(node) as string;
  beforeAll(async () => {
    net = await startMixed({ side, own: 3, others: 2, seed: 71 });
    [ours] = of('svc', net) as [ClusterNode];
    [theirs, theirOther] = of(side.flavour, net) as [ClusterNode, ClusterNode];
    for (const node of net.nodes) keys.set(node, (await node.client.addresses()).publicKey);
  });
  afterAll(() => net.stop());

  async function read(
    node: ClusterNode,
    publisher: ClusterNode,
    { reference, history = '' }: Uploaded,
  ): Promise<string> {
    const access = { publisher: keyOf(publisher), history };
    try {
      const data = await node.files.download(reference, 'letter', { access, timeoutMs: READ_TIMEOUT_MS });
      return Buffer.from(data).toString('hex');
    } catch (error) {
      return error instanceof ClientError ? error.class : String(error);
    }
  }

  test.each([
    ['ours', 'theirs'],
    ['theirs', 'ours'],
  ])(
    'content published by %s can be read by the grantees among %s, before and after a revocation',
    async (from) => {
      const publisher = from === 'ours' ? ours : theirs;
      const grantee = from === 'ours' ? theirs : ours;
      const next = from === 'ours' ? theirOther : (of('svc', net)[1] as ClusterNode);
      const stranger = of('svc', net)[2] as ClusterNode;
      const letters = ['alone', 'granted', 'revoked'].map((name) =>
        seededRandom('act', `${from} ${name}`).bytes(6000),
      );
      const [alone, granted, revoked] = letters as [Uint8Array, Uint8Array, Uint8Array];
      const publish = (data: Uint8Array, history?: string) => {
        const access = history === undefined ? { act: true } : { act: true, actHistory: history };
        return publisher.files.upload(data, { ...DIRECT, ...access, name: 'letter' });
      };
      const text = (data: Uint8Array) => Buffer.from(data).toString('hex');

      const first = await publish(alone);
      expect(await read(publisher, publisher, first)).toBe(text(alone));
      expect(await read(grantee, publisher, first)).toBe('http.404');

      await nextSecond(net.clock, never);
      const options = first.history === undefined ? DIRECT : { ...DIRECT, actHistory: first.history };
      const list = await publisher.grantees.create([keyOf(grantee)], options);
      expect(await publisher.grantees.list(list.reference)).toEqual([keyOf(grantee)]);
      const second = await publish(granted, list.history);
      for (const node of [publisher, grantee])
        expect(await read(node, publisher, second)).toBe(text(granted));
      expect(await read(grantee, publisher, { ...first, history: list.history })).toBe(text(alone));
      for (const node of [next, stranger]) expect(await read(node, publisher, second)).toBe('http.404');

      await nextSecond(net.clock, never);
      const change = { add: [keyOf(next)], revoke: [keyOf(grantee)] };
      const changed = await publisher.grantees.patch(list, change, DIRECT);
      expect(await publisher.grantees.list(changed.reference)).toEqual([keyOf(next)]);
      const third = await publish(revoked, changed.history);
      for (const node of [publisher, next]) expect(await read(node, publisher, third)).toBe(text(revoked));
      for (const node of [grantee, stranger]) expect(await read(node, publisher, third)).toBe('http.404');
      expect(await read(grantee, publisher, second)).toBe(text(granted));
    },
    300_000,
  );

  test.each([
    ['ours', 'theirs'],
    ['theirs', 'ours'],
  ])(
    'bytes, a directory and a chunk of %s can be read only by a grantee among %s',
    async (from) => {
      const publisher = from === 'ours' ? ours : theirs;
      const grantee = from === 'ours' ? theirs : ours;
      const stranger = from === 'ours' ? theirOther : (of('svc', net)[2] as ClusterNode);
      const data = seededRandom('act', `${from} kinds`).bytes(9000);
      const list = await publisher.grantees.create([keyOf(grantee)], DIRECT);
      const options = { ...DIRECT, act: true, actHistory: list.history };
      const cac = makeCac(3000n, data.subarray(0, 3000)).data;
      const { act, actHistory } = options;
      const [plain, encrypted, directory, chunk] = [
        await publisher.bytes.upload(data, options),
        await publisher.bytes.upload(data, { ...options, encrypt: true }),
        await publisher.files.uploadTar(await tarOf([{ path: 'a/b.bin', data }]), options),
        await publisher.chunks.upload(cac, { act, actHistory }),
      ];
      const reads = async (node: ClusterNode) => {
        const asked = {
          access: { publisher: keyOf(publisher), history: list.history },
          timeoutMs: READ_TIMEOUT_MS,
        };
        const seen = await Promise.allSettled([
          node.bytes.download(plain.reference, asked),
          node.bytes.download(encrypted.reference, asked),
          node.files.download(directory.reference, 'a/b.bin', asked),
          node.chunks.download(chunk.reference, asked),
        ]);
        return seen.map((one) =>
          one.status === 'fulfilled' ? Buffer.from(one.value).toString('hex') : 'refused',
        );
      };
      const [all, single] = [data, cac].map((bytes) => Buffer.from(bytes).toString('hex'));
      expect(await reads(grantee)).toEqual([all, all, all, single]);
      expect(await reads(publisher)).toEqual([all, all, all, single]);
      expect(await reads(stranger)).toEqual(Array(4).fill('refused'));
    },
    300_000,
  );

  test('our nodes have logged no error', async () => {
    expect(await ownErrors(net)).toEqual([]);
  });
});
