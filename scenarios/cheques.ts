import type { Cheque, ClusterNode, NodeBooks } from 'svcnet';
import { defineScenario, parameter, plural, type ScenarioContext, until } from 'svcnet/scenario';
import { cashAndWait, checkBooks, needCheques, settle, uploadPaid } from './steps/money.ts';
import { chosenNode, otherNodes } from './steps/steps.ts';

const parameters = {
  size: parameter('size', 2 ** 20, 'size of the upload that must be paid for', { min: 1 }),
  node: parameter('node', '', 'node that uploads and pays; the first one when empty'),
  'first-within': parameter('integer', 3000, 'milliseconds within which the first cheque must arrive', {
    min: 1,
    allowance: true,
  }),
  'cash-within': parameter('integer', 30, 'seconds within which a cashout must be confirmed', {
    min: 1,
    allowance: true,
  }),
};
type Context = ScenarioContext<typeof parameters>;

/** More frequent polls would influence what is measured. */
const POLL_PAUSE_MS = 20;
/** How soon a cheque appears is a separate condition. */
const FIRST_DEADLINE_MS = 60_000;

interface Received {
  readonly beneficiary: ClusterNode;
  readonly cheque: Cheque;
}

export default defineScenario({
  name: 'cheques',
  group: 'economics',
  about:
    'Runs up debts until nodes send cheques, checks that they arrive unchanged, cashes them and checks balances on the chain.',
  parameters,
  needs: { nodes: 3 },
  cluster: { nodes: 4, credit: 'low' },
  timeoutMs: 300_000,
  async run(context) {
    const issuer = chosenNode(context, context.parameters.node);
    await needCheques(context, issuer, context.parameters.size);
    await settle(context);
    const before = await checkBooks(context);
    await provoke(context, issuer);
    const nodes = await settle(context);
    const received = await receive(context, issuer, nodes);
    for (const one of received) await cash(context, issuer, one);
    for (const one of received) await cashAgain(context, issuer, one);
    await checkBooks(context, { before });
  },
});

function provoke(context: Context, issuer: ClusterNode): Promise<void> {
  return context.step('provoke', async (progress) => {
    const { size } = context.parameters;
    const already = await sentBy(issuer, context.signal);
    const { clock } = context.cluster;
    const startedAt = clock.monotonic();
    const uploaded = uploadPaid(context, issuer, { name: 'data', size });
    const first = until<number>(
      'there is no cheque',
      async (signal) => {
        const now = await sentBy(issuer, signal);
        if (now > already) return { done: clock.monotonic() - startedAt };
        return { missing: `${issuer.name} has sent cheques over ${now} token units` };
      },
      { ...context, clock, timeoutMs: FIRST_DEADLINE_MS, longestPauseMs: POLL_PAUSE_MS },
    );
    const [firstMs] = await Promise.all([first, uploaded]);
    const within = context.parameters['first-within'];
    context.expect('the first cheque comes soon', firstMs <= within, {
      observed: `${firstMs.toFixed(0)} ms`,
      expected: `at most ${within} ms`,
    });
    context.figure({ name: 'first cheque after', of: issuer.name, value: Math.round(firstMs), unit: 'ms' });
    progress.detail(`first cheque of ${issuer.name} after ${firstMs.toFixed(0)} ms`);
  });
}

async function sentBy(issuer: ClusterNode, signal: AbortSignal): Promise<bigint> {
  return (await issuer.client.settlements(signal)).totalSent;
}

/** The peers hold what the issuer has promised, cheque by cheque. */
function receive(context: Context, issuer: ClusterNode, nodes: readonly NodeBooks[]): Promise<Received[]> {
  return context.step('receive', async (progress) => {
    const { cluster, signal } = context;
    const chequebook = await issuer.chequebook.address(signal);
    const received: Received[] = [];
    for (const { peer, sent } of await issuer.chequebook.cheques(signal)) {
      const beneficiary = otherNodes(cluster.nodes, issuer).find(({ overlay }) => overlay === peer);
      if (sent === undefined || beneficiary === undefined) continue;
      const { received: held } = await beneficiary.chequebook.cheque(issuer.overlay, signal);
      const expected = { beneficiary: beneficiary.ethereum, chequebook, payout: sent.payout };
      context.expect(
        `${beneficiary.name} holds the cheque that ${issuer.name} has sent`,
        same(held, expected),
        {
          observed: written(held),
          expected: written(expected),
        },
      );
      if (held !== undefined) received.push({ beneficiary, cheque: held });
      const of = `${issuer.name} to ${beneficiary.name}`;
      context.figure({ name: 'promised', of, value: sent.payout.toString(), unit: 'token units' });
    }
    const links = nodes.find(({ name }) => name === issuer.name)?.links ?? [];
    const listed = new Set(cluster.nodes.map(({ overlay }) => overlay));
    const paid = links.filter(({ peer, chequeSent }) => chequeSent > 0n && listed.has(peer)).length;
    const elsewhere = links.filter(({ peer, chequeSent }) => chequeSent > 0n && !listed.has(peer)).length;
    if (elsewhere > 0)
      context.unchecked(`cheques that ${plural(elsewhere, 'unlisted node')} holds of ${issuer.name}`);
    context.expect('every peer that was paid holds a cheque', received.length === paid && paid > 0, {
      observed: received.length,
      expected: Math.max(1, paid),
    });
    progress.detail(`${received.length} cheques of ${issuer.name}`);
    return received;
  });
}

function same(seen: Cheque | undefined, expected: Cheque): boolean {
  return seen !== undefined && written(seen) === written(expected);
}

function written(cheque: Cheque | undefined): string {
  if (cheque === undefined) return 'none';
  return `${cheque.payout} for ${cheque.beneficiary} from ${cheque.chequebook}`;
}

function cash(context: Context, issuer: ClusterNode, { beneficiary, cheque }: Received): Promise<void> {
  return context.step(`cash ${beneficiary.name}`, async (progress) => {
    const { cluster, signal } = context;
    const { chain } = cluster;
    const name = `${beneficiary.name} cashes ${issuer.name}`;
    const paidBefore = await paidOut(context, cheque);
    const open = await beneficiary.chequebook.cashout(issuer.overlay, signal);
    const due = cheque.payout - paidBefore;
    context.expect(`${name}: the whole unpaid amount is uncashed`, open.uncashedAmount === due, {
      observed: open.uncashedAmount,
      expected: due,
    });
    const account = await recipientOf(beneficiary, signal);
    const before = await chain.tokenBalance(account);
    const book = await chain.tokenBalance(cheque.chequebook);
    const done = await cashAndWait(context, beneficiary, issuer, context.parameters['cash-within'] * 1000);
    const seen = done.result;
    context.expect(
      `${name}: the cheque is paid in full`,
      seen?.bounced === false && seen.lastPayout === due,
      {
        observed: seen === undefined ? 'no result' : `${seen.lastPayout}, bounced ${seen.bounced}`,
        expected: `${due}, bounced false`,
      },
    );
    context.expect(`${name}: nothing is left to cash`, done.uncashedAmount === 0n, {
      observed: done.uncashedAmount,
      expected: 0n,
    });
    context.expect(
      `${name}: the money goes to the chequebook or account of ${beneficiary.name}`,
      seen?.recipient === account,
      {
        observed: seen?.recipient,
        expected: account,
      },
    );
    const grown = (await chain.tokenBalance(account)) - before;
    context.expect(`${name}: the recipient gets exactly this amount`, grown === due, {
      observed: grown,
      expected: due,
    });
    const fallen = book - (await chain.tokenBalance(cheque.chequebook));
    context.expect(`${name}: the chequebook of ${issuer.name} pays exactly this amount`, fallen === due, {
      observed: fallen,
      expected: due,
    });
    const paid = await paidOut(context, cheque);
    context.expect(`${name}: the contract records the payment`, paid === cheque.payout, {
      observed: paid,
      expected: cheque.payout,
    });
    context.figure({ name: 'cashed', of: beneficiary.name, value: due.toString(), unit: 'token units' });
    progress.detail(`${due} token units of ${issuer.name}`);
  });
}

function cashAgain(context: Context, issuer: ClusterNode, { beneficiary, cheque }: Received): Promise<void> {
  return context.step(`again ${beneficiary.name}`, async () => {
    const before = await paidOut(context, cheque);
    const { result } = await cashAndWait(
      context,
      beneficiary,
      issuer,
      context.parameters['cash-within'] * 1000,
    );
    context.expect(
      `${beneficiary.name} gets nothing for cashing the same cheque again`,
      result?.lastPayout === 0n,
      {
        observed: result?.lastPayout,
        expected: 0n,
      },
    );
    const paid = await paidOut(context, cheque);
    context.expect(`${beneficiary.name} is not paid twice`, paid === before, {
      observed: paid,
      expected: before,
    });
  });
}

function paidOut({ cluster }: Context, { chequebook, beneficiary }: Cheque): Promise<bigint> {
  return cluster.chain.view(chequebook, 'paidOut(address)', [`0x${beneficiary}`]);
}

/** The node's chequebook, otherwise its account. */
async function recipientOf(node: ClusterNode, signal: AbortSignal): Promise<string> {
  const chequebook = await node.chequebook.address(signal);
  return BigInt(`0x${chequebook}`) === 0n ? node.ethereum : chequebook;
}
