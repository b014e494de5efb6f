/**
 * Prices that change on the chain: of storage, which all must compute alike to drop the same batches in the same block, and
 * of the units of debt, which a Bee learns of later than we do.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeCac } from '../../formats/chunk/cac.ts';
import type { Cluster } from '../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../harness/cluster/nodes/cluster-node.ts';
import { bytesOf, http, sameBytes } from '../cluster/node/kit.ts';
import { errorsInLogs, eventually, OTHERS, of, startMixed } from './kit.ts';
import { chequesWith, mirrored, provoke, spend } from './payments.ts';

/** Token units of one chunk and block: the chain's first price, and the most that its oracle takes. */
const PRICE = 24_000n;
const HIGH_PRICE = 4_194_303n;
const AN_HOUR_OF_BLOCKS = 3600n;
const DEPTH = 17;
/** Word of the contract's answer. */
const NORMALISED_BALANCE = 4;
const SIZE = 100_000;
const STORAGE_MS = 400_000;
const CHEQUES_MS = 600_000;

describe.each(OTHERS)('$title', (side) => {
  let net: Cluster;
  let own: ClusterNode;
  let theirs: ClusterNode;
  beforeAll(async () => {
    net = await startMixed({ side, own: 2, others: 2, seed: 96 });
    [own, theirs] = [of('svc', net)[0], of(side.flavour, net)[0]] as [ClusterNode, ClusterNode];
  });
  afterAll(() => net.stop());

  async function priced(price: bigint): Promise<void> {
    await net.chain.setStoragePrice(price);
    const states = () => Promise.all(net.nodes.map(({ client }) => client.chainState()));
    const seen = await eventually('not everybody knows the price', states, (all) =>
      all.every(({ currentPrice }) => currentPrice === price),
    );
    const since = seen.map(({ block, totalAmount }) => totalAmount - price * BigInt(block));
    expect(since).toEqual(since.map(() => since[0]));
  }

  const reserves = () =>
    Promise.all(net.nodes.map(async ({ client }) => (await client.status()).reserveSize));

  async function sameReserves(size: number): Promise<void> {
    await eventually(`reserves are not ${size}`, reserves, (sizes) => sizes.every((each) => each === size));
  }

  async function refusals(ask: (node: ClusterNode) => ReturnType<typeof http>): Promise<unknown[]> {
    const answers = await Promise.all([own, theirs].map(ask));
    return answers.map(({ status, json }) => [status, json['message']]);
  }

  async function crossing(): Promise<void> {
    for (const [from, to] of [
      [own, theirs],
      [theirs, own],
    ] as const) {
      const data = bytesOf(`crossing from ${from.name} ${await net.chain.height()}`, SIZE);
      const { reference } = await from.bytes.upload(data, { redundancyLevel: 0 });
      await net.synced(reference);
      expect(sameBytes(await to.bytes.download(reference, { cache: false }), data)).toBe(true);
    }
  }

  test(
    'batches bought, topped up and diluted by either side are the same for all',
    async () => {
      const amount = PRICE * AN_HOUR_OF_BLOCKS;
      for (const node of [own, theirs]) {
        const { batchID } = await node.stamps.buy({ amount, depth: DEPTH });
        await net.usable(batchID, { timeoutMs: STORAGE_MS });
        const known = (to: ClusterNode, depth: number) =>
          eventually(
            `${to.name} does not know the batch of ${node.name} at depth ${depth}`,
            async () => (await to.stamps.network()).find((batch) => batch.batchID === batchID),
            (batch) => batch?.depth === depth,
          );
        await known(node, DEPTH);
        await node.stamps.topUp(batchID, amount);
        await eventually(
          `${node.name} has not topped up`,
          () => node.stamps.get(batchID),
          (stamp) => stamp.amount === 2n * amount,
        );
        await node.stamps.dilute(batchID, DEPTH + 1);
        const batches = await Promise.all(net.nodes.map((to) => known(to, DEPTH + 1)));
        const { postageStamp } = net.chain.contracts;
        const words = await net.chain.words(postageStamp, 'batches(bytes32)', [`0x${batchID}`]);
        const expected = {
          owner: node.ethereum,
          depth: DEPTH + 1,
          start: batches[0]?.start,
          value: words[NORMALISED_BALANCE],
        };
        for (const batch of batches) expect(batch).toMatchObject(expected);
      }
    },
    STORAGE_MS,
  );

  test(
    'a higher price of storage expires the same batches for all, and their chunks are dropped by all',
    async () => {
      await priced(PRICE);
      await crossing();
      const kept = 2 * Math.ceil(SIZE / 4096) + 2;
      await sameReserves(kept);
      const short = await Promise.all(
        [own, theirs].map(async (node) => {
          const { batchID } = await node.stamps.buy({ amount: PRICE * AN_HOUR_OF_BLOCKS, depth: DEPTH });
          await net.usable(batchID, { timeoutMs: STORAGE_MS });
          const { data } = makeCac(500n, bytesOf(`short of ${node.name}`, 500));
          await node.chunks.upload(data, { batch: batchID });
          return { node, batchID };
        }),
      );
      await sameReserves(kept + short.length);

      await priced(HIGH_PRICE);
      const ids = short.map(({ batchID }) => batchID);
      for (const node of net.nodes)
        await eventually(
          `${node.name} still has a batch that is used up`,
          async () => (await node.stamps.network()).map(({ batchID }) => batchID),
          (known) => !ids.some((id) => known.includes(id)),
        );
      await sameReserves(kept);
      expect(
        await refusals((node) => {
          const batch = String(short.find((one) => one.node === node)?.batchID);
          const headers = { [`${node.client.dialect.headerPrefix}postage-batch-id`]: batch };
          return http(node, '/bytes', { method: 'POST', headers, body: bytesOf('too late', 100) });
        }),
      ).toEqual([
        // Our API still lists expired batches.
        [422, 'batch not usable yet or does not exist'],
        [404, 'batch with id not found'],
      ]);
      const tooLittle = `/stamps/${2n * HIGH_PRICE}/${DEPTH}`;
      const refused = [400, 'insufficient amount for 24h minimum validity'];
      expect(await refusals((node) => http(node, tooLittle, { method: 'POST' }))).toEqual([refused, refused]);

      await priced(PRICE);
      await crossing();
    },
    STORAGE_MS,
  );

  test(
    'with different prices of debt no node accepts a cheque and no peer is refused, and later they pay again',
    async () => {
      for (const [payer, payee] of [
        [own, theirs],
        [theirs, own],
      ] as const)
        await provoke(net, payer, payee);
      await mirrored(net);
      const price = 3n * (await net.chain.view(net.chain.contracts.swapPriceOracle, 'getPrice()'));
      await net.chain.setSwapPrice({ price });
      // Ours read it every second, a Bee at its start and every five minutes: until then debts are paid only by time.
      for (const node of [own, theirs]) await spend(net, node, SIZE);
      for (const node of net.nodes)
        expect([node.name, await node.client.blocklist()]).toEqual([node.name, []]);
      expect(await net.meshed()).toEqual({ links: 12, expected: 12 });
      for (const node of of(side.flavour, net)) {
        await node.stop();
        await node.start();
      }
      await net.meshed();
      const before = await chequesWith(own, theirs);
      await provoke(net, own, theirs);
      await provoke(net, theirs, own);
      await mirrored(net);
      const after = await chequesWith(own, theirs);
      expect([(after.sent - before.sent) % price, (after.received - before.received) % price]).toEqual([
        0n,
        0n,
      ]);
    },
    CHEQUES_MS,
  );

  test('our nodes have logged no error', async () => {
    const ours = of('svc', net).map(({ name }) => `${name}:`);
    expect((await errorsInLogs(net)).filter((line) => ours.some((name) => line.startsWith(name)))).toEqual(
      [],
    );
  });
});
