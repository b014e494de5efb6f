import type { Clock } from '../../../formats/clock.ts';
import { DIGITS, expectHex, expectWhole } from '../../base/arguments.ts';
import { HarnessError } from '../../base/errors.ts';
import { orMissing, type ProbeResult, until, type WaitOptions } from '../../base/wait.ts';
import type { Chain } from '../../chain/chain.ts';
import type { Tag, Uploaded } from '../../client/types.ts';
import type { BatchRecord } from '../state/state.ts';
import type { ClusterNode } from './cluster-node.ts';
import { someNames } from './mesh.ts';
import { awaitTag, type TagTarget, type TagWait } from './tag-wait.ts';

const UPLOADS_REMEMBERED = 10_000;
/** Until a node that is away may have answered. */
const TAG_TIMEOUT_MS = 300_000;

interface Net {
  readonly nodes: readonly ClusterNode[];
  node(which: number | string): ClusterNode;
}

export async function awaitUsable(
  net: Net & { readonly batches: readonly BatchRecord[]; readonly chain: Pick<Chain, 'batch'> },
  { id, buyer }: { readonly id: string | undefined; readonly buyer: number | string | undefined },
  options: WaitOptions,
): Promise<void> {
  const { nodes } = net;
  if (id === undefined) {
    const own = net.batches.filter(({ node }) => net.node(node).running);
    await until('not every batch is usable', (signal) => probeBatches(own, nodes, signal), options);
    return;
  }
  expectHex('usable: batch', id, DIGITS.hash);
  const batch = id.toLowerCase();
  const owner = buyer === undefined ? await ownerOf(batch, net, options) : net.node(buyer);
  await until(
    'the batch is not usable',
    (signal) =>
      'block' in owner
        ? probeForeignBatch({ id: batch, block: owner.block }, nodes, signal)
        : probeBatch(batch, owner, nodes, signal),
    options,
  );
}

async function ownerOf(
  batch: string,
  net: Parameters<typeof awaitUsable>[0],
  options: WaitOptions,
): Promise<ClusterNode | { readonly block: number }> {
  const { clock } = options;
  const known = net.batches.find(({ id }) => id === batch);
  if (known !== undefined) return net.node(known.node);
  try {
    return await until(
      'no node owns the batch',
      (signal) => findOwner(batch, net.nodes, { clock, signal }),
      options,
    );
  } catch (error) {
    if (!(error instanceof HarnessError) || error.code !== 'BATCH_UNKNOWN') throw error;
    const created = await net.chain.batch(batch);
    if (created === undefined) throw error;
    // Its node may not have read that block yet.
    return net.nodes.find(({ ethereum }) => ethereum === created.owner) ?? { block: created.block };
  }
}

export async function awaitSynced(
  net: Net,
  target: string | { readonly node: number | string; readonly tag: number },
  uploads: UploadMemory,
  options: TagWait,
): Promise<Tag | undefined> {
  const whenSynced = (tag: TagTarget) => awaitTag(tag, options);
  if (typeof target === 'object' && target !== null) {
    expectWhole('synced: tag', target.tag, { min: 0 });
    return whenSynced({ node: net.node(target.node), tag: target.tag });
  }
  expectHex('synced: reference', target, DIGITS.reference);
  const remembered = uploads.find(target.toLowerCase());
  if (remembered === 'direct') return undefined;
  const { clock } = options;
  const tags =
    remembered === undefined
      ? await until('no upload is known', (signal) => findTags(target, net.nodes, { clock, signal }), {
          ...options,
          timeoutMs: options.timeoutMs ?? TAG_TIMEOUT_MS,
        })
      : [remembered];
  return (await Promise.all(tags.map(whenSynced)))[0];
}

export class UploadMemory {
  readonly #uploads = new Map<string, TagTarget | 'direct'>();

  remember(node: ClusterNode, { reference, tag }: Uploaded): void {
    this.#uploads.delete(reference);
    this.#uploads.set(reference, tag === undefined ? 'direct' : { node, tag });
    if (this.#uploads.size <= UPLOADS_REMEMBERED) return;
    for (const oldest of this.#uploads.keys()) {
      this.#uploads.delete(oldest);
      return;
    }
  }

  find(reference: string): TagTarget | 'direct' | undefined {
    return this.#uploads.get(reference);
  }
}

interface CreatedBatch {
  readonly id: string;
  readonly block: number;
}

/** Usable: its node may stamp, and every running node saw its creation; others would refuse the stamps. */
export async function probeBatch(
  batch: string,
  owner: ClusterNode,
  nodes: readonly ClusterNode[],
  signal: AbortSignal,
): Promise<ProbeResult<true>> {
  const own = await probeOwnBatch(batch, owner, signal);
  return 'missing' in own ? own : probeForeignBatch(own.done, nodes, signal);
}

async function probeOwnBatch(
  id: string,
  owner: ClusterNode,
  signal: AbortSignal,
): Promise<ProbeResult<CreatedBatch>> {
  const name = `batch ${id.slice(0, 8)} of ${owner.name}`;
  return orMissing(name, async () => {
    const { usable, blockNumber } = await owner.stamps.get(id, signal);
    return usable ? { done: { id, block: blockNumber } } : { missing: `${name} is not usable yet` };
  });
}

/** Its owner may be outside the cluster: every running node has to see its creation. */
async function probeForeignBatch(
  { id, block }: CreatedBatch,
  nodes: readonly ClusterNode[],
  signal: AbortSignal,
): Promise<ProbeResult<true>> {
  const short = id.slice(0, 8);
  const running = nodes.filter((node) => node.running);
  const behind = await Promise.all(
    running.map(async (node) => {
      const state = await orMissing(node.name, async () => ({ done: await node.client.chainState(signal) }));
      if ('missing' in state) return state.missing;
      return state.done.block >= block
        ? undefined
        : `${node.name} has read block ${state.done.block}, batch ${short} is of block ${block}`;
    }),
  );
  const missing = behind.find((text) => text !== undefined);
  return missing === undefined ? { done: true } : { missing };
}

export async function probeBatches(
  batches: readonly BatchRecord[],
  nodes: readonly ClusterNode[],
  signal: AbortSignal,
): Promise<ProbeResult<number> & { readonly usable: number }> {
  const byName = new Map(nodes.map((node) => [node.name, node]));
  const results = await Promise.all(
    batches.map(async (batch): Promise<ProbeResult<CreatedBatch>> => {
      const owner = byName.get(batch.node);
      return owner === undefined
        ? { missing: `${batch.node} is no node of the cluster` }
        : probeOwnBatch(batch.id, owner, signal);
    }),
  );
  const created = results.flatMap((result) => ('done' in result ? [result.done] : []));
  const usable = created.length;
  const first = results.find((result) => 'missing' in result);
  if (first !== undefined) return { missing: first.missing, usable };
  const [youngest] = created.toSorted((a, b) => b.block - a.block);
  if (youngest === undefined) return { done: usable, usable };
  // A node that has read the newest batch's block has read those of all others.
  const seen = await probeForeignBatch(youngest, nodes, signal);
  return 'missing' in seen ? { missing: seen.missing, usable } : { done: usable, usable };
}

const SEARCH_LIMIT_MS = 2000;
/** A key follows it in encrypted references. */
const ADDRESS_DIGITS = 64;

export interface Search {
  readonly clock: Pick<Clock, 'deadline'>;
  readonly signal: AbortSignal;
}

/** @throws HarnessError `UPLOAD_UNKNOWN` when all answered and none has one */
export async function findTags(
  reference: string,
  nodes: readonly ClusterNode[],
  search: Search,
): Promise<ProbeResult<readonly TagTarget[]>> {
  const address = reference.slice(0, ADDRESS_DIGITS).toLowerCase();
  const { found, silent } = await searched(
    nodes,
    async (node, limit) => {
      const tags = await node.tags.list(limit);
      return tags.filter((tag) => tag.address === address).map((tag) => ({ node, tag: tag.uid }));
    },
    search,
  );
  if (found.length > 0) return { done: found };
  const what = `a tag of the upload ${address.slice(0, 8)}…`;
  if (silent !== undefined) return { missing: `no node that answers has ${what}; ${silent}` };
  throw new HarnessError('UPLOAD_UNKNOWN', `no node has ${what}: ${askedText(nodes)}`, {
    hint: 'A direct upload of another client has none, and needs no wait: it is synced when it is acknowledged. Of an upload session give { node, tag }.',
  });
}

/** @throws HarnessError `BATCH_UNKNOWN` when all answered and none owns it */
export async function findOwner(
  batch: string,
  nodes: readonly ClusterNode[],
  search: Search,
): Promise<ProbeResult<ClusterNode>> {
  const { found, silent } = await searched(
    nodes,
    async (node, limit) => {
      const stamps = await node.stamps.list(limit);
      return stamps.some(({ batchID }) => batchID === batch) ? [node] : [];
    },
    search,
  );
  if (found[0] !== undefined) return { done: found[0] };
  const short = `${batch.slice(0, 8)}…`;
  if (silent !== undefined) return { missing: `no node that answers owns batch ${short}; ${silent}` };
  throw new HarnessError('BATCH_UNKNOWN', `no node owns batch ${short}: ${askedText(nodes)}`, {
    hint: 'Buy one with node.stamps.buy(), or with: svcnet stamp',
  });
}

async function searched<T>(
  nodes: readonly ClusterNode[],
  read: (node: ClusterNode, signal: AbortSignal) => Promise<readonly T[]>,
  { clock, signal }: Search,
): Promise<{ readonly found: readonly T[]; readonly silent?: string }> {
  const running = nodes.filter((node) => node.running);
  // A hanging node must not hold up others.
  using limit = clock.deadline(SEARCH_LIMIT_MS, signal);
  const results = await Promise.all(
    running.map((node) =>
      orMissing(`${node.name} could not be asked`, async () => ({ done: await read(node, limit.signal) })),
    ),
  );
  const found = results.flatMap((seen) => ('done' in seen ? seen.done : []));
  const silent = results.flatMap((seen) => ('missing' in seen ? [seen.missing] : []))[0];
  return silent === undefined ? { found } : { found, silent };
}

function askedText(nodes: readonly ClusterNode[]): string {
  const asked = nodes.filter((node) => node.running);
  const others = nodes.filter((node) => !node.running).map((node) => `${node.name} is ${node.state}`);
  return [asked.length === 0 ? 'none runs' : `asked ${someNames(asked)}`, ...others].join('; ');
}
