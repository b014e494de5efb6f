import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../../harness/cluster/nodes/cluster-node.ts';
import { bytesOf, eventuallyIn, type HttpReply, http, sameBytes, stateFolder } from './kit.ts';
import { caughtUp, mining, sent, setPrice, usableBatch } from './onchain.ts';

const stateDir = stateFolder();
/** 100,000 blocks at the chain's first price, per chunk. */
const AMOUNT = 24_000n * 100_000n;
const TOTAL = AMOUNT << 18n;
const BLOCKS = 3;
const TAIL = 4;
let net: Cluster;
const eventually = eventuallyIn(() => net);
let node: ClusterNode;
/** Follows the chain directly. */
let other: ClusterNode;
/** Stays a few blocks behind the chain. */
let careful: ClusterNode;

beforeAll(async () => {
  const options = { 'usable-blocks': BLOCKS, 'reserve-wake-up': '1s', 'cache-capacity': 0 };
  net = await Cluster.start({
    nodes: [
      { count: 2, options },
      { count: 1, options: { ...options, 'chain-tail-blocks': TAIL } },
    ],
    driver: 'simulated',
    seed: 22,
    stateDir,
    chain: { blockTime: '1000s', gate: true },
  });
  [node, other, careful] = [net.node(0), net.node(1), net.node(2)];
});
afterAll(async () => {
  await net.stop();
});

const direct = () => caughtUp(net, [node, other]);
const buy = (label = '') => usableBatch(net, node, { amount: AMOUNT, depth: 18, blocks: BLOCKS, label });

function upload(batch: string, body: Uint8Array): Promise<HttpReply> {
  const headers = { 'svc-postage-batch-id': batch, 'content-type': 'application/octet-stream' };
  return http(node, '/bytes', { method: 'POST', headers, body });
}

async function listed(batch: string, query = ''): Promise<Record<string, unknown> | undefined> {
  const { json } = await http(node, `/stamps${query}`);
  return (json['stamps'] as Record<string, unknown>[]).find(({ batchID }) => batchID === batch);
}

async function everythingMined(): Promise<void> {
  await eventually('a transaction is not mined', async () => {
    const { mined, all } = await sent(net, node);
    if (all === mined) return undefined;
    await net.chain.mine();
    return `${all - mined} are waiting`;
  });
}

const left = (batch: string) =>
  net.chain.view(net.chain.contracts.postageStamp, 'remainingBalance(bytes32)', [`0x${batch}`]);

async function expectTruth(nodes: readonly ClusterNode[] = [node, other]): Promise<void> {
  const { postageStamp } = net.chain.contracts;
  for (const each of nodes) {
    const { block, totalAmount, currentPrice } = await each.client.chainState();
    expect(await net.chain.view(postageStamp, 'currentTotalOutPayment()', [], block)).toBe(totalAmount);
    expect(await net.chain.view(postageStamp, 'lastPrice()', [], block)).toBe(currentPrice);
    for (const { batchID, value } of await each.stamps.network()) {
      const balance = await net.chain.view(
        postageStamp,
        'remainingBalance(bytes32)',
        [`0x${batchID}`],
        block,
      );
      expect(value - totalAmount).toBe(balance);
    }
  }
}

interface Operation {
  readonly path: string;
  readonly method: 'POST' | 'PATCH';
}

/**
 * Kills the node after that many of its transactions, the last one pending or mined without the node's knowledge. Then the
 * node starts again, and pending transactions are mined.
 */
async function killAt(
  { path, method }: Operation,
  moment: { readonly transactions: number; readonly mined: boolean },
): Promise<void> {
  const before = (await sent(net, node)).all;
  const answer = http(node, path, { method }).then(
    () => 'answered',
    () => 'cut off',
  );
  await eventually('the operation does not get that far', async () => {
    const { mined, all } = await sent(net, node);
    if (all - before === moment.transactions) return undefined;
    if (all > mined) await net.chain.mine();
    return `${all - before} transactions are sent`;
  });
  if (moment.mined) {
    await net.chain.setRpcFault({ kind: 'down' }, node.name);
    await net.chain.mine();
  }
  await node.kill();
  expect(await answer).toBe('cut off');
  await net.chain.setRpcFault({ kind: 'none' }, node.name);
  await node.start();
  await everythingMined();
  await net.chain.mine(BLOCKS);
  await direct();
}

const MOMENTS = [
  { transactions: 1, mined: false },
  { transactions: 1, mined: true },
  { transactions: 2, mined: false },
  { transactions: 2, mined: true },
] as const;

describe('kill -9 in the middle of', () => {
  test.each(MOMENTS)('a purchase, $transactions transactions sent, last mined: $mined', async (moment) => {
    const label = `killed-${moment.transactions}-${moment.mined}`;
    const purchase = { method: 'POST', path: `/stamps/${AMOUNT}/18?label=${label}` } as const;
    const bought = moment.transactions === 2;
    const tokens = await net.chain.tokenBalance(node.ethereum);
    const from = (await sent(net, node)).mined;
    await killAt(purchase, moment);

    const own = (await node.stamps.list()).filter((stamp) => stamp.label === label);
    expect(own.map(({ usable, depth }) => [usable, depth])).toEqual(bought ? [[true, 18]] : []);
    expect(tokens - (await net.chain.tokenBalance(node.ethereum))).toBe(bought ? TOTAL : 0n);
    for (const { batchID } of own) expect((await upload(batchID, bytesOf(label, 5000))).status).toBe(201);

    // It approves for itself even if an unused approval is left.
    expect((await mining(net, node, purchase.path, purchase)).status).toBe(201);
    expect(tokens - (await net.chain.tokenBalance(node.ethereum))).toBe(bought ? 2n * TOTAL : TOTAL);
    expect((await sent(net, node)).mined - from).toBe(bought ? 4 : 3);
  });

  test.each(MOMENTS)('a top-up, $transactions transactions sent, the last mined: $mined', async (moment) => {
    const batch = await buy();
    const tokens = await net.chain.tokenBalance(node.ethereum);
    const from = (await sent(net, node)).mined;
    const topUp = { method: 'PATCH', path: `/stamps/topup/${batch}/${AMOUNT}` } as const;
    await killAt(topUp, moment);
    const paid = moment.transactions === 2;
    expect(tokens - (await net.chain.tokenBalance(node.ethereum))).toBe(paid ? TOTAL : 0n);
    expect(await listed(batch)).toMatchObject({ amount: String(paid ? 2n * AMOUNT : AMOUNT), usable: true });
    if (paid) return;
    expect((await mining(net, node, topUp.path, topUp)).status).toBe(202);
    expect((await sent(net, node)).mined - from).toBe(3);
    expect(await net.chain.tokenBalance(node.ethereum)).toBe(tokens - TOTAL);
  });

  test.each([false, true])('a dilution after its transaction, mined: %s', async (mined) => {
    const batch = await buy();
    const dilution = { method: 'PATCH', path: `/stamps/dilute/${batch}/19` } as const;
    await killAt(dilution, { transactions: 1, mined });
    expect(await listed(batch)).toMatchObject({ depth: 19, usable: true });
    const again = await mining(net, node, dilution.path, dilution);
    expect([again.status, again.json['message']]).toEqual([400, 'invalid depth']);
  });
});

test('an endpoint that is away in the middle of a purchase delays it', async () => {
  const from = (await sent(net, node)).mined;
  const buying = http(node, `/stamps/${AMOUNT}/18?label=gap`, { method: 'POST' });
  await eventually('nothing is sent', async () =>
    (await sent(net, node)).all > from ? undefined : 'no transaction',
  );
  await net.chain.setRpcFault({ kind: 'down' }, node.name);
  await net.chain.mine(2);
  const before = (await net.chain.rpcCalls())[node.name]?.met ?? 0;
  await eventually('the node does not look', async () =>
    ((await net.chain.rpcCalls())[node.name]?.met ?? 0) > before + 20 ? undefined : 'too few calls',
  );
  expect((await node.client.chainState().catch((error: { class?: string }) => error.class)) ?? '').toBe(
    'http.500',
  );
  await net.chain.setRpcFault({ kind: 'slow', ms: 200 }, node.name);
  let answered = false;
  void buying.finally(() => {
    answered = true;
  });
  await eventually('the purchase does not go on', async () => {
    if (answered) return undefined;
    const { mined, all } = await sent(net, node);
    if (all > mined) await net.chain.mine();
    return 'no answer';
  });
  await net.chain.setRpcFault({ kind: 'none' }, node.name);
  const seen = await buying;
  expect(seen.status).toBe(201);
  await net.chain.mine(BLOCKS);
  await direct();
  expect(await listed(seen.json['batchID'] as string)).toMatchObject({ label: 'gap', usable: true });
});

describe('a reorganisation', () => {
  test('that removes a purchase makes the batch unusable, until it returns with its stamps', async () => {
    const height = await net.chain.height();
    const batch = await buy('reorganised');
    const data = bytesOf('stays through it', 30 * 4096);
    const uploaded = await upload(batch, data);
    const reference = uploaded.json['reference'] as string;
    await net.synced(reference);
    const buckets = (await http(node, `/stamps/${batch}/buckets`)).json;

    await net.chain.reorganise((await net.chain.height()) - height);
    await eventually('the batch is still there', async () => {
      const seen = await Promise.all([node, other].map((each) => http(each, `/batches/${batch}`)));
      const own = await listed(batch);
      return own === undefined && seen.every(({ status }) => status === 404) ? undefined : 'it is';
    });
    const refused = await upload(batch, data);
    expect([refused.status, refused.json['message']]).toEqual([
      422,
      'batch not usable yet or does not exist',
    ]);
    // Longer than the reserve sleeps: it must keep chunks of a batch that may come back.
    await net.clock.sleep(2500);
    expect(sameBytes(await other.bytes.download(reference), data)).toBe(true);

    await eventually('its transactions are not mined again', async () => {
      await net.chain.mine();
      return (await http(node, `/batches/${batch}`)).status === 200 ? undefined : 'the batch is not there';
    });
    await net.chain.mine(BLOCKS);
    await direct();
    expect(await listed(batch)).toMatchObject({ label: 'reorganised', usable: true, exists: true });
    expect((await http(node, `/stamps/${batch}/buckets`)).json).toEqual(buckets);
    expect((await upload(batch, bytesOf('after it', 3 * 4096))).status).toBe(201);
    expect(sameBytes(await other.bytes.download(reference), data)).toBe(true);
    await expectTruth();
  });

  test('that removes a top-up, a dilution and a price leaves all nodes with the terms of the chain', async () => {
    const batch = await buy();
    const height = await net.chain.height();
    await mining(net, node, `/stamps/dilute/${batch}/19`, { method: 'PATCH' });
    await mining(net, other, `/stamps/topup/${batch}/5000`, { method: 'PATCH' });
    await setPrice(net, node, 48_000n);
    await direct();
    expect(await listed(batch)).toMatchObject({ depth: 19, amount: String(AMOUNT + 5000n) });

    await net.chain.reorganise((await net.chain.height()) - height);
    await eventually('the old terms are still shown', async () => {
      const { currentPrice } = await node.client.chainState();
      return currentPrice === 24_000n ? undefined : `the price is ${currentPrice}`;
    });
    expect(await listed(batch)).toMatchObject({ depth: 18, amount: String(AMOUNT) });
    // The price of the deployer is lost.
    await eventually('not everything is mined again', async () => {
      await net.chain.mine();
      const stamp = await listed(batch);
      return stamp?.['depth'] === 19 && stamp['amount'] === String(AMOUNT + 5000n)
        ? undefined
        : JSON.stringify(stamp);
    });
    await direct();
    await expectTruth();
    expect(await left(batch)).toBeGreaterThan(0n);
  });

  test('within the tail of a node never shows it anything that does not stay', async () => {
    const takenBack = async () =>
      /^svc_postage_listener_pages_taken_back (.*)$/m.exec(
        Buffer.from((await http(careful, '/metrics')).body).toString(),
      )?.[1];
    const before = await takenBack();
    const seen = new Set<string>();
    const look = async () => {
      for (const { batchID } of await careful.stamps.network()) seen.add(batchID);
    };
    for (let round = 0; round < 3; round++) {
      const height = await net.chain.height();
      const { json } = await mining(net, other, `/stamps/${AMOUNT}/18?label=tail-${round}`, {
        method: 'POST',
      });
      const batch = json['batchID'] as string;
      await look();
      await net.chain.reorganise((await net.chain.height()) - height);
      await look();
      expect(seen.has(batch)).toBe(false);
      await eventually('the other node does not notice', async () =>
        (await http(other, `/batches/${batch}`)).status === 404 ? undefined : 'the batch is there',
      );
      await eventually('it is not mined again', async () => {
        await net.chain.mine();
        if ((await http(other, `/batches/${batch}`)).status === 200) return undefined;
        const receipt = await net.chain.call('eth_getTransactionReceipt', [json['txHash']]);
        const { pendingTransactions } = (await http(other, '/transactions')).json;
        return `it is not there: ${JSON.stringify({ receipt, pendingTransactions, ...(await sent(net, other)) })}`;
      });
      await net.chain.mine(TAIL);
      await eventually('the careful node is behind', async () =>
        (await careful.client.chainState()).block === (await net.chain.height()) - TAIL ? undefined : 'it is',
      );
      await look();
      expect(seen.has(batch)).toBe(true);
    }
    expect(await takenBack()).toBe(before);
    await expectTruth([careful]);
  });

  test('deeper than everything remembered makes nodes read the chain again by themselves', async () => {
    const early = await buy('early');
    const snapshot = await net.chain.call<string>('evm_snapshot', []);
    const tokens = await net.chain.tokenBalance(other.ethereum);
    const late = await usableBatch(net, other, { amount: AMOUNT, depth: 18, blocks: BLOCKS, label: 'late' });
    for (let part = 0; part < 3; part++) {
      await net.chain.mine(70);
      // Blocks without any event are one page.
      await setPrice(net, node, 24_001n + BigInt(part));
      await direct();
    }
    const height = await net.chain.height();
    await other.kill();
    expect(await net.chain.call<boolean>('evm_revert', [snapshot])).toBe(true);
    await net.chain.mine(height - (await net.chain.height()) + 5);
    await caughtUp(net, [node]);
    expect((await http(node, `/batches/${late}`)).status).toBe(404);
    expect(await listed(early)).toMatchObject({ label: 'early', usable: true });
    expect((await upload(early, bytesOf('after the deep one', 3 * 4096))).status).toBe(201);
    const metrics = Buffer.from((await http(node, '/metrics')).body).toString();
    expect(metrics).toContain('svc_postage_listener_rebuilds 1');
    await expectTruth([node]);
    // At its start it finds a chain on which it has bought nothing.
    await other.start();
    await direct();
    await expectTruth();
    expect((await other.stamps.list()).map(({ label }) => label)).not.toContain('late');
    expect(await net.chain.tokenBalance(other.ethereum)).toBe(tokens);
  });
});
