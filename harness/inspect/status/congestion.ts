/** Neighbourhoods that accept no more chunks, what waits for them, and what would help. */
import { addressPrefix } from '../../../formats/chunk/address.ts';
import { fromHex } from '../../../formats/crypto/hex.ts';
import { grouped, plural } from '../../base/format.ts';
import type { Backlog } from '../../client/types.ts';
import type { ClusterNode } from '../../cluster/nodes/cluster-node.ts';
import { type Flavoured, flavourOf } from '../../flavours/table.ts';

/** A neighbourhood that accepts no more chunks. */
export interface CongestedNeighbourhood {
  /** First address bits, as `0` and `1`. */
  readonly neighbourhood: string;
  /** Waiting upload chunks, on all nodes. */
  readonly waiting: number;
  /** Chunks that outside nodes cannot hand over to it. */
  readonly leftover: number;
  /** Its nodes with full reserves. */
  readonly full: readonly string[];
  /** Problem and remedy, for people. */
  readonly text: string;
}

interface BacklogReport {
  readonly node: Pick<ClusterNode, 'name' | 'overlay'>;
  readonly backlog: Backlog;
}

/** Asks running nodes that report it. @throws ClientError */
export async function congestionOf(
  nodes: readonly ClusterNode[],
  signal?: AbortSignal,
): Promise<CongestedNeighbourhood[]> {
  const able = nodes.filter((node) => node.running && reportsBacklog(node));
  const reports = await Promise.all(
    able.map(async (node) => ({ node, backlog: await node.client.backlog(signal) })),
  );
  return congested(
    reports,
    nodes.filter(({ mode, running }) => mode === 'full' && running),
  );
}

/** Only our own full nodes can report it. */
export function reportsBacklog(node: Pick<ClusterNode, 'mode' | 'api' | 'debug'> & Flavoured): boolean {
  const { mode, api, debug } = node;
  return mode === 'full' && flavourOf(node).debugApi && debug !== api;
}

export function congested(
  reports: readonly BacklogReport[],
  nodes: readonly Pick<ClusterNode, 'overlay'>[],
): CongestedNeighbourhood[] {
  const full = reports.filter(({ backlog }) => backlog.reserve.full);
  const prefixes = new Set([
    ...reports.flatMap(({ backlog }) => backlog.uploads.map(({ neighborhood }) => neighborhood)),
    ...reports.flatMap(({ backlog }) => backlog.reserve.leftovers.map(({ neighborhood }) => neighborhood)),
    ...full.map((one) => prefixOf(one)),
  ]);
  return [...prefixes].toSorted().map((neighbourhood) => {
    const waits = reports.flatMap(({ node, backlog }) =>
      backlog.uploads.filter((one) => one.neighborhood === neighbourhood).map((one) => ({ node, ...one })),
    );
    const waiting = waits.reduce((sum, { chunks }) => sum + chunks, 0);
    const leftover = reports
      .flatMap(({ backlog }) => backlog.reserve.leftovers)
      .filter((one) => one.neighborhood === neighbourhood)
      .reduce((sum, { chunks }) => sum + chunks, 0);
    const fullHere = full.filter((one) => overlap(prefixOf(one), neighbourhood));
    const isEmpty = !nodes.some(({ overlay }) => isIn(overlay, neighbourhood));
    const parts = [
      ...(waiting > 0
        ? [`${plural(waiting, 'chunk')} of ${namesOf(waits)} wait${waiting === 1 ? 's' : ''}`]
        : []),
      ...(leftover > 0 ? [`${plural(leftover, 'chunk')} cannot be handed over`] : []),
      ...fullHere.map(
        ({ node, backlog: { reserve } }) =>
          `${node.name} is full (${grouped(reserve.sizeWithinRadius)} of ${grouped(reserve.capacity)} chunks)`,
      ),
      ...(isEmpty ? ['no node is in it'] : []),
      ...(fullHere.length === 0 && !isEmpty && waits[0] !== undefined ? [waits[0].reason] : []),
    ];
    const text = `neighbourhood ${shown(neighbourhood)}: ${parts.join(', ')}; ${helpFor(neighbourhood, fullHere, isEmpty)}`;
    return { neighbourhood, waiting, leftover, full: fullHere.map(({ node }) => node.name), text };
  });
}

function helpFor(neighbourhood: string, full: readonly BacklogReport[], isEmpty: boolean): string {
  if (isEmpty) return `add a node whose overlay starts with ${neighbourhood}`;
  const missing = [...new Set(full.flatMap(({ backlog }) => backlog.reserve.missing ?? []))];
  if (full.length === 0) return 'see the logs of its nodes';
  const node =
    missing.length === 0 ? '' : `add a node whose overlay starts with ${missing.join(' or ')}, or `;
  return `${node}raise reserve-capacity`;
}

function prefixOf({ node, backlog }: BacklogReport): string {
  return addressPrefix(fromHex(node.overlay), backlog.reserve.storageRadius);
}

function isIn(overlay: string, neighbourhood: string): boolean {
  return addressPrefix(fromHex(overlay), neighbourhood.length) === neighbourhood;
}

function overlap(a: string, b: string): boolean {
  return a.startsWith(b) || b.startsWith(a);
}

function namesOf(waits: readonly { readonly node: BacklogReport['node'] }[]): string {
  const names = waits.map(({ node }) => node.name);
  return names.length > 2 ? `${names[0]} and ${names.length - 1} more` : names.join(' and ');
}

function shown(neighbourhood: string): string {
  return neighbourhood === '' ? '(all addresses)' : neighbourhood;
}
