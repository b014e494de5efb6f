import { type Cashout, type Cheque, type ClusterNode, HarnessError } from 'svcnet';
import { defineScenario, fromHex, parameter, type ScenarioContext, until } from 'svcnet/scenario';
import { cashAndWait, checkBooks, needCheques, settle, uploadPaid } from './steps/money.ts';
import { batchOf, chosenNode, inTime, missingOf, otherNodes } from './steps/steps.ts';

const parameters = {
  size: parameter('size', 2 ** 21, 'size of the upload that is paid for', { min: 1 }),
  node: parameter('node', '', 'node whose cheques bounce; the first one when empty'),
  beneficiaries: parameter('integer', 3, 'number of peers that hold its cheques', { min: 2 }),
};
type Context = ScenarioContext<typeof parameters>;

/** More than an insolvent node may owe. */
const CREDIT_SIZE = 2 ** 20;
/** Until no node lends any more. */
const INDEBTED_WITHIN_MS = 30_000;
const SYNCED_WITHIN_MS = 120_000;
const DEPOSITED_WITHIN_MS = 30_000;
/** Of a chequebook's withdrawal. */
const GAS = 95_000;

interface Held {
  readonly beneficiary: ClusterNode;
  readonly cheque: Cheque;
  readonly due: bigint;
}

export default defineScenario({
  name: 'bounced-cheque',
  group: 'chaos',
  about:
    'Empties a chequebook after it has issued cheques, then checks who is paid, who learns of the bounce and who is compensated.',
  parameters,
  needs: { nodes: 4, control: true },
  cluster: { nodes: 4, credit: 'low' },
  timeoutMs: 300_000,
  async run(context) {
    const issuer = chosenNode(context, context.parameters.node);
    await needCheques(context, issuer, context.parameters.size);
    await context.step('provoke', () =>
      uploadPaid(context, issuer, { name: 'data', size: context.parameters.size }),
    );
    await settle(context);
    const before = await checkBooks(context);
    const held = await holders(context, issuer);
    const { left, withdrawn } = await drain(context, issuer, held);
    await bounce(context, issuer, held, left);
    const tag = await refuse(context, issuer);
    await settle(context);
    await makeWhole(context, issuer, held);
    await refill(context, issuer, withdrawn);
    await serveAgain(context, issuer, tag);
    await checkBooks(context, { before });
  },
});

/** In the order in which they will cash. */
async function holders(context: Context, issuer: ClusterNode): Promise<Held[]> {
  const { signal, cluster, parameters: given } = context;
  const peers = otherNodes(cluster.nodes, issuer);
  const held: Held[] = [];
  for (const beneficiary of peers) {
    // Without peers that never exchanged a cheque with the issuer.
    const cheques = await beneficiary.chequebook.cheques(signal);
    const received = cheques.find(({ peer }) => peer === issuer.overlay)?.received;
    if (received === undefined) continue;
    const { uncashedAmount: due } = await beneficiary.chequebook.cashout(issuer.overlay, signal);
    held.push({ beneficiary, cheque: received, due });
  }
  context.expect('enough peers hold a cheque', held.length >= given.beneficiaries, {
    observed: held.length,
    expected: given.beneficiaries,
  });
  return held.slice(0, given.beneficiaries);
}

function keyOf(context: Context, { name, privateKey }: ClusterNode): Uint8Array {
  if (privateKey === undefined)
    context.skip(`the private key of ${name} is not known: name it in the network file`);
  return fromHex(privateKey);
}

/**
 * The owner uses the account's key behind the back of its node, which would refuse.
 * @returns what was taken, and what is left: enough for the first cheque and half of the second
 */
function drain(
  context: Context,
  issuer: ClusterNode,
  held: readonly Held[],
): Promise<{ withdrawn: bigint; left: bigint }> {
  return context.step('drain', async (progress) => {
    const { cluster, signal } = context;
    const { chain } = cluster;
    const [first, second] = held;
    if (first === undefined || second === undefined)
      throw new HarnessError('NODE_STATE', 'there are no two cheques');
    const left = first.due + second.due / 2n;
    const chequebook = first.cheque.chequebook;
    const withdrawn = (await chain.tokenBalance(chequebook)) - left;
    await chain.send(
      keyOf(context, issuer),
      { to: chequebook, signature: 'withdraw(uint256)', values: [withdrawn], gas: GAS },
      signal,
    );
    const total = held.reduce((sum, { due }) => sum + due, 0n);
    context.figure({
      name: 'promised and not paid',
      of: issuer.name,
      value: total.toString(),
      unit: 'token units',
    });
    context.figure({
      name: 'left in the chequebook',
      of: issuer.name,
      value: left.toString(),
      unit: 'token units',
    });
    progress.detail(`${left} token units left for cheques over ${total}`);
    return { withdrawn, left };
  });
}

/** First come, first served: in full, in part, and not at all; who gets less is told. */
function bounce(context: Context, issuer: ClusterNode, held: readonly Held[], left: bigint): Promise<void> {
  return context.step('bounce', async (progress) => {
    const { chain } = context.cluster;
    let rest = left;
    for (const { beneficiary, cheque, due } of held) {
      const paid = due < rest ? due : rest;
      rest -= paid;
      const seen = await cashAndWait(context, beneficiary, issuer);
      // `uncashedAmount` excludes a presented cheque, whatever it paid.
      const expected = { lastPayout: paid, bounced: paid < due };
      const holds =
        seen.result?.lastPayout === expected.lastPayout && seen.result.bounced === expected.bounced;
      context.expect(`${beneficiary.name} is paid what is left, and learns if that is not all`, holds, {
        observed: written(seen),
        expected: `${paid}, bounced ${expected.bounced}`,
      });
      const contract = await chain.view(cheque.chequebook, 'paidOut(address)', [`0x${cheque.beneficiary}`]);
      context.expect(
        `the contract agrees on the payment to ${beneficiary.name}`,
        contract === cheque.payout - due + paid,
        {
          observed: contract,
          expected: cheque.payout - due + paid,
        },
      );
      context.figure({ name: 'paid', of: beneficiary.name, value: paid.toString(), unit: 'token units' });
      context.figure({
        name: 'not paid',
        of: beneficiary.name,
        value: (due - paid).toString(),
        unit: 'token units',
      });
    }
    const book = held[0]?.cheque.chequebook ?? '';
    const bounced = await chain.view(book, 'bounced()');
    context.expect('the chain shows the bounced cheque', bounced === 1n, {
      observed: bounced,
      expected: 1n,
    });
    progress.detail(`${held.length} cheques over more than there was`);
  });
}

function written({ result }: Cashout): string {
  return result === undefined ? 'no result' : `${result.lastPayout}, bounced ${result.bounced}`;
}

/**
 * Cheques of an empty chequebook are refused: purchases stay debts, until no node lends any more.
 * @returns the upload that waits for credit
 */
function refuse(context: Context, issuer: ClusterNode): Promise<number> {
  return context.step('no credit', async (progress) => {
    const { signal, cluster } = context;
    const received = async () => {
      const peers = otherNodes(cluster.nodes, issuer);
      const rows = await Promise.all(
        peers.map(async ({ client }) => (await client.settlements(signal)).settlements),
      );
      const own = rows.flat().filter(({ peer }) => peer === issuer.overlay);
      return own.reduce((sum, row) => sum + row.received, 0n);
    };
    const before = await received();
    const data = context.random('on credit').bytes(CREDIT_SIZE);
    const { tag } = await issuer.bytes.upload(data, { batch: batchOf(issuer), deferred: true, signal });
    if (tag === undefined) throw new HarnessError('NODE_STATE', `${issuer.name} answered without a tag`);
    const missing = await inTime(
      'somebody is owed as much as ought to be paid',
      async (aborted) => {
        const accounts = await issuer.client.accounting(aborted);
        const due = accounts.some(({ balance, thresholdReceived }) => -balance * 2n >= thresholdReceived);
        const written = accounts.map(
          ({ balance, thresholdReceived }) => `${balance} of ${thresholdReceived}`,
        );
        return due ? undefined : written.join(', ');
      },
      { cluster, timeoutMs: INDEBTED_WITHIN_MS, signal },
    );
    context.expect('what the node buys stays a debt', missing === undefined, {
      observed: missing ?? 'it owes what ought to be paid',
      expected: 'a debt of half the threshold',
    });
    const after = await received();
    context.expect('no peer accepts another of its cheques', after === before, {
      observed: after,
      expected: before,
    });
    const alive = await issuer.client.health(signal);
    context.expect('the node that cannot pay stays healthy', alive.status === 'ok', {
      observed: alive.status,
      expected: 'ok',
    });
    const { availableBalance } = await issuer.chequebook.balance(signal);
    progress.detail(`${issuer.name} has ${availableBalance} token units available`);
    return tag;
  });
}

function makeWhole(context: Context, issuer: ClusterNode, held: readonly Held[]): Promise<void> {
  return context.step('make whole', async (progress) => {
    const { cluster } = context;
    const [first] = held;
    if (first === undefined) return;
    const promised = held.reduce((sum, { due }) => sum + due, 0n);
    await cluster.chain.fund(first.cheque.chequebook, { tokens: promised });
    for (const { beneficiary, cheque } of held) {
      const paidOut = () =>
        cluster.chain.view(cheque.chequebook, 'paidOut(address)', [`0x${cheque.beneficiary}`]);
      if ((await paidOut()) < cheque.payout) await cashAndWait(context, beneficiary, issuer);
      const paid = await paidOut();
      context.expect(`${beneficiary.name} is paid in full in the end`, paid >= cheque.payout, {
        observed: paid,
        expected: `at least ${cheque.payout}`,
      });
    }
    progress.detail(`${held.length} cheques paid in full`);
  });
}

function serveAgain(context: Context, issuer: ClusterNode, tag: number): Promise<void> {
  return context.step('serve again', async (progress) => {
    const { cluster, signal } = context;
    const limits = { timeoutMs: SYNCED_WITHIN_MS, signal };
    const late = await missingOf(cluster.synced({ node: issuer.name, tag }, limits));
    context.expect('the network serves the node again once its chequebook is funded', late === undefined, {
      observed: late ?? 'the upload is synced',
      expected: 'the upload is synced',
    });
    progress.detail(late ?? 'what it could not pay for is synced');
  });
}

/** Returns what was taken, so that the issuer can pay in later scenarios. */
function refill(context: Context, issuer: ClusterNode, withdrawn: bigint): Promise<void> {
  return context.step('refill', async (progress) => {
    const { cluster, signal } = context;
    const { totalBalance: before } = await issuer.chequebook.balance(signal);
    await issuer.chequebook.deposit(withdrawn, signal);
    const chequebook = await issuer.chequebook.address(signal);
    await until(
      `${issuer.name} has no deposit`,
      async () => {
        const balance = await cluster.chain.tokenBalance(chequebook);
        return balance >= before + withdrawn
          ? { done: balance }
          : { missing: `${balance} token units in its chequebook` };
      },
      { clock: cluster.clock, timeoutMs: DEPOSITED_WITHIN_MS, signal },
    );
    progress.detail(`${withdrawn} token units back in the chequebook of ${issuer.name}`);
  });
}
