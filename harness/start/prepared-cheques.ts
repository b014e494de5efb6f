/**
 * A cheque that one node has sent to another because it owed for chunks. A payer cannot be told to pay: it is made to
 * owe, by pushing chunks of which the payee is the closest node, until what time does not pay goes by cheque.
 */
import { closerTo } from '../../node/chunk/address.ts';
import { makeCac } from '../../node/chunk/cac.ts';
import { fromHex } from '../../node/crypto/hex.ts';
import { until } from '../base/wait.ts';
import type { ClusterNode } from '../nodes/cluster-node.ts';
import { seededBytes } from '../plan/seed.ts';
import type { PreparedCheque } from '../state/state.ts';
import type { StartContext } from './start-context.ts';
import { timeoutFor } from './startup-waits.ts';

/**
 * At the public network's limits a peer wants to be paid for some twenty chunks; the first time a second pays for
 * fifteen of them, and the same again goes by cheque.
 */
const CHUNKS_AT_ONCE = 64;
/** The price of a chunk does not depend on its length. */
const PAYLOAD_SIZE = 32;

interface Pair {
  readonly from: ClusterNode;
  readonly to: ClusterNode;
  /** All of the cluster. */
  readonly nodes: readonly ClusterNode[];
}

/** @throws HarnessError `WAIT_TIMEOUT`, ClientError */
export async function exchangeCheque(context: StartContext, pair: Pair): Promise<PreparedCheque> {
  const { from, to, nodes } = pair;
  const chunks = chunksFor(context.seed, pair);
  return until(
    `${from.name} and ${to.name} do not have the same cheque`,
    async (signal) => {
      const [sent, received] = await Promise.all([
        promised(from, to, 'sent', signal),
        promised(to, from, 'received', signal),
      ]);
      if (sent !== undefined && sent === received) {
        return { done: { from: from.name, to: to.name, payout: sent.toString() } };
      }
      if (sent === undefined) {
        const next = Array.from({ length: CHUNKS_AT_ONCE }, () => chunks.next().value);
        await from.chunks.stream(next, { signal });
      }
      return {
        missing: `${from.name} has sent one of ${sent ?? 0n} units, ${to.name} has one of ${received ?? 0n}`,
      };
    },
    { timeoutMs: context.timeoutMs ?? timeoutFor(nodes.length), signal: context.signal },
  );
}

/** Token units of the last cheque between two nodes, in the books of the first. */
async function promised(
  node: ClusterNode,
  { overlay }: ClusterNode,
  direction: 'sent' | 'received',
  signal: AbortSignal,
): Promise<bigint | undefined> {
  const cheques = await node.chequebook.cheques(signal);
  return cheques.find(({ peer }) => peer === overlay)?.[direction]?.payout;
}

/** Chunks that no other node is as close to as the payee. */
function* chunksFor(seed: bigint, { from, to, nodes }: Pair): Generator<Uint8Array, never> {
  const payee = fromHex(to.overlay);
  const others = nodes.filter((node) => node !== from && node !== to).map(({ overlay }) => fromHex(overlay));
  for (let index = 0; ; index++) {
    const payload = seededBytes(PAYLOAD_SIZE, seed, 'chunk between', from.name, to.name, index);
    const { address, data } = makeCac(BigInt(PAYLOAD_SIZE), payload);
    if (others.every((other) => closerTo(address, payee, other) < 0)) yield data;
  }
}
