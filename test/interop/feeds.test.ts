import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeCac } from '../../formats/chunk/cac.ts';
import { signSoc, socParts } from '../../formats/chunk/soc.ts';
import { fromHex, toHex } from '../../formats/crypto/hex.ts';
import { createSigner } from '../../formats/crypto/signer.ts';
import type { Cluster } from '../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../harness/cluster/nodes/cluster-node.ts';
import { until } from '../../harness/scenario.ts';
import { bytesOf, http } from '../cluster/node/kit.ts';
import { errorsInLogs, OTHERS, of, startMixed } from './kit.ts';

/** A Bee does not ask the same peer again for a minute. */
const SEEN_WITHIN_MS = 90_000;

const owner = createSigner(bytesOf('owner', 32));
const ownerHex = toHex(owner.address);

describe.each(OTHERS)('$title', (side) => {
  let net: Cluster;
  let own: ClusterNode;
  let theirs: ClusterNode;
  beforeAll(async () => {
    net = await startMixed({ side, own: 2, others: 2, seed: 31 });
    [own, theirs] = [of('svc', net)[0], of(side.flavour, net)[0]] as [ClusterNode, ClusterNode];
  });
  afterAll(() => net.stop());

  const both = [
    ['ours', () => own],
    ['theirs', () => theirs],
  ] as const;

  test.each(both)('a single-owner chunk made on %s can be read on every node', async (name, writer) => {
    const payload = bytesOf(`soc of ${name}`, 1000);
    const soc = socParts(signSoc(bytesOf(`id of ${name}`, 32), makeCac(1000n, payload).data, owner).data);
    await writer().soc.upload(ownerHex, soc);
    for (const node of net.nodes) {
      const seen = await node.soc.download(ownerHex, soc.id);
      expect([node.name, seen.signature]).toEqual([node.name, toHex(soc.signature)]);
      expect(Buffer.compare(seen.data, payload)).toBe(0);
    }
  });

  test.each(both)(
    'a forged single-owner chunk is refused by %s with the same status',
    async (name, writer) => {
      const soc = socParts(
        signSoc(bytesOf(`forged on ${name}`, 32), makeCac(1n, Buffer.from('x')).data, owner).data,
      );
      const stranger = toHex(createSigner(bytesOf('stranger', 32)).address);
      await expect(writer().soc.upload(stranger, soc)).rejects.toMatchObject({ class: 'http.401' });
    },
  );

  test.each(both)(
    'a feed updated on %s is found by every node, directly and through its manifest',
    async (name, writer) => {
      const topic = bytesOf(`topic of ${name}`, 32);
      const { reference: root } = await writer().feeds.create(ownerHex, topic, { deferred: false });
      for (const [count, version] of [
        [1, 'v1'],
        [2, 'v2'],
        [17, 'v2'],
      ] as const) {
        const data = bytesOf(`${name} ${count}`, 3000);
        const file = await writer().files.upload(data, { deferred: false, name: 'a' });
        const pointer = Buffer.concat([Buffer.alloc(8), fromHex(file.reference)]);
        const last =
          version === 'v1' ? makeCac(40n, pointer).data : await writer().chunks.download(file.reference);
        const first = version === 'v1' || count === 2 ? count - 1 : 2;
        for (let index = first; index < count; index++) {
          const wrapped = index === count - 1 ? last : makeCac(1n, Buffer.from('x')).data;
          await writer().feeds.update(owner, { topic, index: BigInt(index), wrapped });
        }
        for (const node of net.nodes) {
          await until<true>(
            `${node.name} does not find update ${count - 1}`,
            async (signal) => {
              const { index, next } = await node.feeds.latest(ownerHex, topic, { signal });
              const found = index === BigInt(count - 1) && next === BigInt(count);
              return found ? { done: true } : { missing: `index ${index}, next ${next}` };
            },
            { timeoutMs: SEEN_WITHIN_MS },
          );
          expect(Buffer.compare(await node.files.download(root), data), node.name).toBe(0);
        }
      }
    },
  );

  test('an envelope from one is a valid stamp on the other', async () => {
    for (const [issuer, other] of [
      [own, theirs],
      [theirs, own],
    ] as const) {
      const chunk = makeCac(500n, bytesOf(`envelope of ${issuer.name}`, 500));
      const prefix = (node: ClusterNode) => node.client.dialect.headerPrefix;
      const envelope = await http(issuer, `/envelope/${toHex(chunk.address)}`, {
        method: 'POST',
        headers: { [`${prefix(issuer)}postage-batch-id`]: issuer.batch ?? '' },
      });
      expect(envelope.status).toBe(201);
      const { index, timestamp, signature } = envelope.json;
      const stamp = `${issuer.batch}${String(index)}${String(timestamp)}${String(signature)}`;
      const headers = { [`${prefix(other)}postage-stamp`]: stamp };
      const { status, json } = await http(other, '/chunks', { method: 'POST', headers, body: chunk.data });
      expect([other.name, status, json]).toEqual([other.name, 201, { reference: toHex(chunk.address) }]);
      expect(Buffer.compare(await issuer.chunks.download(toHex(chunk.address)), chunk.data)).toBe(0);
    }
  });

  test('no log has an error, except what a bee reports about the forged chunk', async () => {
    const errors = await errorsInLogs(net);
    expect(errors.filter((line) => !line.includes('post_soc invalid chunk'))).toEqual([]);
  });
});
