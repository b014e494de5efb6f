/** Clients make these stamps with the key of a batch's owner. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeCac } from '../../formats/chunk/cac.ts';
import type { Chunk } from '../../formats/chunk/chunk.ts';
import { signSoc, socParts } from '../../formats/chunk/soc.ts';
import { bucketOf, encodeStamp, stampDigest, stampIndex } from '../../formats/chunk/stamp.ts';
import { fromHex, toHex } from '../../formats/crypto/hex.ts';
import { createSigner, type Signer } from '../../formats/crypto/signer.ts';
import type { Cluster } from '../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../harness/cluster/nodes/cluster-node.ts';
import { deriveNode } from '../../harness/cluster/plan/seed.ts';
import { bytesOf, http, sameBytes } from '../cluster/node/kit.ts';
import { OTHERS, of, ownErrors, startMixed } from './kit.ts';

const SEED = 85;
/** Depth 20: 16 slots in each of 2^16 buckets; nodes begin with the first. */
const BUCKET_DEPTH = 16;
const LAST_SLOT = 15;

describe.each(OTHERS)('$title', (side) => {
  let net: Cluster;
  beforeAll(async () => {
    net = await startMixed({ side, own: 2, others: 2, seed: SEED });
  });
  afterAll(() => net.stop());

  const ways = [
    ['theirs', 'ours', () => [of(side.flavour, net)[0], of('svc', net)[0]] as [ClusterNode, ClusterNode]],
    ['ours', 'theirs', () => [of('svc', net)[0], of(side.flavour, net)[0]] as [ClusterNode, ClusterNode]],
  ] as const;

  function ownerOf({ index }: ClusterNode): Signer {
    const { keys } = deriveNode({ seed: BigInt(SEED), index, networkId: net.chain.networkId });
    return createSigner(keys.swarm);
  }

  function stampOf(
    { address }: Chunk,
    { batch, signer, slot = LAST_SLOT }: { batch: string; signer: Signer; slot?: number },
  ): string {
    const batchId = fromHex(batch);
    const index = stampIndex(bucketOf(address, BUCKET_DEPTH), slot);
    const timestamp = new Uint8Array(8);
    new DataView(timestamp.buffer).setBigUint64(0, BigInt(Date.now()) * 1_000_000n);
    const signature = signer.sign(stampDigest(address, batchId, index, timestamp));
    return toHex(encodeStamp({ batchId, index, timestamp, signature }));
  }

  const chunkOf = (name: string) => makeCac(700n, bytesOf(name, 700));

  async function upload(node: ClusterNode, { data }: Chunk, stamp: string) {
    const headers = { [`${node.client.dialect.headerPrefix}postage-stamp`]: stamp };
    return http(node, '/chunks', { method: 'POST', headers, body: data });
  }

  test.each(ways)(
    'a chunk and a single-owner chunk with stamps of the batch of %s are accepted by %s and can be read by all',
    async (name, _at, way) => {
      const [issuer, node] = way();
      const made = { batch: String(issuer.batch), signer: ownerOf(issuer) };
      const chunk = chunkOf(`stamped ${name}`);
      const { status, json } = await upload(node, chunk, stampOf(chunk, made));
      expect([status, json]).toEqual([201, { reference: toHex(chunk.address) }]);

      const owner = createSigner(bytesOf('owner', 32));
      const soc = signSoc(bytesOf(`id ${name}`, 32), chunkOf(`wrapped ${name}`).data, owner);
      const { id, signature, wrapped } = socParts(soc.data);
      const path = `/soc/${toHex(owner.address)}/${toHex(id)}?sig=${toHex(signature)}`;
      const headers = { [`${node.client.dialect.headerPrefix}postage-stamp`]: stampOf(soc, made) };
      const taken = await http(node, path, { method: 'POST', headers, body: wrapped });
      expect([taken.status, taken.json]).toEqual([201, { reference: toHex(soc.address) }]);
      for (const reader of net.nodes)
        for (const { address, data } of [chunk, soc]) {
          const seen = await reader.chunks.download(toHex(address), { cache: false });
          expect([reader.name, sameBytes(seen, data)]).toEqual([reader.name, true]);
        }
    },
  );

  test('an invalid stamp is refused by both with the same status and message', async () => {
    const [own, theirs] = [of('svc', net)[0], of(side.flavour, net)[0]] as [ClusterNode, ClusterNode];
    const batch = String(of('svc', net)[1]?.batch);
    const signer = ownerOf(net.node(1));
    const chunk = chunkOf('refused');
    const stamps = {
      'signed by another': stampOf(chunk, { batch, signer: createSigner(bytesOf('stranger', 32)) }),
      'of another chunk': stampOf(chunkOf('another'), { batch, signer }),
      'of a batch that nobody has': stampOf(chunk, { batch: 'ab'.repeat(32), signer }),
      'too short': stampOf(chunk, { batch, signer }).slice(2),
      'no hex': 'zz',
      empty: '',
    };
    for (const [what, stamp] of Object.entries(stamps)) {
      const answers = await Promise.all([own, theirs].map((node) => upload(node, chunk, stamp)));
      const [seen, expected] = answers.map(({ status, json }) => [
        what,
        status,
        String(json['message']).replaceAll('Svc-', 'Swarm-'),
      ]);
      expect(seen).toEqual(expected);
      expect(seen?.[1]).toBe(400);
    }
  });

  test('our nodes have logged no error', async () => {
    expect(await ownErrors(net)).toEqual([]);
  });
});
