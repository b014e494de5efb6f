/**
 * The payee of a cheque beyond the balance gets what is left and reports that it bounced, the payer lives on what time
 * forgives, and with money in its chequebook everything is paid.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Cluster } from '../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../harness/cluster/nodes/cluster-node.ts';
import { deriveNode } from '../../harness/cluster/plan/seed.ts';
import { OTHERS, of, ownErrors, startMixed } from './kit.ts';
import { cash, chequesWith, mirrored, present, provoke, spend } from './payments.ts';

const SEED = 95;
const GAS = 95_000;
/** Time forgives slowly; on a loaded machine. */
const BOUNCED_MS = 400_000;
/** More than may be owed without any payment. */
const ON_TIME_ALONE = 2 ** 19;

describe.each(OTHERS)('$title', (side) => {
  let net: Cluster;
  beforeAll(async () => {
    net = await startMixed({ side, own: 2, others: 2, seed: SEED });
  });
  afterAll(() => net.stop());

  const ways = [
    ['ours', 'theirs', () => [of('svc', net)[0], of(side.flavour, net)[0]] as [ClusterNode, ClusterNode]],
    ['theirs', 'ours', () => [of(side.flavour, net)[1], of('svc', net)[1]] as [ClusterNode, ClusterNode]],
  ] as const;

  /** By the account's key: its node would refuse. */
  async function drain({ index }: ClusterNode, chequebook: string, left: bigint): Promise<void> {
    const { chain } = net;
    const { keys } = deriveNode({ seed: BigInt(SEED), index, networkId: chain.networkId });
    const withdrawn = (await chain.tokenBalance(chequebook)) - left;
    await chain.send(keys.swarm, {
      to: chequebook,
      signature: 'withdraw(uint256)',
      values: [withdrawn],
      gas: GAS,
    });
  }

  test.each(ways)(
    'an uncovered cheque of %s pays %s what is left, and everything in the end',
    async (_name, _payee, way) => {
      const [payer, payee] = way();
      await provoke(net, payer, payee);
      await mirrored(net);
      const chequebook = await payer.chequebook.address();
      const { sent } = await chequesWith(payer, payee);
      const left = sent / 3n;
      await drain(payer, chequebook, left);
      expect(await present(payee, payer)).toMatchObject({ lastPayout: left, bounced: true });
      expect(await net.chain.view(chequebook, 'bounced()')).toBe(1n);
      expect((await payer.chequebook.balance()).totalBalance).toBe(0n);

      // It knows that its cheques are worth nothing: it pays by time, and no peer refuses it.
      const promised = async () => {
        const all = await Promise.all(
          net.nodes.filter((node) => node !== payer).map((node) => chequesWith(node, payer)),
        );
        return all.map(({ received }) => received);
      };
      const before = await promised();
      await spend(net, payer, ON_TIME_ALONE);
      expect(await promised()).toEqual(before);
      for (const node of net.nodes)
        expect([node.name, await node.client.blocklist()]).toEqual([node.name, []]);
      expect(await net.meshed()).toEqual({ links: 12, expected: 12 });

      // The cheque stays valid for the unpaid rest.
      const total = before.reduce((sum, amount) => sum + amount, 0n);
      await net.chain.fund(chequebook, { tokens: 100n * total });
      expect(await cash(payee, payer)).toBe(sent - left);
      await provoke(net, payer, payee);
      await mirrored(net);
      const { sent: next } = await chequesWith(payer, payee);
      expect(await cash(payee, payer)).toBe(next - sent);
    },
    BOUNCED_MS,
  );

  test('our nodes have logged no error', async () => {
    expect(await ownErrors(net)).toEqual([]);
  });
});
