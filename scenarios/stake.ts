import type { ClusterNode } from 'svcnet';
import { defineScenario, parameter, type ScenarioContext } from 'svcnet/scenario';
import { checkBooks, expectRefusal, minedOf } from './steps/money.ts';
import { chosenNode } from './steps/steps.ts';

const parameters = {
  amount: parameter('text', '100000000000000000', 'token units to stake, at least 10^17'),
  insufficient: parameter('integer', 102_400, 'token units that are too few for a stake', { min: 1 }),
  node: parameter('node', '', 'node that stakes; the first one when empty'),
};
type Context = ScenarioContext<typeof parameters>;

export default defineScenario({
  name: 'stake',
  group: 'economics',
  about:
    'Stakes, adds to the stake, withdraws the surplus, and recovers the whole stake from a paused contract.',
  parameters,
  needs: { nodes: 1, control: true },
  cluster: { nodes: 1 },
  timeoutMs: 180_000,
  async run(context) {
    const node = chosenNode(context, context.parameters.node);
    if ((await node.stake.staked(context.signal)) > 0n) context.skip(`${node.name} has a stake already`);
    const { chain } = context.cluster;
    if ((await chain.view(chain.contracts.stakeRegistry, 'paused()')) !== 0n)
      context.skip('the contract of stakes is paused');
    const { storagePrice } = await chain.batchTerms();
    // The price decides a stake's commitment.
    await chain.setStoragePrice(2n * storagePrice);
    try {
      await tooLittle(context, node);
      await deposit(context, node);
      await chain.setStoragePrice(storagePrice);
      await surplus(context, node);
      await migrate(context, node);
    } finally {
      await chain.setStoragePrice(storagePrice);
    }
    await checkBooks(context);
  },
});

interface Purse {
  readonly staked: bigint;
  readonly tokens: bigint;
}

async function purseOf(context: Context, node: ClusterNode): Promise<Purse> {
  const { signal } = context;
  const { tokenBalance } = await node.wallet.balances(signal);
  return { staked: await node.stake.staked(signal), tokens: tokenBalance };
}

function expectMoved(context: Context, what: string, before: Purse, after: Purse, amount: bigint): void {
  const staked = after.staked - before.staked;
  const spent = before.tokens - after.tokens;
  context.expect(
    `${what}: stake and account change by the same amount`,
    staked === amount && spent === amount,
    {
      observed: `stake ${staked}, account ${-spent}`,
      expected: `stake ${amount}, account ${-amount}`,
    },
  );
}

function tooLittle(context: Context, node: ClusterNode): Promise<void> {
  return context.step('too little', async () => {
    const { insufficient } = context.parameters;
    const before = await purseOf(context, node);
    await expectRefusal(context, 'a stake below the minimum', 400, () =>
      node.stake.deposit(BigInt(insufficient), context.signal),
    );
    expectMoved(context, 'refused', before, await purseOf(context, node), 0n);
  });
}

function deposit(context: Context, node: ClusterNode): Promise<void> {
  return context.step('stake', async (progress) => {
    const amount = BigInt(context.parameters.amount);
    const put = async (what: string, units: bigint) => {
      const before = await purseOf(context, node);
      const work = async () => minedOf(context, await node.stake.deposit(units, context.signal));
      const { gasUsed } = await context.measure({ operation: what, node: node.name }, work, () => 0);
      expectMoved(context, what, before, await purseOf(context, node), units);
      context.figure({ name: `gas of ${what}`, of: node.name, value: gasUsed.toString(), unit: 'gas' });
    };
    await put('stake', amount);
    await put('one unit more', 1n);
    const { chain } = context.cluster;
    const stored = await chain.words(chain.contracts.stakeRegistry, 'stakes(address)', [
      `0x${node.ethereum}`,
    ]);
    context.expect('the chain records the overlay of the node', stored[0] === BigInt(`0x${node.overlay}`), {
      observed: stored[0]?.toString(16),
      expected: node.overlay,
    });
    progress.detail(`${amount} + 1 token units`);
  });
}

function surplus(context: Context, node: ClusterNode): Promise<void> {
  return context.step('surplus', async (progress) => {
    const { signal } = context;
    const { chain } = context.cluster;
    const before = await purseOf(context, node);
    const effective = await chain.view(chain.contracts.stakeRegistry, 'nodeEffectiveStake(address)', [
      `0x${node.ethereum}`,
    ]);
    const free = await node.stake.withdrawable(signal);
    context.expect('withdrawable is what the commitment does not need', free === before.staked - effective, {
      observed: free,
      expected: before.staked - effective,
    });
    context.expect(
      'half the price makes about half of the stake withdrawable',
      free * 2n >= before.staked - 1n,
      {
        observed: free,
        expected: `at least ${before.staked / 2n}`,
      },
    );
    await minedOf(context, await node.stake.withdrawSurplus(signal));
    expectMoved(context, 'withdrawal', before, await purseOf(context, node), -free);
    await expectRefusal(context, 'a withdrawal of nothing', 400, () => node.stake.withdrawSurplus(signal));
    context.figure({ name: 'surplus', of: node.name, value: free.toString(), unit: 'token units' });
    progress.detail(`${free} token units`);
  });
}

function migrate(context: Context, node: ClusterNode): Promise<void> {
  return context.step('migrate', async () => {
    const { signal } = context;
    const { chain } = context.cluster;
    const before = await purseOf(context, node);
    await expectRefusal(context, 'migrating from a contract that runs', 400, () =>
      node.stake.migrate(signal),
    );
    expectMoved(context, 'refused', before, await purseOf(context, node), 0n);
    await chain.pauseContract('stakeRegistry');
    try {
      const work = async () => minedOf(context, await node.stake.migrate(signal));
      await context.measure({ operation: 'migrate', node: node.name }, work, () => 0);
      const after = await purseOf(context, node);
      expectMoved(context, 'migration', before, after, -before.staked);
      context.expect('no stake is left', after.staked === 0n, {
        observed: after.staked,
        expected: 0n,
      });
    } finally {
      await chain.resumeContract('stakeRegistry');
    }
  });
}
