import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeCac } from '../../../formats/chunk/cac.ts';
import type { Chunk } from '../../../formats/chunk/chunk.ts';
import { signSoc, socParts } from '../../../formats/chunk/soc.ts';
import { bucketOf, encodeStamp, type Stamp, stampDigest, stampIndex } from '../../../formats/chunk/stamp.ts';
import { fromHex, toHex } from '../../../formats/crypto/hex.ts';
import { createSigner, type Signer } from '../../../formats/crypto/signer.ts';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../../harness/cluster/nodes/cluster-node.ts';
import { deriveNode } from '../../../harness/cluster/plan/seed.ts';
import { bytesOf, type HttpReply, http, sameBytes, stateFolder } from './kit.ts';

const SEED = 21;
const stateDir = stateFolder();
const owner = createSigner(bytesOf('owner', 32));
let net: Cluster;
let a: ClusterNode;
let b: ClusterNode;

beforeAll(async () => {
  net = await Cluster.start({ driver: 'simulated', nodes: 3, seed: SEED, stateDir });
  [a, b] = [net.node(0), net.node(1)];
});
afterAll(async () => {
  await net.stop();
});

function socOf(name: string, payload: Uint8Array): Chunk {
  return signSoc(bytesOf(name, 32), makeCac(BigInt(payload.length), payload).data, owner);
}

function upload(
  node: ClusterNode,
  soc: Chunk,
  headers: Record<string, string> = {},
  by = owner.address,
): Promise<HttpReply> {
  const { id, signature, wrapped } = socParts(soc.data);
  const paid = { 'svc-postage-batch-id': node.batch ?? '', ...headers };
  const path = `/soc/${toHex(by)}/${toHex(id)}?sig=${toHex(signature)}`;
  return http(node, path, { method: 'POST', headers: paid, body: wrapped });
}

function urlOf(soc: Chunk): string {
  return `/soc/${toHex(owner.address)}/${toHex(socParts(soc.data).id)}`;
}

describe('a single-owner chunk', () => {
  test.each([
    ['pushed at once', {}],
    ['stored first, pushed later', { 'svc-deferred-upload': 'true' }],
  ])('%s can be read from every node, by owner and id and by its address', async (how, headers) => {
    const payload = bytesOf(how, 2000);
    const soc = socOf(how, payload);
    const { status, json, headers: told } = await upload(a, soc, headers);
    expect([status, json]).toEqual([201, { reference: toHex(soc.address) }]);
    if (told['svc-tag'] !== undefined) await net.synced({ node: a.name, tag: Number(told['svc-tag']) });
    for (const node of net.nodes) {
      const read = await http(node, urlOf(soc));
      expect([read.status, sameBytes(read.body, payload)]).toEqual([200, true]);
      expect(read.headers['svc-soc-signature']).toBe(toHex(socParts(soc.data).signature));
      const whole = await http(node, `/chunks/${toHex(soc.address)}`);
      expect(sameBytes(whole.body, soc.data), node.name).toBe(true);
    }
  });

  test('of another owner or with another signature is refused and stored nowhere', async () => {
    const soc = socOf('refused', bytesOf('refused', 100));
    const wrongOwner = await upload(a, soc, {}, createSigner(bytesOf('stranger', 32)).address);
    expect([wrongOwner.status, wrongOwner.json]).toEqual([401, { code: 401, message: 'invalid chunk' }]);
    const other = socOf('another content', bytesOf('another content', 100));
    const forged = Buffer.concat([
      soc.data.subarray(0, 32),
      other.data.subarray(32, 97),
      soc.data.subarray(97),
    ]);
    const wrongSignature = await upload(a, { ...soc, data: forged });
    expect(wrongSignature.json).toEqual({ code: 401, message: 'invalid chunk' });
    for (const node of net.nodes) expect((await http(node, urlOf(soc))).status).toBe(404);
  });
});

function accountOf(node: ClusterNode): Signer {
  return createSigner(deriveNode({ seed: BigInt(SEED), index: node.index, networkId: 0 }).keys.swarm);
}

function clientStamp(batch: string, address: Uint8Array, signer: Signer, position = 0): Stamp {
  const batchId = fromHex(batch);
  const index = stampIndex(bucketOf(address, 16), position);
  const timestamp = Buffer.alloc(8);
  timestamp.writeBigUInt64BE(BigInt(Date.now()) * 1_000_000n);
  const signature = signer.sign(stampDigest(address, batchId, index, timestamp));
  return { batchId, index, timestamp, signature };
}

function stampHeader(stamp: Stamp): Record<string, string> {
  return { 'svc-postage-stamp': toHex(encodeStamp(stamp)) };
}

function uploadChunk(node: ClusterNode, chunk: Chunk, stamp: Stamp): Promise<HttpReply> {
  return http(node, '/chunks', { method: 'POST', headers: stampHeader(stamp), body: chunk.data });
}

describe('a stamp made by the client', () => {
  const chunkOf = (name: string) => makeCac(500n, bytesOf(name, 500));

  test('with the key of the batch pays for its chunk on any node', async () => {
    const signer = accountOf(a);
    expect(toHex(signer.address)).toBe(a.ethereum);
    for (const node of net.nodes) {
      const chunk = chunkOf(`stamped for ${node.name}`);
      const stamp = clientStamp(a.batch ?? '', chunk.address, signer, 9);
      expect((await uploadChunk(node, chunk, stamp)).json).toEqual({ reference: toHex(chunk.address) });
      for (const reader of net.nodes) {
        expect(sameBytes(await reader.chunks.download(toHex(chunk.address)), chunk.data)).toBe(true);
      }
    }
    const soc = socOf('stamped', bytesOf('stamped', 10));
    const stamp = clientStamp(a.batch ?? '', soc.address, signer, 9);
    expect((await upload(b, soc, stampHeader(stamp))).status).toBe(201);
  });

  test('of another owner, for another chunk, beyond the batch or of no batch is refused', async () => {
    const chunk = chunkOf('refused');
    const batch = a.batch ?? '';
    const signer = accountOf(a);
    const invalid = { code: 400, message: 'stamp signature is invalid' };
    const strangers = clientStamp(batch, chunk.address, accountOf(b));
    expect((await uploadChunk(b, chunk, strangers)).json).toEqual(invalid);
    const ofAnother = clientStamp(batch, chunkOf('another').address, signer);
    expect((await uploadChunk(b, chunk, ofAnother)).json).toEqual(invalid);
    const beyond = clientStamp(batch, chunk.address, signer, 2 ** 16);
    expect((await uploadChunk(b, chunk, beyond)).json).toEqual(invalid);
    const unknown = clientStamp('ab'.repeat(32), chunk.address, signer);
    expect((await uploadChunk(b, chunk, unknown)).json).toEqual({ code: 400, message: 'invalid batch id' });
    for (const node of net.nodes)
      expect((await http(node, `/chunks/${toHex(chunk.address)}`)).status).toBe(404);
  });

  test('from an envelope of its owner pays for the chunk on another node', async () => {
    const chunk = chunkOf('envelope');
    const headers = { 'svc-postage-batch-id': a.batch ?? '' };
    const { status, json } = await http(a, `/envelope/${toHex(chunk.address)}`, { method: 'POST', headers });
    expect([status, json['issuer']]).toEqual([201, a.ethereum]);
    const field = (name: string) => fromHex(String(json[name]));
    const stamp = {
      batchId: fromHex(a.batch ?? ''),
      index: field('index'),
      timestamp: field('timestamp'),
      signature: field('signature'),
    };
    expect((await uploadChunk(b, chunk, stamp)).status).toBe(201);
    expect(sameBytes(await net.node(2).chunks.download(toHex(chunk.address)), chunk.data)).toBe(true);
    const elsewhere = await http(b, `/envelope/${toHex(chunk.address)}`, { method: 'POST', headers });
    expect(elsewhere.json).toEqual({ code: 404, message: 'batch with id not found' });
  });
});
