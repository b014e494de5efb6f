/**
 * The states of a cluster that can be awaited. Each is checked from outside, over the API, and reports what
 * is missing.
 */

import { proximityOrder } from '../../../formats/chunk/address.ts';
import type { Clock } from '../../../formats/clock.ts';
import { fromHex } from '../../../formats/crypto/hex.ts';
import { HarnessError } from '../../base/errors.ts';
import { plural } from '../../base/format.ts';
import { orMissing, type ProbeResult } from '../../base/wait.ts';
import { ClientError } from '../../client/errors.ts';
import type { Tag } from '../../client/types.ts';
import { isHonest } from '../../flavours/flavour.ts';
import { FLAVOURS } from '../../flavours/table.ts';
import type { BatchRecord } from '../state/state.ts';
import type { ClusterNode } from './cluster-node.ts';
import { introducers } from './introductions.ts';

/**
 * Up to this many full nodes are all connected to each other: none of their bins exceeds saturation
 * (p2p-protocols.md 6.1).
 */
const FULL_MESH_NODES = 9;
/**
 * In a larger cluster a node connects to all peers of a bin up to this many, which saturate it at radius 0;
 * beyond that, it is free to choose.
 */
const SATURATION_PEERS = 4;
const BINS = 32;
/** How many names of a longer list of missing peers are shown. */
const NAMES_SHOWN = 3;

/** Directed links between nodes of the cluster. */
export interface Mesh {
  /** Links that exist. */
  readonly links: number;
  /** Links that should. */
  readonly expected: number;
}

/** A link that is missing: the node whose peers were asked for, and the one that is not among them. */
export interface Apart {
  readonly node: ClusterNode;
  readonly other: ClusterNode;
}

/**
 * A cluster is meshed when every running node is connected to all other full nodes of each bin, up to
 * saturation (a light node: to those that tell it about each other), and none of them lacks anything it needs
 * to serve. Clusters of up to nine full nodes are meshed when each is connected to every other. Where a
 * topology names the links, exactly these are expected. Dishonest nodes do not count.
 */
export async function probeMesh(
  nodes: readonly ClusterNode[],
  signal: AbortSignal,
): Promise<ProbeResult<Mesh> & { readonly mesh: Mesh; readonly lacking?: string; readonly apart?: Apart }> {
  // Nodes that break the rules are refused sooner or later.
  const running = nodes.filter((node) => node.running && isHonest(node));
  // Boot nodes fill no bin of others, so nobody counts them.
  const full = nodes.filter(({ mode }) => mode === 'full').length;
  const wanted = full <= FULL_MESH_NODES ? FULL_MESH_NODES : SATURATION_PEERS;
  const counts = await Promise.all(running.map((node) => linksOf(node, { running, wanted }, signal)));
  const mesh = {
    links: counts.reduce((sum, count) => sum + count.links, 0),
    expected: counts.reduce((sum, count) => sum + count.expected, 0),
  };
  const first = counts.find((count) => count.missing !== undefined);
  if (first?.missing !== undefined) {
    const { missing, apart } = first;
    const text = `${mesh.links} of ${plural(mesh.expected, 'link')}, ${missing}`;
    return { missing: text, mesh, ...(apart === undefined ? {} : { apart }) };
  }
  const lacking = await firstLacking(running, signal);
  return lacking === undefined ? { done: mesh, mesh } : { missing: lacking, lacking, mesh };
}

/**
 * In a network that svcnet did not start, the expected links are unknown: every running node must have a
 * peer, listed or not, and lack nothing it needs to serve. Links are counted between the listed nodes.
 */
export async function probeNetwork(
  nodes: readonly ClusterNode[],
  signal: AbortSignal,
): Promise<ProbeResult<Mesh>> {
  const running = nodes.filter((node) => node.running);
  const overlays = new Set(running.map(({ overlay }) => overlay));
  let links = 0;
  for (const node of running) {
    const seen = await orMissing(node.name, async () => ({ done: await node.client.peers(signal) }));
    if ('missing' in seen) return seen;
    if (seen.done.length === 0) return { missing: `${node.name} has no peers` };
    links += seen.done.filter(({ address }) => overlays.has(address)).length;
  }
  const lacking = await firstLacking(running, signal);
  return lacking === undefined ? { done: { links, expected: links } } : { missing: lacking };
}

/** Full nodes among the nodes' peers that are not in the list. @returns overlays */
export async function unlistedPeers(nodes: readonly ClusterNode[], signal: AbortSignal): Promise<string[]> {
  const overlays = new Set(nodes.map(({ overlay }) => overlay));
  const peers = await Promise.all(
    nodes.filter((node) => node.running).map((node) => node.client.peers(signal)),
  );
  const full = peers.flat().filter(({ address, fullNode }) => fullNode && !overlays.has(address));
  return [...new Set(full.map(({ address }) => address))];
}

/** What the first node that is not ready to serve lacks; a node on its own has no network to join. */
async function firstLacking(
  running: readonly ClusterNode[],
  signal: AbortSignal,
): Promise<string | undefined> {
  for (const node of running.filter((one) => introducers(one, running).length > 0)) {
    const seen = await orMissing(node.name, async () => ({ done: await node.lacking(signal) }));
    if ('missing' in seen) return seen.missing;
    if (seen.done !== undefined) return `${node.name} ${seen.done}`;
  }
  return undefined;
}

async function linksOf(
  node: ClusterNode,
  { running, wanted }: { readonly running: readonly ClusterNode[]; readonly wanted: number },
  signal: AbortSignal,
): Promise<{ links: number; expected: number; missing?: string; apart?: Apart }> {
  const seen = await orMissing(node.name, async () => ({ done: await node.client.peers(signal) }));
  const peers = new Set('missing' in seen ? [] : seen.done.map((peer) => peer.address));
  if (node.peers !== undefined) {
    return 'missing' in seen
      ? { links: 0, expected: namedPeers(node, running).length, missing: seen.missing }
      : namedLinks(node, running, peers);
  }
  const bins = byBin(node, expectedPeers(node, running, peers));
  const expected = bins.reduce((sum, bin) => sum + Math.min(bin.length, wanted), 0);
  if ('missing' in seen) return { links: 0, expected, missing: seen.missing };
  const links = bins.reduce(
    (sum, bin) => sum + Math.min(bin.filter((other) => peers.has(other.overlay)).length, wanted),
    0,
  );
  const lacking = bins.flatMap((bin) => {
    const absent = bin.filter((other) => !peers.has(other.overlay));
    return bin.length - absent.length < Math.min(bin.length, wanted) ? absent : [];
  });
  const [other] = lacking;
  if (other === undefined) return { links, expected };
  const missing = `${node.name} is not connected to ${someNames(lacking)}`;
  return { links, expected, missing, apart: { node, other } };
}

/**
 * Full nodes that it must end up connected to. No node has to dial a boot node once it knows others. No node
 * dials a light node either, and a Bee tells it only of nodes that dialled the Bee: with Bees alone, one peer
 * is enough.
 */
function expectedPeers(
  node: ClusterNode,
  running: readonly ClusterNode[],
  peers: ReadonlySet<string>,
): ClusterNode[] {
  if (node.mode === 'boot') return [];
  const full = introducers(node, running);
  if (node.mode === 'full') return full;
  const telling = full.filter(({ flavour }) => FLAVOURS[flavour].bootstraps);
  if (telling.length > 0) return telling;
  const met = full.filter(({ overlay }) => peers.has(overlay));
  return met.length > 0 ? met : full.slice(0, 1);
}

/** Running full nodes that the topology links it to: light ones see to their own links. */
function namedPeers({ peers }: ClusterNode, running: readonly ClusterNode[]): ClusterNode[] {
  return running.filter(({ name, mode }) => mode === 'full' && peers?.includes(name));
}

/** @param connected overlays */
function namedLinks(
  node: ClusterNode,
  running: readonly ClusterNode[],
  connected: ReadonlySet<string>,
): { links: number; expected: number; missing?: string } {
  const expected = namedPeers(node, running);
  const absent = expected.filter(({ overlay }) => !connected.has(overlay));
  const counts = { links: expected.length - absent.length, expected: expected.length };
  if (absent.length > 0)
    return { ...counts, missing: `${node.name} is not connected to ${someNames(absent)}` };
  const strange = running.filter(
    ({ name, overlay }) => connected.has(overlay) && !node.peers?.includes(name),
  );
  return strange.length === 0
    ? counts
    : {
        ...counts,
        missing: `${node.name} is connected to ${someNames(strange)}, a link that its topology does not have`,
      };
}

function byBin(node: ClusterNode, others: readonly ClusterNode[]): ClusterNode[][] {
  const bins: ClusterNode[][] = Array.from({ length: BINS }, () => []);
  const own = fromHex(node.overlay);
  for (const other of others) bins[proximityOrder(own, fromHex(other.overlay))]?.push(other);
  return bins;
}

function someNames(nodes: readonly ClusterNode[]): string {
  const names = nodes.slice(0, NAMES_SHOWN).map((node) => node.name);
  const more = nodes.length - names.length;
  return more > 0 ? `${names.join(', ')} and ${more} more` : names.join(', ');
}

/** A batch, and the block that created it. */
interface CreatedBatch {
  readonly id: string;
  readonly block: number;
}

/**
 * A batch is usable when its node may stamp with it and every running node has seen its creation: a node that has
 * not would refuse the stamps.
 */
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

/** A batch whose owner may be outside the cluster: every running node has seen its creation. */
export async function probeForeignBatch(
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

/** All batches at once, with one request to each node; reports what is missing for the first one. */
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
  // A node that has read the newest batch's block has read those of all.
  const seen = await probeForeignBatch(youngest, nodes, signal);
  return 'missing' in seen ? { missing: seen.missing, usable } : { done: usable, usable };
}

/** An upload session on one node. */
export interface TagTarget {
  readonly node: ClusterNode;
  readonly tag: number;
}

/** A tag is synced when every chunk handed in was seen before or has reached its neighbourhood (4.5). */
export async function probeTag(
  { node, tag }: TagTarget,
  signal: AbortSignal,
  onProgress?: (synced: number, split: number) => void,
): Promise<ProbeResult<Tag>> {
  try {
    const seen = await node.tags.get(tag, signal);
    onProgress?.(seen.synced + seen.seen, seen.split);
    if (isSynced(seen)) return { done: seen };
    return {
      missing: `${node.name} tag ${tag}: ${seen.synced + seen.seen} of ${plural(seen.split, 'chunk')} synced`,
    };
  } catch (error) {
    // A tag that does not exist will not come; a node that does not answer may.
    if (error instanceof ClientError && error.status === 404) throw error;
    return { missing: error instanceof Error ? error.message : String(error) };
  }
}

/** Whether the network has every chunk of the upload. */
export function isSynced(tag: Tag): boolean {
  return tag.split > 0 && tag.synced + tag.seen >= tag.split;
}

/** Time limit of one request to one node. */
const SEARCH_LIMIT_MS = 2000;
/** Address part of a reference: in encrypted references a key follows it. */
const ADDRESS_DIGITS = 64;

/** How long nodes are asked. */
export interface Search {
  readonly clock: Pick<Clock, 'deadline'>;
  readonly signal: AbortSignal;
}

/**
 * The sessions whose root is `reference`, on any running node.
 * @throws HarnessError `UPLOAD_UNKNOWN` when all of them have answered and none knows it: waiting would not
 * help
 */
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
  const what = `an upload of ${address.slice(0, 8)}…`;
  if (silent !== undefined) return { missing: `no node that answers knows ${what}; ${silent}` };
  throw new HarnessError('UPLOAD_UNKNOWN', `no node knows ${what}: ${askedText(nodes)}`, {
    hint: 'A direct upload leaves nothing to wait for: it is synced when it is acknowledged. Of an upload session give { node, tag }.',
  });
}

/**
 * The node that may stamp with a batch.
 * @throws HarnessError `BATCH_UNKNOWN` when all running nodes have answered and none of them owns it
 */
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

/** What a search of the running nodes finds. `silent` says why one of them could not be asked. */
async function searched<T>(
  nodes: readonly ClusterNode[],
  read: (node: ClusterNode, signal: AbortSignal) => Promise<readonly T[]>,
  { clock, signal }: Search,
): Promise<{ readonly found: readonly T[]; readonly silent?: string }> {
  const running = nodes.filter((node) => node.running);
  // A node that hangs must not hold up the answers of others.
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

/** `asked node-0, node-1; node-2 is paused`. */
function askedText(nodes: readonly ClusterNode[]): string {
  const asked = nodes.filter((node) => node.running);
  const others = nodes.filter((node) => !node.running).map((node) => `${node.name} is ${node.state}`);
  return [asked.length === 0 ? 'none runs' : `asked ${someNames(asked)}`, ...others].join('; ');
}
