import type { ClusterNode } from 'svcnet';
import { type ParameterTable, type ScenarioContext, until } from 'svcnet/scenario';
import { batchOf } from './steps.ts';

/** Milliseconds, and more on a loaded machine. */
const SETTLED_TIMEOUT_MS = 30_000;
const CASHED_TIMEOUT_MS = 60_000;
/** Costs far more than time forgives while it is pushed, unless the machine is very slow. */
const PROVOKING_SIZE = 2 ** 20;
const PROVOKED_MAX = 20;

/** The payer owes more than time forgives; the payee cashes all its cheques. */
export function cashCheque<T extends ParameterTable>(
  context: ScenarioContext<T>,
  payer: ClusterNode,
  payee: ClusterNode,
): Promise<void> {
  const { signal } = context;
  return context.step('cheque', async (progress) => {
    progress.detail(`${payer.name} (${payer.flavour}) to ${payee.name} (${payee.flavour})`);
    await provoke(context, payer, payee);
    await context.cluster.settled({ timeoutMs: SETTLED_TIMEOUT_MS, signal });
    const { uncashedAmount } = await payee.chequebook.cashout(payer.overlay, signal);
    const hash = await payee.chequebook.cash(payer.overlay, signal);
    const probe = async (aborted: AbortSignal) => {
      const { transactionHash, result } = await payee.chequebook.cashout(payer.overlay, aborted);
      return transactionHash === hash && result !== undefined ? { done: result } : { missing: hash };
    };
    const options = { clock: context.cluster.clock, timeoutMs: CASHED_TIMEOUT_MS, signal };
    const work = () => until('the cheque is not cashed', probe, options);
    const key = { operation: `cash cheque of ${payer.flavour}`, node: payee.name };
    const { lastPayout, bounced } = await context.measure(key, work, () => 0);
    const what = `${payee.name} (${payee.flavour}) cashes what ${payer.name} (${payer.flavour}) has promised`;
    context.expect(what, !bounced && lastPayout === uncashedAmount, {
      observed: bounced ? 'bounced' : lastPayout,
      expected: uncashedAmount,
    });
  });
}

async function provoke<T extends ParameterTable>(
  context: ScenarioContext<T>,
  payer: ClusterNode,
  payee: ClusterNode,
): Promise<void> {
  const { signal } = context;
  const promised = async () => {
    const { settlements } = await payer.client.settlements(signal);
    return settlements.find(({ peer }) => peer === payee.overlay)?.sent ?? 0n;
  };
  for (let tries = 0; tries < PROVOKED_MAX && (await promised()) === 0n; tries++) {
    const data = context.random(`${payer.name} provokes ${tries}`).bytes(PROVOKING_SIZE);
    const options = { batch: batchOf(payer), redundancyLevel: 0, signal };
    const { tag } = await payer.bytes.upload(data, options);
    await context.cluster.synced({ node: payer.name, tag: tag ?? 0 }, { signal });
  }
  const sent = await promised();
  context.expect(`${payer.name} pays ${payee.name} by cheque`, sent > 0n, {
    observed: sent,
    expected: 'more than nothing',
  });
}
