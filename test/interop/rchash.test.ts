import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeCac } from '../../formats/chunk/cac.ts';
import { signSoc, socParts } from '../../formats/chunk/soc.ts';
import { toHex } from '../../formats/crypto/hex.ts';
import { createSigner } from '../../formats/crypto/signer.ts';
import type { Cluster } from '../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../harness/cluster/nodes/cluster-node.ts';
import { bytesOf, eventually, http, speakSwarm } from '../cluster/node/kit.ts';
import { describeOthers, errorsInLogs, of, option, startMixed } from './kit.ts';

const ROUND_LENGTH = 152;
/** Some twenty chunks from each node: peers pay no more than the public network grants. */
const SIZE = 80_000;
const SOCS = 20;
const ANCHORS = ['64', 'ab'.repeat(32), toHex(bytesOf('an anchor', 32)), toHex(bytesOf('another', 32))];
const owner = createSigner(bytesOf('owner', 32));

const paid = (node: ClusterNode) => ({
  'swarm-postage-batch-id': String(node.batch),
  'swarm-deferred-upload': 'true',
  'swarm-redundancy-level': '0',
});

async function upload(node: ClusterNode, name: string): Promise<void> {
  const asked = { method: 'POST', headers: paid(node), body: bytesOf(name, SIZE) } as const;
  expect((await http(node, '/bytes', asked)).status).toBe(201);
}

async function uploadSoc(node: ClusterNode, name: string): Promise<void> {
  const payload = bytesOf(name, 500);
  const soc = signSoc(bytesOf(`id of ${name}`, 32), makeCac(BigInt(payload.length), payload).data, owner);
  const { id, signature, wrapped } = socParts(soc.data);
  const path = `/soc/${toHex(owner.address)}/${toHex(id)}?sig=${toHex(signature)}`;
  expect((await http(node, path, { method: 'POST', headers: paid(node), body: wrapped })).status).toBe(201);
}

/** Equally many chunks, and more than before. */
async function sameReserves(nodes: readonly ClusterNode[], more: number): Promise<number> {
  let size = 0;
  await eventually('reserves differ', async () => {
    const sizes = await Promise.all(
      nodes.map(async (node) => Number((await http(node, '/status')).json['reserveSize'])),
    );
    size = sizes[0]!;
    return new Set(sizes).size === 1 && size >= more ? undefined : `sizes ${sizes.join(', ')}`;
  });
  return size;
}

/**
 * By which each node would sample. A Bee reports a new round only with a new phase, and its block may run ahead of the
 * chain.
 */
async function rounds(net: Cluster): Promise<number[]> {
  const states = await Promise.all(net.nodes.map((node) => http(node, '/redistributionstate')));
  return states.map(({ json }) => Math.floor(Number(json['block']) / ROUND_LENGTH));
}

/** Then everything stamped before counts. */
async function twoRoundsLater(net: Cluster): Promise<void> {
  // Blocks mined at once may all have the second of the newest stamps.
  await sleep(2000);
  const least = (await rounds(net))[0]! + 2;
  await net.chain.mine(2 * ROUND_LENGTH, { force: true });
  await eventually('rounds differ', async () => {
    const seen = await rounds(net);
    return new Set(seen).size === 1 && seen[0]! >= least ? undefined : `rounds ${seen.join(', ')}`;
  });
}

interface Answer {
  readonly hash: string;
  readonly proofs: unknown;
}

/** In the same round; a proof without an owner is written in two ways. */
async function samples(net: Cluster, depth: number, anchor: string): Promise<Answer[]> {
  for (;;) {
    const before = await rounds(net);
    const answers = await Promise.all(
      net.nodes.map(async (node) => {
        const { status, json } = await http(node, `/rchash/${depth}/${anchor}/${anchor}`);
        expect(status, node.name).toBe(200);
        const proofs = JSON.stringify(json['proofs']).replaceAll('"socProof":[]', '"socProof":null');
        return { hash: String(json['hash']), proofs: JSON.parse(proofs) as unknown };
      }),
    );
    const seen = new Set([...before, ...(await rounds(net))]);
    if (seen.size === 1) return answers;
  }
}

describeOthers(option('storage-incentives-enable'), '$title', (side) => {
  let net: Cluster;
  let before: string[];
  beforeAll(async () => {
    net = await startMixed({
      side,
      own: 2,
      others: 2,
      seed: 31,
      options: { 'storage-incentives-enable': true },
    });
    // Anchors of any length are asked for as of a Bee.
    for (const node of of('svc', net)) await speakSwarm(node);
    await net.meshed();
  });
  afterAll(() => net.stop());

  test('all nodes find the same sample and prove it alike, for chunks of both kinds', async () => {
    for (const node of net.nodes) await upload(node, `from ${node.name}`);
    for (let n = 0; n < SOCS; n++) await uploadSoc(net.node(n % net.nodes.length), `owned ${n}`);
    await sameReserves(net.nodes, net.nodes.length * Math.ceil(SIZE / 4096) + SOCS);
    await twoRoundsLater(net);
    const hashes: string[] = [];
    for (const anchor of ANCHORS) {
      for (const depth of [0, 1]) {
        const [first, ...others] = await samples(net, depth, anchor);
        expect(others).toEqual(others.map(() => first));
        hashes.push(first!.hash);
      }
    }
    expect(new Set(hashes).size).toBe(hashes.length);
    before = hashes.filter((_, n) => n % 2 === 0);
    const proofs = JSON.stringify(await samples(net, 0, ANCHORS[1]!));
    expect(proofs).toContain('"identifier"');
  });

  test('late stamps change the sample for no node at first, and later for all', async () => {
    const size = await sameReserves(net.nodes, 1);
    await upload(net.node(0), 'late, from ours');
    await upload(net.node(3), 'late, from theirs');
    await sameReserves(net.nodes, size + 2 * Math.ceil(SIZE / 4096));
    const hashesOf = async (anchor: string) => {
      const [first, ...others] = await samples(net, 0, anchor);
      expect(others).toEqual(others.map(() => first));
      return first!.hash;
    };
    const unchanged: string[] = [];
    for (const anchor of ANCHORS) unchanged.push(await hashesOf(anchor));
    expect(unchanged).toEqual(before);
    await twoRoundsLater(net);
    const changed: string[] = [];
    for (const anchor of ANCHORS) changed.push(await hashesOf(anchor));
    expect(changed).not.toEqual(before);
  });

  test('no log has an error, except what a bee without stake reports about the game', async () => {
    const errors = await errorsInLogs(net);
    expect(errors.filter((line) => !line.includes('node/storageincentives phase failed'))).toEqual([]);
  });
});
