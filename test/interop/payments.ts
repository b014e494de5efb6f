import { expect } from 'vitest';
import { seededRandom } from '../../formats/random.ts';
import type { Cashout } from '../../harness/client/money-types.ts';
import { type Books, violations } from '../../harness/cluster/books/books.ts';
import { readBooks } from '../../harness/cluster/books/read-books.ts';
import type { Cluster } from '../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../harness/cluster/nodes/cluster-node.ts';
import { eventually } from './kit.ts';

/** Far more than time forgives meanwhile. */
export const SPENT = 2 ** 20;
/** On a loaded machine; credit is the public network's. */
export const SPEND_MS = 300_000;
export const MINED_MS = 120_000;
const PROVOKED_MAX = 20;

let turn = 0;

/** The node stores something with the others. */
export async function spend(net: Cluster, node: ClusterNode, size = SPENT): Promise<void> {
  const data = seededRandom('money', `${net.seed} ${node.name} ${turn++}`).bytes(size);
  const { reference } = await node.bytes.upload(data, { redundancyLevel: 0 });
  await net.synced(reference, { timeoutMs: SPEND_MS });
}

interface Paid {
  /** Token units, cumulative. */
  readonly sent: bigint;
  readonly received: bigint;
}

export const NOTHING: Paid = { sent: 0n, received: 0n };

export async function paidWith(
  { client }: ClusterNode,
  { overlay }: ClusterNode,
  by: 'settlements' | 'timeSettlements',
): Promise<Paid> {
  return (await client[by]()).settlements.find(({ peer }) => peer === overlay) ?? NOTHING;
}

export async function chequesWith({ chequebook }: ClusterNode, { overlay }: ClusterNode): Promise<Paid> {
  const cheques = (await chequebook.cheques()).find(({ peer }) => peer === overlay);
  return { sent: cheques?.sent?.payout ?? 0n, received: cheques?.received?.payout ?? 0n };
}

export function provoke(net: Cluster, payer: ClusterNode, payee: ClusterNode): Promise<void> {
  return spendUntilPaid(net, { payer, payee }, () => chequesWith(payer, payee));
}

/** By time: unless the payee runs up a debt of its own. */
export function provokeByTime(net: Cluster, payer: ClusterNode, payee: ClusterNode): Promise<void> {
  return spendUntilPaid(net, { payer, payee }, () => paidWith(payer, payee, 'timeSettlements'));
}

async function spendUntilPaid(
  net: Cluster,
  { payer, payee }: Readonly<Record<'payer' | 'payee', ClusterNode>>,
  paid: () => Promise<Paid>,
): Promise<void> {
  const { sent: before } = await paid();
  for (let tries = 0; tries < PROVOKED_MAX; tries++) {
    await spend(net, payer);
    if ((await paid()).sent > before) return;
  }
  throw new Error(`${payer.name} has not paid ${payee.name} for ${PROVOKED_MAX} MiB`);
}

/**
 * Both ends of every link must count the same, and nothing may be lost or made. On a loaded machine a chunk sent to a second
 * peer is on its way for a while after its upload.
 * @returns the books
 */
export async function mirrored(net: Cluster, before?: Books): Promise<Books> {
  await net.settled({ timeoutMs: MINED_MS });
  let books: Books | undefined;
  const probe = async () => {
    books = await readBooks(net);
    return violations(books, before);
  };
  await eventually('the books do not agree', probe, (found) => found.length === 0);
  return books as Books;
}

/** Waits until it is mined. @returns the outcome */
export async function present(
  payee: ClusterNode,
  payer: ClusterNode,
): Promise<NonNullable<Cashout['result']>> {
  const hash = await payee.chequebook.cash(payer.overlay);
  const { result, transactionHash, uncashedAmount } = await eventually(
    `${payee.name} has not cashed`,
    () => payee.chequebook.cashout(payer.overlay),
    (seen) => seen.transactionHash === hash && seen.result !== undefined,
  );
  expect(transactionHash).toBe(hash);
  expect(result).toMatchObject({ recipient: await payee.chequebook.address() });
  // A presented cheque no longer counts, whatever it paid.
  expect(uncashedAmount).toBe(0n);
  return result as NonNullable<Cashout['result']>;
}

/** For a covered cheque. @returns the payout */
export async function cash(payee: ClusterNode, payer: ClusterNode): Promise<bigint> {
  const { lastPayout, bounced } = await present(payee, payer);
  expect(bounced).toBe(false);
  return lastPayout;
}
