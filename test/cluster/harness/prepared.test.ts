import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import type { StartProgress } from '../../../harness/cluster/start/start-context.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const SIZE = 50_000;
const HEIGHT = 200;

const folder = temporaryFolder('svcnet-fixtures');
let stateDir: string;
beforeAll(() => {
  stateDir = join(folder, 'state');
  mkdirSync(join(folder, 'site', 'img'), { recursive: true });
  writeFileSync(join(folder, 'site', 'img', 'a.png'), 'not a picture');
  writeFileSync(join(folder, 'page.html'), '<h1>page</h1>');
});

const uploads = () => [
  { node: 'node-0', size: `${SIZE}` },
  { node: 'node-1', path: join(folder, 'page.html') },
  { node: 'node-2', path: join(folder, 'site') },
];

describe('a cluster with a prepared state', () => {
  let net: Cluster;
  const steps: StartProgress[] = [];
  beforeAll(async () => {
    net = await Cluster.start({
      name: 'prepared',
      driver: 'embedded',
      seed: 7,
      nodes: [{ count: 3 }, { batches: false }],
      prepare: {
        uploads: uploads(),
        cheques: [
          { from: 'node-1', to: 'node-3' },
          { from: 'node-3', to: 'node-1' },
        ],
        height: HEIGHT,
      },
      stateDir,
      onProgress: (progress) => void steps.push(progress),
    });
  });
  afterAll(() => net.stop());

  test.each([
    [1, 3],
    // It has no batch.
    [3, 1],
  ])('has a cheque of node-%i to node-%i in the books of both', async (payer, payee) => {
    const [from, to] = [net.node(payer), net.node(payee)];
    const { sent } = await from.chequebook.cheque(to.overlay);
    const { received } = await to.chequebook.cheque(from.overlay);
    expect(sent?.payout).toBeGreaterThan(0n);
    expect(received).toEqual(sent);
  });

  test('holds its uploads on the network, each under the reference reported', async () => {
    const [data, page, site] = net.prepared.uploads;
    expect([data?.node, data?.size, page?.path]).toEqual(['node-0', SIZE, join(folder, 'page.html')]);
    for (const node of net.nodes) {
      expect(await node.bytes.download(data?.reference ?? '')).toHaveLength(SIZE);
      const opened = await node.files.open(page?.reference ?? '');
      expect([opened.filename, opened.contentType]).toEqual(['page.html', 'text/html; charset=utf-8']);
      const picture = await node.files.download(site?.reference ?? '', 'img/a.png');
      expect(Buffer.from(picture).toString()).toBe('not a picture');
    }
  });

  test('has a chain of the requested height, which every node has read', async () => {
    expect(await net.chain.height()).toBeGreaterThanOrEqual(HEIGHT);
    for (const node of net.nodes)
      expect((await node.client.chainState()).block).toBeGreaterThanOrEqual(HEIGHT);
  });

  test('has no stamp younger than the mined blocks', async () => {
    const { timestamp } = await net.chain.call<{ timestamp: string }>('eth_getBlockByNumber', [
      `0x${(HEIGHT / 2).toString(16)}`,
      false,
    ]);
    const tags = await Promise.all(net.nodes.map((node) => node.tags.list()));
    const startedAt = tags.flat().map(({ startedAt: at }) => Date.parse(at));
    expect(startedAt.length).toBeGreaterThanOrEqual(3);
    expect(Math.max(...startedAt)).toBeLessThanOrEqual(Number(timestamp) * 1000);
  });

  test('reports it during the start, and later on request', async () => {
    const told = steps.filter(({ step }) => step === 'state');
    expect(told[0]?.detail).toBe('0 of 3 uploads, 0 of 2 cheques');
    expect(told.at(-1)).toMatchObject({
      done: true,
      detail: expect.stringMatching(/^3 uploads, 2 cheques, block \d+$/),
    });
    expect(net.timings.preparedMs).toBeGreaterThan(0);
    const attached = await Cluster.attach('prepared', { stateDir });
    try {
      expect(attached.prepared).toEqual(net.prepared);
      expect(attached.toJSON().prepared).toEqual(net.prepared);
    } finally {
      await attached.detach();
    }
  });
});

test('equal seeds prepare equal data', async () => {
  const start = () =>
    Cluster.start({
      driver: 'embedded',
      seed: 9,
      nodes: 1,
      prepare: {
        uploads: [
          { node: 'node-0', size: '10000' },
          { node: 'node-0', size: '10000' },
        ],
      },
      stateDir,
    });
  await using one = await start();
  await using two = await start();
  const references = ({ prepared }: Cluster) => prepared.uploads.map(({ reference }) => reference);
  expect(references(one)).toEqual(references(two));
  expect(new Set(references(one)).size).toBe(2);
});

test('a state that cannot be prepared ends the start with the entry and the reason', async () => {
  const started = Cluster.start({
    name: 'impossible',
    driver: 'embedded',
    seed: 7,
    nodes: 2,
    batches: { depth: 17 },
    prepare: {
      uploads: [
        { node: 'node-0', size: '1KiB' },
        { node: 'node-1', size: '64MiB' },
      ],
    },
    stateDir,
  });
  await expect(started).rejects.toMatchObject({
    code: 'PREPARE_FAILED',
    message: 'prepare.uploads[1]: node-1: POST /bytes: 402 batch is overissued',
    hint: expect.stringContaining('Logs and state of this start') as string,
  });
  await expect(Cluster.attach('impossible', { stateDir })).rejects.toMatchObject({
    code: 'CLUSTER_NOT_FOUND',
  });
});
