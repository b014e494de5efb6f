/**
 * Why an acknowledged chunk is nowhere: its place, who acknowledged it, who had it, what removed it, and its last event.
 * Based on chunk events, if nodes keep any.
 */
import { addressPrefix, proximityOrder } from '../../../formats/chunk/address.ts';
import { fromHex } from '../../../formats/crypto/hex.ts';
import type { ChunkEvent } from '../../../node/env/chunk-events.ts';
import { grouped, plural } from '../../base/format.ts';
import type { Loss } from '../../report/result.ts';
import { rankStorers } from '../ledger/placement.ts';
import type { Testimony } from './route.ts';
import {
  askedForBatches,
  byChunk,
  type Ring,
  type TracedNode,
  testimonies,
  type Witness,
  witnessesOf,
} from './witnesses.ts';

/** Of each kind of gap. */
const NODES_NAMED = 4;
const ARRIVALS: readonly ChunkEvent['kind'][] = ['stored', 'pulled', 'kept'];
const DEPARTURES: readonly ChunkEvent['kind'][] = ['evicted', 'replaced'];
const ENDS: Readonly<Partial<Record<ChunkEvent['kind'], string>>> = {
  uploaded: 'took it from a client',
  queued: 'kept it to be pushed',
  pushing: 'began to push it',
  'push-failed': 'could not deliver it',
  'not-synced': 'got no receipt that counts',
  synced: 'got a receipt',
  kept: 'kept it, because no other node takes it',
  received: 'was given it by a peer',
  refused: 'refused it',
  forwarded: 'passed a receipt back',
  stored: 'stored it',
  signed: 'signed its receipt',
  pulled: 'pulled it',
  evicted: 'evicted it',
  replaced: 'gave its place to a newer stamp',
};

/**
 * `uncovered`: no running node covers its neighbourhood. `evicted`, `replaced`: every node that had it in its reserve
 * dropped it. `away`: a node that had, or may have had, it does not answer. `never-stored`: no event of storing it.
 * `displaced`: no events, but its full batch gave older slots to newer chunks. `vanished`: a node stored it, and no event
 * says that it has left. `untold`: nodes keep no events, or lost them.
 */
export type LossCause =
  | 'uncovered'
  | 'evicted'
  | 'replaced'
  | 'away'
  | 'never-stored'
  | 'displaced'
  | 'vanished'
  | 'untold';

/** A missing chunk, its fate and the evidence. */
export interface Diagnosis {
  /** 64 hex digits. */
  readonly chunk: string;
  readonly reference: string;
  /** Acknowledged it. */
  readonly uploader: string;
  /** First bits, as many as the largest radius. */
  readonly neighbourhood: string;
  /** Full nodes that cover it with their current radius. */
  readonly covering: readonly string[];
  /** The closest full node. */
  readonly closest: { readonly node: string; readonly proximityOrder: number } | null;
  readonly receipts: readonly string[];
  /** Of the last receipt, ms since the epoch; null: none known. */
  readonly receiptAt: number | null;
  /** In their reserve. */
  readonly had: readonly string[];
  /** Signed its receipt, with no event of storing it before. */
  readonly signedOnly: readonly string[];
  /** Nodes whose events may not have all of it. */
  readonly gaps: readonly { readonly node: string; readonly why: string }[];
  readonly left: readonly { readonly node: string; readonly at: number; readonly why: string }[];
  /** Cannot be asked. */
  readonly silent: readonly { readonly node: string; readonly why: string }[];
  /** How many older chunks its batch displaced; null: none. */
  readonly displacing: { readonly batch: string; readonly chunks: number } | null;
  readonly end: { readonly node: string; readonly at: number; readonly what: string } | null;
  readonly cause: LossCause;
}

/** Reads nodes' events once. @throws ClientError of a node that stops answering */
export async function diagnose(
  losses: readonly Loss[],
  nodes: readonly TracedNode[],
  signal: AbortSignal,
): Promise<Diagnosis[]> {
  if (losses.length === 0) return [];
  const witnesses = await askedForBatches(await witnessesOf(nodes, signal), signal);
  const single = losses.length === 1 ? losses[0]?.chunk : undefined;
  const of = byChunk(await testimonies(witnesses, single, signal));
  return losses.map((loss) => diagnosisOf(loss, witnesses, of(loss.chunk)));
}

export function diagnosisOf(
  { chunk, reference, uploader, batch }: Loss,
  witnesses: readonly Witness[],
  told: readonly Testimony[],
): Diagnosis {
  const address = fromHex(chunk);
  const names = new Map(witnesses.map(({ node }) => [node.overlay, node.name]));
  const full = witnesses.filter(({ node }) => node.mode === 'full');
  const answering = full.filter(({ silence }) => silence === undefined);
  const deepest = Math.max(0, ...answering.map(({ radius }) => radius ?? 0));
  const nearest = rankStorers(
    address,
    full.map((witness) => ({ ...witness, radius: witness.radius ?? deepest })),
  )[0];
  const covering = answering
    .filter(({ overlay, radius }) => proximityOrder(overlay, address) >= (radius ?? deepest))
    .map(({ node }) => node.name);
  const events = told
    .flatMap(({ node, events: own }) => own.map((event) => ({ node, event })))
    .sort((a, b) => a.event.at - b.event.at);
  const having = (kinds: readonly ChunkEvent['kind'][]) =>
    events.filter(({ event }) => kinds.includes(event.kind));
  const left = having(DEPARTURES).map(({ node, event }) => ({
    node,
    at: event.at,
    why: event.kind === 'replaced' ? 'a newer stamp took its index' : (event.detail ?? 'it gave no reason'),
  }));
  const had = unique(having(ARRIVALS).map(({ node }) => node));
  const receipts = unique(
    events.flatMap(({ event: { kind, peer } }) =>
      kind === 'synced' && peer !== undefined ? [names.get(peer) ?? peer.slice(0, 8)] : [],
    ),
  );
  const last = events.findLast(({ event }) => ENDS[event.kind] !== undefined);
  const facts = {
    chunk,
    reference,
    uploader,
    neighbourhood: addressPrefix(address, deepest),
    covering,
    closest:
      nearest === undefined
        ? null
        : { node: nearest.storer.node.name, proximityOrder: nearest.proximityOrder },
    receipts,
    receiptAt: having(['synced']).at(-1)?.event.at ?? null,
    had,
    signedOnly: unique(having(['signed']).map(({ node }) => node)).filter((node) => !had.includes(node)),
    gaps: gapsOf(witnesses, [uploader, ...receipts], new Set(events.map(({ node }) => node))),
    left,
    silent: witnesses.flatMap(({ node, silence }) =>
      silence === undefined ? [] : [{ node: node.name, why: silence }],
    ),
    displacing: displacingOf(batch, witnesses),
    end: last === undefined ? null : { node: last.node, at: last.event.at, what: endText(last.event) },
  };
  const mayHave = full.some(
    ({ overlay, silence }) => silence !== undefined && proximityOrder(overlay, address) >= deepest,
  );
  const departure = having(DEPARTURES).at(-1)?.event.kind;
  return { ...facts, cause: causeOf(facts, { mayHave, departure }) };
}

function displacingOf(batch: string, witnesses: readonly Witness[]): Diagnosis['displacing'] {
  const chunks = Math.max(0, ...witnesses.map(({ displaced }) => displaced?.get(batch) ?? 0));
  return chunks === 0 ? null : { batch, chunks };
}

function endText({ kind, detail }: ChunkEvent): string {
  return `${ENDS[kind]}${detail === undefined ? '' : ` (${detail})`}`;
}

/** @param involved dealt with the chunk for certain @param telling have an event of it */
function gapsOf(
  witnesses: readonly Witness[],
  involved: readonly string[],
  telling: ReadonlySet<string>,
): Diagnosis['gaps'] {
  const answering = witnesses.filter(({ silence }) => silence === undefined);
  const rings = new Map(answering.map(({ node, ring }) => [node.name, ring]));
  const storers = answering.filter(({ node }) => node.mode === 'full').map(({ node }) => node.name);
  return unique([...storers, ...involved]).flatMap((node) => {
    const ring = rings.get(node);
    // What a node did before its last start is in no ring.
    const isNew = involved.includes(node) && !telling.has(node);
    const why = !rings.has(node) ? 'not asked' : (gapIn(ring) ?? (isNew ? 'started again since' : undefined));
    return why === undefined ? [] : [{ node, why }];
  });
}

function gapIn(ring: Ring | undefined): string | undefined {
  if (ring === undefined || ring.capacity === 0) return 'none kept';
  return ring.lost === 0 ? undefined : 'the oldest overwritten';
}

/** `node-0, node-1 (none kept); node-3 (started again since)` */
function gapText(gaps: Diagnosis['gaps']): string {
  return [...Map.groupBy(gaps, ({ why }) => why)]
    .map(([why, of]) => {
      const more = of.length > NODES_NAMED ? ` and ${of.length - NODES_NAMED} more` : '';
      const named = of.slice(0, NODES_NAMED).map(({ node }) => node);
      return `${named.join(', ')}${more} (${why})`;
    })
    .join('; ');
}

interface Known {
  readonly mayHave: boolean;
  readonly departure: ChunkEvent['kind'] | undefined;
}

function causeOf(
  { covering, had, left, silent, displacing, gaps }: Omit<Diagnosis, 'cause'>,
  { mayHave, departure }: Known,
): LossCause {
  const gone = new Set(left.map(({ node }) => node));
  const hadAndSilent = silent.some(({ node }) => had.includes(node) && !gone.has(node));
  if (hadAndSilent || mayHave) return 'away';
  if (covering.length === 0) return 'uncovered';
  if (departure === 'replaced') return 'replaced';
  if (departure === 'evicted') return 'evicted';
  if (silent.length > 0) return 'away';
  if (gaps.length === 0 && had.length === 0) return 'never-stored';
  // A ring that has its arrival has all that came after.
  if (had.length > 0) return 'vanished';
  return displacing === null ? 'untold' : 'displaced';
}

export function diagnosisLines(diagnoses: readonly Diagnosis[], shown: number): string[] {
  const causes = Map.groupBy(diagnoses, causeText);
  const counts = [...causes]
    .sort(([, a], [, b]) => b.length - a.length)
    .map(([text, { length }]) => `${plural(length, 'chunk')}: ${text}`);
  const rest = diagnoses.length - Math.min(shown, diagnoses.length);
  return [
    ...counts,
    ...diagnoses.slice(0, shown).map(diagnosisLine),
    ...(rest === 0 ? [] : [`and ${grouped(rest)} more, in losses.jsonl of the run's folder`]),
  ];
}

function causeText(diagnosis: Diagnosis): string {
  const { cause, neighbourhood, covering, left, silent, displacing, had, signedOnly, gaps } = diagnosis;
  const place = `neighbourhood ${neighbourhood === '' ? '(all addresses)' : neighbourhood}`;
  const last = left.at(-1);
  switch (cause) {
    case 'uncovered':
      return `${place} has no node at the present radius, so no node has to keep its chunks`;
    case 'evicted':
      return `${place}, covered by ${covering.join(', ')}: the last node that had it, ${last?.node}, evicted it (${last?.why})`;
    case 'replaced':
      return `${place}: its stamp index was used again, and ${last?.node} replaced it`;
    case 'away':
      return `${place}: ${silent.map(({ node, why }) => `${node} cannot be asked (${why})`).join(', ')}`;
    case 'never-stored':
      return `${place}, covered by ${covering.join(', ')}: ${signedOnly.length === 0 ? 'no node has ever stored it' : `${signedOnly.join(', ')} signed its receipt without storing it`}`;
    case 'vanished':
      return `${place}, covered by ${covering.join(', ')}: it was stored on ${had.join(', ')}, and is gone without an event of dropping it`;
    case 'displaced':
      return `its batch ${displacing?.batch.slice(0, 8)} is mutable and full: ${plural(displacing?.chunks ?? 0, 'stamp')} took the place of its oldest chunks, which nodes then drop; dilute it, or buy a deeper one`;
    case 'untold':
      return `${place}, covered by ${covering.join(', ')}: what became of it is not known, because chunk events are missing: ${gapText(gaps)}`;
  }
}

function diagnosisLine({ chunk, uploader, reference, closest, receipts, had, left, end }: Diagnosis): string {
  return [
    `chunk ${chunk}: acknowledged by ${uploader} below ${reference}`,
    closest === null
      ? 'no full node is there'
      : `closest ${closest.node} (${plural(closest.proximityOrder, 'bit')} in common)`,
    ...(receipts.length === 0 ? [] : [`receipts of ${receipts.join(', ')}`]),
    ...(had.length === 0 ? [] : [`was on ${had.join(', ')}`]),
    ...left.map(({ node, why }) => `left ${node}: ${why}`),
    ...(end === null ? [] : [`last heard of: ${end.node} ${end.what}`]),
  ].join('; ');
}

function unique(names: readonly string[]): string[] {
  return [...new Set(names)];
}
