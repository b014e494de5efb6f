/** Debts are forgiven by time or paid by cheques, which each side accepts from the other and cashes on the chain. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Cluster } from '../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../harness/cluster/nodes/cluster-node.ts';
import { describeOthers, errorsInLogs, OTHERS, of, option, startMixed } from './kit.ts';
import {
  cash,
  chequesWith,
  MINED_MS,
  mirrored,
  NOTHING,
  paidWith,
  provoke,
  provokeByTime,
  SPEND_MS,
  SPENT,
  spend,
} from './payments.ts';

const RESTARTS_MS = 600_000;

const REFUSED = /"cheque refused"/;

function links(nodes: readonly ClusterNode[]): (readonly [ClusterNode, ClusterNode])[] {
  return nodes.flatMap((one, i) => nodes.slice(i + 1).map((other) => [one, other] as const));
}

async function expectPeace(net: Cluster): Promise<void> {
  for (const node of net.nodes) {
    expect([node.name, await node.client.blocklist()]).toEqual([node.name, []]);
    const lines = await node.logs({ lines: Number.POSITIVE_INFINITY });
    const refused = lines.filter((line) => REFUSED.test(line));
    expect(refused).toEqual([]);
    const rejected = /^\w+_swap_cheques_rejected (\d+)$/m.exec(await node.client.metrics())?.[1] ?? '0';
    expect([node.name, rejected]).toEqual([node.name, '0']);
  }
  expect(await errorsInLogs(net)).toEqual([]);
}

describe.each(OTHERS)('$title', (side) => {
  let net: Cluster;
  let own: ClusterNode;
  let theirs: ClusterNode;
  beforeAll(async () => {
    net = await startMixed({ side, own: 2, others: 2, seed: 91 });
    [own, theirs] = [of('svc', net)[0], of(side.flavour, net)[0]] as [ClusterNode, ClusterNode];
  });
  afterAll(() => net.stop());

  const ways = [
    ['ours', () => own, () => theirs],
    ['theirs', () => theirs, () => own],
  ] as const;

  test.each(ways)(
    'cheques of %s are accepted, and cashed to the last unit',
    async (_name, payerOf, payeeOf) => {
      const [payer, payee] = [payerOf(), payeeOf()];
      const before = await mirrored(net);
      let cashed = 0n;
      for (const round of [1, 2]) {
        await provoke(net, payer, payee);
        await mirrored(net);
        const { sent } = await chequesWith(payer, payee);
        expect(sent).toBeGreaterThan(cashed);
        expect((await chequesWith(payee, payer)).received).toBe(sent);
        expect((await paidWith(payer, payee, 'settlements')).sent).toBe(sent);
        expect((await payee.chequebook.cashout(payer.overlay)).uncashedAmount).toBe(sent - cashed);

        const [paying, taking] = [await payer.chequebook.balance(), await payee.chequebook.balance()];
        const due = sent - cashed;
        expect([round, await cash(payee, payer)]).toEqual([round, due]);
        cashed = sent;
        expect(await payer.chequebook.balance()).toEqual({
          totalBalance: paying.totalBalance - due,
          availableBalance: paying.availableBalance,
        });
        expect(await payee.chequebook.balance()).toEqual({
          totalBalance: taking.totalBalance + due,
          availableBalance: taking.availableBalance + due,
        });
      }
      await mirrored(net, before);
    },
    2 * SPEND_MS + MINED_MS,
  );

  test(
    'all nodes pay all others at once, by time and by cheque, and both ends of every link agree',
    async () => {
      const before = await mirrored(net);
      await Promise.all(net.nodes.map((node) => spend(net, node, 2 * SPENT)));
      await mirrored(net);
      for (const [one, other] of links(net.nodes)) {
        const { sent, received } = await paidWith(one, other, 'timeSettlements');
        if (sent === 0n) await provokeByTime(net, one, other);
        if (received === 0n) await provokeByTime(net, other, one);
      }
      await provoke(net, own, theirs);
      await provoke(net, theirs, own);
      await mirrored(net, before);
      await expectPeace(net);
    },
    3 * SPEND_MS,
  );

  test.each([
    ['ours', 'stop'],
    ['ours', 'kill'],
    ['theirs', 'stop'],
    ['theirs', 'kill'],
  ] as const)(
    'after %s, %s and start, the cheques continue from where they were',
    async (who, way) => {
      const [node, other] = who === 'ours' ? [own, theirs] : [theirs, own];
      const books = async () => ({
        cheques: await chequesWith(node, other),
        paid: await paidWith(node, other, 'settlements'),
        time: await paidWith(node, other, 'timeSettlements'),
        chequebook: [await node.chequebook.address(), await node.chequebook.balance()],
        cashout: await node.chequebook.cashout(other.overlay),
      });
      const before = await books();
      await node[way]();
      await node.start();
      await net.meshed();
      expect(await books()).toEqual(before);
      await provoke(net, node, other);
      await provoke(net, other, node);
      await mirrored(net);
      const after = await chequesWith(node, other);
      expect(after.sent).toBeGreaterThan(before.cheques.sent);
      expect(after.received).toBeGreaterThan(before.cheques.received);
      await expectPeace(net);
    },
    RESTARTS_MS,
  );

  test(
    'all remaining cheques are cashed, and no chequebook has promised more than it has paid',
    async () => {
      const before = await mirrored(net);
      for (const payee of net.nodes)
        for (const payer of net.nodes.filter((node) => node !== payee)) {
          const { received } = await chequesWith(payee, payer);
          if (received === 0n) continue;
          if ((await payee.chequebook.cashout(payer.overlay)).uncashedAmount > 0n) await cash(payee, payer);
        }
      for (const node of net.nodes) {
        const { totalBalance, availableBalance } = await node.chequebook.balance();
        expect([node.name, totalBalance]).toEqual([node.name, availableBalance]);
      }
      await mirrored(net, before);
    },
    RESTARTS_MS,
  );
});

describeOthers(option('swap-enable'), 'beside $title', (side) => {
  const { group } = side;

  test.each([
    ['theirs', [{ count: 2 }, group, { ...group, options: { 'swap-enable': false } }]],
    ['one of ours', [{ count: 1 }, { ...group, count: 2 }, { options: { 'swap-enable': false } }]],
  ] as const)(
    '%s without cheques pays and is paid by time, while the others use both',
    async (_name, nodes) => {
      await using net = await Cluster.start({ seed: 92, flavours: side.flavours, nodes: [...nodes] });
      const poor = net.nodes.at(-1) as ClusterNode;
      const [own, rich] = [of('svc', net)[0], of(side.flavour, net)[0]] as [ClusterNode, ClusterNode];
      expect((await poor.client.node()).swapEnabled).toBe(false);
      await provoke(net, own, rich);
      await provoke(net, rich, own);
      await spend(net, poor);
      const others = net.nodes.filter((node) => node !== poor);
      await mirrored(net);
      const cheques = await chequesWith(own, rich);
      expect([cheques.sent > 0n, cheques.received > 0n]).toEqual([true, true]);
      for (const node of others) {
        expect([node.name, await chequesWith(node, poor)]).toEqual([node.name, NOTHING]);
        const { sent, received } = await paidWith(node, poor, 'timeSettlements');
        expect(await paidWith(poor, node, 'timeSettlements')).toMatchObject({
          sent: received,
          received: sent,
        });
        expect([node.name, sent + received > 0n]).toEqual([node.name, true]);
      }
      await expectPeace(net);
    },
    RESTARTS_MS,
  );
});

describe.each(OTHERS)('beside $title', (side) => {
  test(
    'the deduction of the first cheque of a peer is applied once, whichever side pays',
    async () => {
      const [price, deduction] = [20_000n, 700n];
      await using net = await startMixed({ side, own: 2, others: 2, seed: 94 });
      const [own, other] = [of('svc', net)[0], of(side.flavour, net)[0]] as [ClusterNode, ClusterNode];
      await net.chain.setSwapPrice({ price, deduction });
      for (const node of of(side.flavour, net)) {
        await node.stop();
        await node.start();
      }
      await net.meshed();
      for (const _round of [1, 2]) {
        await provoke(net, own, other);
        await provoke(net, other, own);
        await mirrored(net);
        const { sent, received } = await chequesWith(own, other);
        expect([sent % price, received % price]).toEqual([deduction, deduction]);
      }
      await expectPeace(net);
    },
    RESTARTS_MS,
  );
});

describeOthers(option('payment-threshold'), 'beside $title', (side) => {
  test.each([
    [
      'small',
      { 'payment-threshold': '9000000', 'payment-early-percent': 20, 'payment-tolerance-percent': 10 },
    ],
    [
      'large',
      { 'payment-threshold': '100000000', 'payment-early-percent': 80, 'payment-tolerance-percent': 50 },
    ],
  ] as const)(
    'a Bee with its own %s limits is paid as it expects, and pays as we expect',
    async (_name, options) => {
      await using net = await Cluster.start({
        seed: 93,
        flavours: side.flavours,
        nodes: [{ count: 2 }, side.group, { ...side.group, options }],
      });
      const [own] = of('svc', net) as [ClusterNode];
      const other = net.nodes.at(-1) as ClusterNode;
      const announced = BigInt(options['payment-threshold']);
      const row = (await own.client.accounting()).find(({ peer }) => peer === other.overlay);
      expect(row?.thresholdReceived).toBe(announced);
      await Promise.all(net.nodes.map((node) => spend(net, node, 2 * SPENT)));
      await provoke(net, own, other);
      await provoke(net, other, own);
      await mirrored(net);
      const { sent, received } = await chequesWith(own, other);
      expect([sent > 0n, received > 0n]).toEqual([true, true]);
      expect(await cash(own, other)).toBe(received);
      expect(await cash(other, own)).toBe(sent);
      await expectPeace(net);
    },
    RESTARTS_MS,
  );
});
