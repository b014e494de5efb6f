import { proximityOrder } from '../../../formats/chunk/address.ts';
import { fromHex } from '../../../formats/crypto/hex.ts';
import { plural } from '../../base/format.ts';
import { orMissing, type ProbeResult } from '../../base/wait.ts';
import { isHonest } from '../../flavours/flavour.ts';
import { flavourOf } from '../../flavours/table.ts';
import type { ClusterNode } from './cluster-node.ts';
import { introducers } from './introductions.ts';

/** Up to this many all connect: no bin exceeds saturation (p2p-protocols.md 6.1). */
const FULL_MESH_NODES = 9;
/** Saturate a bin at radius 0. Beyond that a node is free to choose. */
const SATURATION_PEERS = 4;
/** A node with this many peers in a bin accepts no further one there (p2p-protocols.md 6.4). */
const OVER_SATURATION_PEERS = 18;
const BINS = 32;
const NAMES_SHOWN = 3;

/** Directed links between nodes of the cluster. */
export interface Mesh {
  /** Links that exist. */
  readonly links: number;
  /** Links that should. */
  readonly expected: number;
}

export interface Apart {
  readonly node: ClusterNode;
  readonly other: ClusterNode;
}

/**
 * Every running node must be connected to all full nodes of each bin, up to saturation (a light node: to those that tell it
 * of each other), and lack nothing that it needs to serve. A late node needs none in bins whose nodes accept no more. A
 * topology's links are expected exactly. Dishonest nodes do not count.
 */
export async function probeMesh(
  nodes: readonly ClusterNode[],
  signal: AbortSignal,
): Promise<
  ProbeResult<Mesh> & { readonly mesh: Mesh; readonly lacking?: string; readonly apart?: Apart | undefined }
> {
  const running = meshing(nodes);
  const answers = await Promise.all(
    running.map(async (node) => [node.overlay, await peersOf(node, signal)] as const),
  );
  const seen = new Map(answers);
  const counts = linksOfAll(nodes, running, seen);
  const mesh = {
    links: counts.reduce((sum, count) => sum + count.links, 0),
    expected: counts.reduce((sum, count) => sum + count.expected, 0),
  };
  const first = counts.find((count) => count.missing !== undefined);
  if (first?.missing !== undefined) {
    const { missing, apart } = first;
    const text = `${mesh.links} of ${plural(mesh.expected, 'link')}, ${missing}`;
    return { missing: text, mesh, apart };
  }
  const lacking = await firstLacking(running, signal);
  return lacking === undefined ? { done: mesh, mesh } : { missing: lacking, lacking, mesh };
}

/** Rule breakers are refused sooner or later. */
function meshing(nodes: readonly ClusterNode[]): ClusterNode[] {
  return nodes.filter((node) => node.running && isHonest(node));
}

export interface MissingLinks {
  readonly text: string;
  /** Names of the nodes that it should be connected to, or should not. */
  readonly others: readonly string[];
}

/**
 * Which links running nodes lack for a mesh, by the node's name.
 * @param peers overlays of peers, by the node's overlay; a node that is not there is not judged
 * @param alone overlays of nodes without any peer: neither they nor those that lack a link to them are named for it
 */
export function missingLinks(
  nodes: readonly ClusterNode[],
  peers: ReadonlyMap<string, ReadonlySet<string>>,
  alone: ReadonlySet<string>,
): ReadonlyMap<string, MissingLinks> {
  const seen = new Map(Array.from(peers, ([overlay, done]) => [overlay, { done }] as const));
  const linked = meshing(nodes).filter(({ overlay }) => !alone.has(overlay));
  return new Map(
    linksOfAll(nodes, linked, seen).flatMap(({ node, missing, others = [], links, expected }) => {
      if (missing === undefined || !peers.has(node.overlay)) return [];
      const text = `${missing}, and has ${links} of ${plural(expected, 'link')}`;
      return [[node.name, { text, others: others.map(({ name }) => name) }] as const];
    }),
  );
}

/**
 * In a network that svcnet did not start, every running node must have a peer, listed or not, and lack nothing. Counts links
 * between listed nodes.
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

export async function unlistedPeers(nodes: readonly ClusterNode[], signal: AbortSignal): Promise<string[]> {
  const overlays = new Set(nodes.map(({ overlay }) => overlay));
  const peers = await Promise.all(
    nodes.filter((node) => node.running).map((node) => node.client.peers(signal)),
  );
  const full = peers.flat().filter(({ address, fullNode }) => fullNode && !overlays.has(address));
  return [...new Set(full.map(({ address }) => address))];
}

/** A single node joins nothing. */
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

type SeenPeers = ReadonlyMap<string, ProbeResult<ReadonlySet<string>>>;

function peersOf(node: ClusterNode, signal: AbortSignal): Promise<ProbeResult<ReadonlySet<string>>> {
  return orMissing(node.name, async () => ({
    done: new Set((await node.client.peers(signal)).map(({ address }) => address)),
  }));
}

function linksOfAll(
  nodes: readonly ClusterNode[],
  running: readonly ClusterNode[],
  seen: SeenPeers,
): (Links & { readonly node: ClusterNode })[] {
  // Boot nodes fill no bin of others.
  const full = nodes.filter(({ mode }) => mode === 'full').length;
  const wanted = full <= FULL_MESH_NODES ? FULL_MESH_NODES : SATURATION_PEERS;
  return running.map((node) => ({ node, ...linksOf(node, { running, wanted, seen }) }));
}

interface Links extends Mesh {
  readonly missing?: string;
  /** With whom. */
  readonly others?: readonly ClusterNode[];
  readonly apart?: Apart;
}

function linksOf(
  node: ClusterNode,
  {
    running,
    wanted,
    seen,
  }: { readonly running: readonly ClusterNode[]; readonly wanted: number; readonly seen: SeenPeers },
): Links {
  const answer = seen.get(node.overlay) ?? { missing: `${node.name} was not asked` };
  const failed = 'missing' in answer ? { missing: answer.missing } : undefined;
  const peers = 'missing' in answer ? new Set<string>() : answer.done;
  if (node.peers !== undefined) {
    return failed === undefined
      ? namedLinks(node, running, peers)
      : { links: 0, expected: namedPeers(node, running).length, ...failed };
  }
  const bins = byBin(node, expectedPeers(node, running, peers)).map((bin) => {
    const absent = bin.filter(({ overlay }) => !peers.has(overlay));
    const links = Math.min(bin.length - absent.length, wanted);
    const lacking = absent.filter((other) => links < wanted && accepts(other, node, { running, seen }));
    return { links, expected: Math.min(links + lacking.length, wanted), lacking };
  });
  const links = bins.reduce((sum, bin) => sum + bin.links, 0);
  const expected = bins.reduce((sum, bin) => sum + bin.expected, 0);
  if (failed !== undefined) return { links: 0, expected, ...failed };
  const lacking = bins.flatMap((bin) => bin.lacking);
  const [other] = lacking;
  if (other === undefined) return { links, expected };
  const missing = `${node.name} is not connected to ${someNames(lacking)}`;
  return { links, expected, missing, others: lacking, apart: { node, other } };
}

function accepts(
  other: ClusterNode,
  node: ClusterNode,
  { running, seen }: { readonly running: readonly ClusterNode[]; readonly seen: SeenPeers },
): boolean {
  const answer = seen.get(other.overlay);
  if (answer === undefined || 'missing' in answer) return true;
  const own = fromHex(other.overlay);
  const bin = proximityOrder(own, fromHex(node.overlay));
  const there = running.filter(
    ({ mode, overlay }) =>
      mode === 'full' && answer.done.has(overlay) && proximityOrder(own, fromHex(overlay)) === bin,
  );
  return there.length < OVER_SATURATION_PEERS;
}

/**
 * No node has to dial a boot node once it knows others. No node dials a light node, and a Bee tells a light node only of
 * nodes that dialled the Bee: with Bees alone, one peer is enough.
 */
function expectedPeers(
  node: ClusterNode,
  running: readonly ClusterNode[],
  peers: ReadonlySet<string>,
): ClusterNode[] {
  if (node.mode === 'boot') return [];
  const full = introducers(node, running);
  if (node.mode === 'full') return full;
  const telling = full.filter((one) => flavourOf(one).bootstraps);
  if (telling.length > 0) return telling;
  const met = full.filter(({ overlay }) => peers.has(overlay));
  return met.length > 0 ? met : full.slice(0, 1);
}

function namedPeers({ peers }: ClusterNode, running: readonly ClusterNode[]): ClusterNode[] {
  return running.filter(({ name, mode }) => mode === 'full' && peers?.includes(name));
}

function namedLinks(
  node: ClusterNode,
  running: readonly ClusterNode[],
  connected: ReadonlySet<string>,
): Links {
  const expected = namedPeers(node, running);
  const absent = expected.filter(({ overlay }) => !connected.has(overlay));
  const counts = { links: expected.length - absent.length, expected: expected.length };
  if (absent.length > 0) {
    return { ...counts, missing: `${node.name} is not connected to ${someNames(absent)}`, others: absent };
  }
  const strange = running.filter(
    ({ name, overlay }) => connected.has(overlay) && !node.peers?.includes(name),
  );
  return strange.length === 0
    ? counts
    : {
        ...counts,
        missing: `${node.name} is connected to ${someNames(strange)}, a link that its topology does not have`,
        others: strange,
      };
}

function byBin(node: ClusterNode, others: readonly ClusterNode[]): ClusterNode[][] {
  const bins: ClusterNode[][] = Array.from({ length: BINS }, () => []);
  const own = fromHex(node.overlay);
  for (const other of others) bins[proximityOrder(own, fromHex(other.overlay))]?.push(other);
  return bins;
}

export function someNames(nodes: readonly ClusterNode[]): string {
  const names = nodes.slice(0, NAMES_SHOWN).map((node) => node.name);
  const more = nodes.length - names.length;
  return more > 0 ? `${names.join(', ')} and ${more} more` : names.join(', ');
}
