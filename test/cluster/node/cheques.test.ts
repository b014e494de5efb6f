import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { encodeCall, selectorOf } from '../../../formats/ethereum/abi.ts';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../../harness/cluster/nodes/cluster-node.ts';
import { until } from '../../../harness/scenario.ts';
import { bytesOf, eventuallyIn, http, metric, stateFolder } from './kit.ts';

const stateDir = stateFolder();
const DEPOSIT = 10n ** 15n;
/** Several times what a peer lends. */
const CHUNKS = 150;
/**
 * Two dozen chunks are more than a peer lends, and more than a second forgives. A node that leaves with a debt is refused
 * until time would have forgiven it: some ten seconds here.
 */
const CREDIT = {
  'payment-threshold': 8_000_000,
  'refresh-rate': 1_000_000,
  'payment-minimum': 100_000,
  'payment-retry-pause': '1s',
};
/** Such a node is refused for a while. */
const KILLED_MS = 150_000;
let net: Cluster;
const eventually = eventuallyIn(() => net);

beforeAll(async () => {
  net = await Cluster.start({
    nodes: [{ count: 3, options: CREDIT }],
    driver: 'simulated',
    seed: 21,
    stateDir,
    swap: { deposit: DEPOSIT },
    chain: { blockTime: '200ms', gate: true },
  });
});
afterAll(async () => {
  await net.stop();
});

let uploads = 0;

/** Nothing is being pushed when it is over. */
async function traffic(from: ClusterNode, chunks = CHUNKS): Promise<void> {
  expect((await upload(from, chunks)).status).toBe(201);
}

function upload(from: ClusterNode, chunks = CHUNKS) {
  const headers = {
    'svc-postage-batch-id': from.batch ?? '',
    'svc-deferred-upload': 'false',
    'content-type': 'application/octet-stream',
  };
  const body = bytesOf(`cheques ${uploads++}`, chunks * 4096);
  return http(from, '/bytes', { method: 'POST', headers, body });
}

interface Link {
  readonly from: ClusterNode;
  readonly to: ClusterNode;
  readonly sent: bigint;
  readonly received: bigint;
}

async function settled(node: ClusterNode, peer: ClusterNode): Promise<{ sent: bigint; received: bigint }> {
  const answer = await http(node, `/settlements/${peer.overlay}`);
  if (answer.status === 404) return { sent: 0n, received: 0n };
  // A payout may be too large for a double.
  const text = Buffer.from(answer.body).toString();
  const digits = (name: string) => BigInt(new RegExp(`"${name}":(\\d+)`).exec(text)?.[1] ?? '-1');
  return { sent: digits('sent'), received: digits('received') };
}

/** With what each side says about it. */
async function links(): Promise<Link[]> {
  const all: Link[] = [];
  for (const from of net.nodes) {
    for (const to of net.nodes) {
      if (from === to) continue;
      const { sent } = await settled(from, to);
      const { received } = await settled(to, from);
      all.push({ from, to, sent, received });
    }
  }
  return all;
}

const payouts = (all: readonly Link[]) => all.map(({ sent }) => sent).join();

/** Both sides of every link must say the same, twice, and a node must have paid at least `least`. */
async function agreed(from: ClusterNode, least = 1n): Promise<Link[]> {
  let seen: Link[] = [];
  await eventually('the cheques', async () => {
    const before = payouts(seen);
    seen = await links();
    if (payouts(seen) !== before) return `they still change: ${payouts(seen)}`;
    const odd = seen.find(({ sent, received }) => sent !== received);
    if (odd !== undefined)
      return `${odd.from.name} → ${odd.to.name}: ${odd.sent} sent, ${odd.received} received`;
    const paid = sum(seen.filter((link) => link.from === from).map(({ sent }) => sent));
    return paid >= least ? undefined : `${from.name} has paid ${paid} of ${least}`;
  });
  return seen;
}

const sum = (amounts: readonly bigint[]) => amounts.reduce((total, amount) => total + amount, 0n);

const bookOf = (node: ClusterNode) => node.chequebook.address();
const paidOut = async (from: ClusterNode, to: ClusterNode) =>
  net.chain.view(await bookOf(from), 'paidOut(address)', [`0x${to.ethereum}`]);
const tokensOf = async (node: ClusterNode) => net.chain.tokenBalance(await bookOf(node));

async function cash(node: ClusterNode, peer: ClusterNode) {
  const hash = await node.chequebook.cash(peer.overlay);
  await eventually('the cashing', async () => {
    const { transactionHash, result } = await node.chequebook.cashout(peer.overlay);
    return transactionHash === hash && result !== undefined ? undefined : 'it is not mined';
  });
  const status = await node.chequebook.cashout(peer.overlay);
  if (status.result === undefined) throw new Error('there is no result');
  return { ...status, result: status.result };
}

describe('a node with large debts', () => {
  let payer: ClusterNode;
  let payees: readonly ClusterNode[];

  beforeAll(() => {
    [payer, ...payees] = net.nodes as [ClusterNode, ...ClusterNode[]];
  });

  test('has a chequebook with its deposit, and reports that it settles by cheque', async () => {
    for (const node of net.nodes) {
      expect((await http(node, '/node')).json).toMatchObject({ chequebookEnabled: true, swapEnabled: true });
      expect(await node.chequebook.balance()).toEqual({ totalBalance: DEPOSIT, availableBalance: DEPOSIT });
      expect((await http(node, '/wallet')).json['chequebookContractAddress']).toBe(await bookOf(node));
    }
    expect((await http(payer, `/chequebook/cheque/${net.node(1).overlay}`)).status).toBe(404);
    expect((await http(payer, '/chequebook/cheque')).json).toEqual({ lastcheques: [] });
  });

  test('pays by cheque, and both sides have equal accounts', async () => {
    await traffic(payer);
    const seen = await agreed(payer);
    const sent = sum(seen.filter(({ from }) => from === payer).map((link) => link.sent));
    expect((await payer.chequebook.balance()).availableBalance).toBe(DEPOSIT - sent);
    expect((await payer.chequebook.balance()).totalBalance).toBe(DEPOSIT);
    for (const { to, sent: payout } of seen.filter((link) => link.from === payer && link.sent > 0n)) {
      const ours = (await payer.chequebook.cheque(to.overlay)).sent;
      expect(ours).toEqual((await to.chequebook.cheque(payer.overlay)).received);
      expect(ours).toEqual({ beneficiary: to.ethereum, chequebook: await bookOf(payer), payout });
    }
  });

  test('is cashed to the last unit into the chequebook of the payee, and a second cashing pays nothing', async () => {
    const seen = await agreed(payer);
    const { to: payee, sent: payout } = seen.find(({ from, sent }) => from === payer && sent > 0n)!;
    expect((await payee.chequebook.cashout(payer.overlay)).uncashedAmount).toBe(payout);
    const [before, own] = [await tokensOf(payer), await tokensOf(payee)];
    const first = await cash(payee, payer);
    expect(first.result).toEqual({ recipient: await bookOf(payee), lastPayout: payout, bounced: false });
    expect(first.uncashedAmount).toBe(0n);
    expect([await tokensOf(payer), await tokensOf(payee)]).toEqual([before - payout, own + payout]);
    expect(await paidOut(payer, payee)).toBe(payout);
    const second = await cash(payee, payer);
    expect(second.result).toMatchObject({ lastPayout: 0n, bounced: false });
    expect(await tokensOf(payer)).toBe(before - payout);
    const issued = sum(seen.filter(({ from }) => from === payer).map((link) => link.sent));
    expect((await payer.chequebook.balance()).availableBalance).toBe(DEPOSIT - issued);
    const other = payees.find((node) => node !== payee)!;
    expect((await http(payer, `/chequebook/cashout/${payee.overlay}`)).status).toBe(404);
    expect((await http(other, '/chequebook/cheque')).status).toBe(200);
  });

  test('deposits and withdraws, but not what it has promised', async () => {
    const { availableBalance, totalBalance } = await payer.chequebook.balance();
    await payer.chequebook.deposit(1_000n);
    const holds = (expected: bigint) =>
      eventually('the chequebook', async () => {
        const { availableBalance: now } = await payer.chequebook.balance();
        return now === expected ? undefined : `${now} available, expected ${expected}`;
      });
    await holds(availableBalance + 1_000n);
    const tooMuch = await http(payer, `/chequebook/withdraw?amount=${availableBalance + 1_001n}`, {
      method: 'POST',
    });
    expect([tooMuch.status, tooMuch.json['message']]).toEqual([400, 'insufficient funds']);
    const wallet = await net.chain.tokenBalance(payer.ethereum);
    await payer.chequebook.withdraw(1_000n);
    await holds(availableBalance);
    expect(await net.chain.tokenBalance(payer.ethereum)).toBe(wallet + 1_000n);
    expect((await payer.chequebook.balance()).totalBalance).toBe(totalBalance);
    const poor = await http(payer, `/chequebook/deposit?amount=${wallet * 2n}`, { method: 'POST' });
    expect([poor.status, poor.json['message']]).toEqual([400, 'insufficient funds']);
  });

  test('keeps its cheques over a restart of both sides, and continues from them', async () => {
    const before = await agreed(payer);
    for (const node of net.nodes) await node.stop();
    for (const node of net.nodes) await node.start();
    await net.meshed();
    expect((await links()).map(({ sent, received }) => [sent, received])).toEqual(
      before.map(({ sent, received }) => [sent, received]),
    );
    await traffic(payer);
    const paid = sum(before.filter(({ from }) => from === payer).map(({ sent }) => sent));
    const after = await agreed(payer, paid + 1n);
    for (const [i, { sent }] of after.entries()) expect(sent).toBeGreaterThanOrEqual(before[i]!.sent);
  });
});

/** How long both sides try one payment. */
const PAYMENT_MS = 30_000;

describe('a payee that cannot see the chain', () => {
  test('refuses cheques and says so, and the debt is paid once when the chain is back', async () => {
    const [payer, ...payees] = net.nodes as [ClusterNode, ...ClusterNode[]];
    await traffic(payer);
    const before = await agreed(payer);
    for (const { name } of payees) await net.chain.setRpcFault({ kind: 'down' }, name);
    // Less than what is lent and forgiven.
    await traffic(payer, 60);
    const given = async () => {
      const refused = await Promise.all(
        payees.map((node) => metric({ api: node.debug ?? '' }, 'swap_cheques_rejected')),
      );
      if (!refused.some((count) => count > 0)) return 'none was refused';
      const failed = await metric({ api: payer.debug ?? '' }, 'accounting_payment_error_count');
      return failed > 0 ? undefined : 'the payer still waits';
    };
    await eventually('a cheque was given up', given, 2 * PAYMENT_MS);
    for (const payee of payees) {
      const known = before.find(({ from, to }) => from === payer && to === payee)?.received;
      expect((await settled(payee, payer)).received).toBe(known);
    }
    for (const { name } of payees) await net.chain.setRpcFault({ kind: 'none' }, name);
    await traffic(payer);
    const after = await agreed(payer);
    for (const payee of payees) {
      const paid = after.find(({ from, to }) => from === payer && to === payee)?.received;
      const known = before.find(({ from, to }) => from === payer && to === payee)?.received;
      expect(paid).toBeGreaterThan(known!);
    }
  });
});

describe('kill -9', () => {
  test.each([300, 900])(
    'of the payer after %i ms of traffic leaves no cheque unknown to the payer',
    async (afterMs) => {
      const payer = net.node(0);
      const paying = upload(payer).then(
        ({ status }) => status,
        ({ code }: { code?: string }) => code,
      );
      await net.clock.sleep(afterMs);
      await payer.kill();
      expect([201, 'UND_ERR_SOCKET', 'ECONNRESET']).toContain(await paying);
      await payer.start();
      await together();
      // A cheque that was recorded but not sent is handed over now.
      await agreed(payer);
    },
  );

  test('of the payee keeps accepted cheques, which can be cashed', async () => {
    const [, payer, payee] = net.nodes as [ClusterNode, ClusterNode, ClusterNode];
    await traffic(payer);
    const { received: before } = await settled(payee, payer);
    const paying = upload(payer);
    await net.clock.sleep(600);
    await payee.kill();
    expect([201, 500]).toContain((await paying).status);
    await payee.start();
    await together();
    await agreed(payer);
    const { received } = await settled(payee, payer);
    expect(received).toBeGreaterThanOrEqual(before);
    expect(received).toBeGreaterThan(0n);
    expect((await cash(payee, payer)).result.lastPayout).toBe(received);
    expect(await paidOut(payer, payee)).toBe(received);
  });

  function together(): Promise<true> {
    return until<true>(
      'all nodes together again',
      async () => {
        const counts = await Promise.all(
          net.nodes.map(async (node) => {
            const { peers } = (await http(node, '/peers')).json as { peers: unknown[] };
            return peers.length;
          }),
        );
        return counts.every((count) => count === net.nodes.length - 1)
          ? { done: true }
          : { missing: `they have ${counts.join(', ')} peers` };
      },
      { timeoutMs: KILLED_MS, clock: net.clock },
    );
  }
});

describe('a chequebook whose tokens are gone', () => {
  test('bounces: the payee gets what is there, notices it, and gets the rest when there are tokens again', async () => {
    const payer = net.node(0);
    await traffic(payer);
    const seen = await agreed(payer);
    const open = await Promise.all(
      seen
        .filter(({ from, received }) => from === payer && received > 0n)
        .map(async (link) => ({ ...link, open: link.received - (await paidOut(payer, link.to)) })),
    );
    const { to: payee, open: claim } = open.sort((a, b) => (a.open < b.open ? 1 : -1))[0]!;
    expect(claim).toBeGreaterThan(10n);
    const book = await bookOf(payer);
    const rest = claim / 3n;
    await asIssuer(payer, book, (await tokensOf(payer)) - rest);
    expect((await payer.chequebook.balance()).totalBalance).toBe(rest);
    const bounced = await cash(payee, payer);
    expect(bounced.result).toMatchObject({ lastPayout: rest, bounced: true });
    expect(await tokensOf(payer)).toBe(0n);
    expect((await payer.chequebook.balance()).availableBalance).toBeLessThan(0n);
    await net.chain.fund(book, { tokens: DEPOSIT });
    expect((await cash(payee, payer)).result).toMatchObject({ lastPayout: claim - rest, bounced: false });
  });

  /** The node does not know of it. */
  async function asIssuer(node: ClusterNode, book: string, amount: bigint): Promise<void> {
    const from = `0x${node.ethereum}`;
    await net.chain.call('anvil_impersonateAccount', [from]);
    const data = encodeCall(selectorOf('withdraw(uint256)'), amount);
    await net.chain.call('eth_sendTransaction', [{ from, to: `0x${book}`, data }]);
    await net.chain.call('anvil_stopImpersonatingAccount', [from]);
    await net.chain.mine();
  }
});
