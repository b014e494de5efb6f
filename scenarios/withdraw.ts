import { ClientError, type ClusterNode } from 'svcnet';
import { defineScenario, parameter, type ScenarioContext } from 'svcnet/scenario';
import { AWAY, checkBooks, expectRefusal, minedOf } from './steps/money.ts';
import { chosenNode } from './steps/steps.ts';

const STRANGER = 'decaf0000000000000000000000000000decaf01';
const NOBODY = '0'.repeat(40);

const parameters = {
  amount: parameter('integer', 1_000_000, 'base units to withdraw of each currency', { min: 1 }),
  deposit: parameter('integer', 10 ** 15, 'token units to move into the chequebook and back', { min: 1 }),
  node: parameter('node', '', 'node that withdraws; the first one when empty'),
};
type Context = ScenarioContext<typeof parameters>;

export default defineScenario({
  name: 'withdraw',
  group: 'economics',
  about:
    'Withdraws a node’s coins and tokens, moves tokens into its chequebook and back, and accounts for every unit.',
  parameters,
  needs: { nodes: 1, started: true },
  cluster: { nodes: 2, options: { 'withdrawal-addresses-whitelist': [`0x${AWAY}`] } },
  timeoutMs: 120_000,
  async run(context) {
    const node = chosenNode(context, context.parameters.node);
    await withdraw(context, node, 'native');
    await withdraw(context, node, 'token');
    await refusals(context, node);
    await chequebook(context, node);
    await checkBooks(context);
  },
});

/** The account has less by the amount and the transaction's gas. */
function withdraw(context: Context, node: ClusterNode, coin: 'native' | 'token'): Promise<void> {
  return context.step(`withdraw ${coin}`, async (progress) => {
    const { signal } = context;
    const { chain } = context.cluster;
    const amount = BigInt(context.parameters.amount);
    const holding = (address: string) =>
      coin === 'native' ? chain.nativeBalance(address) : chain.tokenBalance(address);
    const before = await node.wallet.balances(signal);
    const target = await holding(AWAY);
    const { fee } = await context.measure(
      { operation: `withdraw ${coin}`, node: node.name },
      async () => minedOf(context, await send(context, node, coin, amount)),
      () => 0,
    );
    const after = await node.wallet.balances(signal);
    const arrived = (await holding(AWAY)) - target;
    context.expect(`${coin}: exactly the amount arrives`, arrived === amount, {
      observed: arrived,
      expected: amount,
    });
    const native = before.nativeBalance - after.nativeBalance;
    const spent = coin === 'native' ? amount + fee : fee;
    context.expect(`${coin}: the coins of ${node.name} fall by what was sent and the fee`, native === spent, {
      observed: native,
      expected: spent,
    });
    const tokens = before.tokenBalance - after.tokenBalance;
    const paid = coin === 'native' ? 0n : amount;
    context.expect(`${coin}: the tokens of ${node.name} fall by what was sent`, tokens === paid, {
      observed: tokens,
      expected: paid,
    });
    context.figure({
      name: `fee of a ${coin} withdrawal`,
      of: node.name,
      value: fee.toString(),
      unit: 'wei',
    });
    progress.detail(`${amount} units to ${AWAY.slice(0, 8)}`);
  });
}

/** @returns transaction hash; a node that may not send there is unsuitable */
async function send(
  context: Context,
  node: ClusterNode,
  coin: 'native' | 'token',
  amount: bigint,
): Promise<string> {
  try {
    return await node.wallet.withdraw(coin, { amount, to: AWAY }, context.signal);
  } catch (error) {
    if (!(error instanceof ClientError) || !error.message.includes('whitelist')) throw error;
    return context.skip(`${node.name} needs the option withdrawal-addresses-whitelist with 0x${AWAY}`);
  }
}

function refusals(context: Context, node: ClusterNode): Promise<void> {
  return context.step('refusals', async () => {
    const { signal } = context;
    const before = await node.wallet.balances(signal);
    for (const coin of ['native', 'token'] as const) {
      const to = (address: string, amount: bigint) => () =>
        node.wallet.withdraw(coin, { amount, to: address }, signal);
      const all = coin === 'native' ? before.nativeBalance : before.tokenBalance;
      await expectRefusal(context, `${coin} to nobody`, 400, to(NOBODY, 1n));
      await expectRefusal(context, `${coin} to an address that is not allowed`, 400, to(STRANGER, 1n));
      await expectRefusal(context, `more ${coin} than there is`, 400, to(AWAY, all + 1n));
    }
    const after = await node.wallet.balances(signal);
    const same = after.nativeBalance === before.nativeBalance && after.tokenBalance === before.tokenBalance;
    context.expect('a refusal costs nothing', same, {
      observed: `${after.nativeBalance} coins, ${after.tokenBalance} tokens`,
      expected: `${before.nativeBalance} coins, ${before.tokenBalance} tokens`,
    });
  });
}

function chequebook(context: Context, node: ClusterNode): Promise<void> {
  return context.step('chequebook', async (progress) => {
    const { signal } = context;
    const amount = BigInt(context.parameters.deposit);
    const { chequebookEnabled } = await node.client.node(signal);
    if (!chequebookEnabled) return progress.detail(`${node.name} has none`);
    const read = async () => {
      const { totalBalance, availableBalance } = await node.chequebook.balance(signal);
      const { tokenBalance } = await node.wallet.balances(signal);
      return { totalBalance, availableBalance, tokenBalance };
    };
    const move = async (what: 'deposit' | 'withdraw', sign: bigint) => {
      const before = await read();
      const work = async () => minedOf(context, await node.chequebook[what](amount, signal));
      await context.measure({ operation: `chequebook ${what}`, node: node.name }, work, () => 0);
      const after = await read();
      const moved = [
        after.totalBalance - before.totalBalance,
        after.availableBalance - before.availableBalance,
        before.tokenBalance - after.tokenBalance,
      ];
      context.expect(
        `chequebook ${what}: total, available and account change by the amount`,
        moved.every((change) => change === sign * amount),
        { observed: moved.join(', '), expected: `${sign * amount} three times` },
      );
    };
    await move('deposit', 1n);
    await move('withdraw', -1n);
    const { availableBalance, tokenBalance } = await read();
    await expectRefusal(context, 'a deposit of more than the account has', 400, () =>
      node.chequebook.deposit(tokenBalance + 1n, signal),
    );
    await expectRefusal(context, 'a withdrawal of more than is available', 400, () =>
      node.chequebook.withdraw(availableBalance + 1n, signal),
    );
    progress.detail(`${amount} units in and out`);
  });
}
