/**
 * A payer cannot be told to pay: it is put in debt by pushing chunks to which the payee is the closest node, until it pays
 * by cheque. A payer without a batch uses another node's stamps.
 */
import { closerTo } from '../../../formats/chunk/address.ts';
import { makeCac } from '../../../formats/chunk/cac.ts';
import type { Chunk } from '../../../formats/chunk/chunk.ts';
import { fromHex, toHex } from '../../../formats/crypto/hex.ts';
import { plural } from '../../base/format.ts';
import { until } from '../../base/wait.ts';
import type { PeerAccount } from '../../client/money-types.ts';
import { probeLinks } from '../books/node-books.ts';
import type { ClusterNode } from '../nodes/cluster-node.ts';
import { seededBytes } from '../plan/seed.ts';
import type { StartContext } from './start-context.ts';
import { timeoutFor } from './start-deadline.ts';

/** At the public network's limits a peer wants payment for some twenty chunks. Time pays for fifteen a second. */
const CHUNKS_AT_ONCE = 64;
/** A chunk's price does not depend on its length. */
const PAYLOAD_SIZE = 32;

interface Pair {
  readonly from: ClusterNode;
  readonly to: ClusterNode;
  readonly nodes: readonly ClusterNode[];
}

/** The two directions of one link follow each other, because their debts would cancel out. */
export function independentRounds<T extends Record<'from' | 'to', { readonly name: string }>>(
  pairs: readonly T[],
): T[][] {
  const lines = new Map<string, T[]>();
  for (const pair of pairs) {
    const link = [pair.from.name, pair.to.name].toSorted().join();
    lines.set(link, [...(lines.get(link) ?? []), pair]);
  }
  return [...lines.values()];
}

export async function provokeCheque(context: StartContext, pair: Pair): Promise<void> {
  const { from, to, nodes } = pair;
  const chunks = chunksFor(context.seed, pair);
  await until(
    `${from.name} has sent no cheque to ${to.name}`,
    async (signal) => {
      if (await hasSent(pair, signal)) return { done: true };
      const next = Array.from({ length: CHUNKS_AT_ONCE }, () => chunks.next().value);
      await push(pair, next, signal);
      return { missing: `it has pushed ${CHUNKS_AT_ONCE} chunks more` };
    },
    {
      clock: context.clock,
      timeoutMs: context.timeoutMs ?? timeoutFor(nodes.length),
      signal: context.signal,
    },
  );
}

async function push({ from, nodes }: Pair, chunks: readonly Chunk[], signal: AbortSignal): Promise<void> {
  if (from.batch !== undefined) {
    await from.chunks.stream(
      chunks.map(({ data }) => data),
      { signal },
    );
    return;
  }
  const stamper = nodes.find(({ batch }) => batch !== undefined);
  if (stamper === undefined) throw new RangeError(`no batch among ${nodes.length} nodes`);
  await Promise.all(
    chunks.map(async ({ address, data }) => {
      const stamp = await stamper.chunks.stamp(toHex(address), { signal });
      await from.chunks.upload(data, { stamp, signal });
    }),
  );
}

/** Some of the last chunks are still being paid for after the first cheque. @throws HarnessError `WAIT_TIMEOUT` */
export async function settled(context: StartContext, nodes: readonly ClusterNode[]): Promise<void> {
  const { clock, timeoutMs = timeoutFor(nodes.length), signal } = context;
  await until(
    'the nodes have not settled',
    async (aborted) => {
      for (const { name, client } of nodes) {
        const open = (await client.accounting(aborted)).filter(isOpen).length;
        if (open > 0) return { missing: `${name} has something under way with ${plural(open, 'peer')}` };
      }
      return probeLinks(nodes, aborted);
    },
    { clock, timeoutMs, signal },
  );
}

function isOpen({ reservedBalance, shadowReservedBalance }: PeerAccount): boolean {
  return reservedBalance !== 0n || shadowReservedBalance !== 0n;
}

async function hasSent({ from, to }: Pair, signal: AbortSignal): Promise<boolean> {
  const cheques = await from.chequebook.cheques(signal);
  return cheques.some(({ peer, sent }) => peer === to.overlay && sent !== undefined);
}

function* chunksFor(seed: bigint, { from, to, nodes }: Pair): Generator<Chunk, never> {
  const payee = fromHex(to.overlay);
  const others = nodes.filter((node) => node !== from && node !== to).map(({ overlay }) => fromHex(overlay));
  for (let index = 0; ; index++) {
    const payload = seededBytes(PAYLOAD_SIZE, seed, 'chunk between', from.name, to.name, index);
    const chunk = makeCac(BigInt(PAYLOAD_SIZE), payload);
    if (others.every((other) => closerTo(chunk.address, payee, other) < 0)) yield chunk;
  }
}
