import { fromHex } from '../../../formats/crypto/hex.ts';
import { HarnessError, interrupted } from '../../base/errors.ts';
import { MACHINE_CLOCK } from '../../base/machine/clock.ts';
import type { NodeState } from '../../cluster/nodes/node-run.ts';
import type { FlavourName, NodeMode } from '../../flavours/flavour.ts';
import type { TapEvent } from '../../places/links/tap/events.ts';
import { rankStorers } from '../ledger/placement.ts';
import { type Survey, type SurveyOptions, survey } from './content.ts';
import { overheard } from './overheard.ts';
import { type Route, routeOf, type Testimony } from './route.ts';
import { byChunk, type TracedNode, testimonies, type Witness, witnessesOf } from './witnesses.ts';

export interface TraceDocument {
  /** ISO 8601. */
  readonly at: string;
  readonly name: string;
  /** As given, in lower case. */
  readonly reference: string;
  readonly encrypted: boolean;
  /** Ms since the epoch. */
  readonly began: number;
  readonly nodes: readonly NodeDocument[];
  readonly content: ContentDocument;
  /** The root first. */
  readonly chunks: readonly ChunkDocument[];
  /** What could not be found out, and how it could. */
  readonly notes: readonly string[];
}

interface NodeDocument {
  readonly name: string;
  readonly overlay: string;
  readonly flavour: FlavourName;
  readonly mode: NodeMode;
  readonly state: NodeState;
  /** Why it did not answer or was not asked; null: it did. */
  readonly silence: string | null;
  /** Null: stores nothing for others. */
  readonly storageRadius: number | null;
  /** Null: it cannot keep events. */
  readonly events: { readonly capacity: number; readonly lost: number } | null;
}

interface ContentDocument {
  /** With the root, as far as read. */
  readonly chunks: number;
  readonly found: number;
  /** 64 hex digits each. */
  readonly missing: readonly string[];
  /** Why there may be more chunks; null: these are all. */
  readonly unread: string | null;
  /** By number of holders, most copies first. */
  readonly copies: readonly { readonly copies: number; readonly chunks: number }[];
  /** The slowest push first; empty without events. */
  readonly slowest: readonly { readonly chunk: string; readonly node: string; readonly ms: number }[];
}

export interface ChunkDocument {
  /** 64 hex digits. */
  readonly chunk: string;
  /** In their store, for any reason. */
  readonly holders: readonly string[];
  /** Full nodes that should hold it, closest first. */
  readonly belongs: readonly Belonging[];
  readonly route: Route;
}

export interface Belonging {
  readonly node: string;
  /** Of node and chunk. */
  readonly proximityOrder: number;
  readonly closest: boolean;
  /** Null: it cannot be asked. */
  readonly holds: boolean | null;
}

export interface TraceRequest extends SurveyOptions {
  readonly name: string;
  /** Ms since the epoch. */
  readonly began: number;
  /** 64 or 128 hex digits, lower case. */
  readonly reference: string;
  readonly nodes: readonly TracedNode[];
  readonly chunks: number;
  /** What nodes said to each other, oldest first; read when a node reports no events. */
  readonly messages?: AsyncIterable<TapEvent> | undefined;
}

const SLOWEST_SHOWN = 5;
const ADDRESS_DIGITS = 64;

/** @throws ClientError of a node that stops answering */
export async function trace(request: TraceRequest): Promise<TraceDocument> {
  const { name, began, reference, signal } = request;
  const witnesses = await witnessesOf(request.nodes, signal);
  const found = await survey(reference, witnesses, request);
  const addresses = [...found.holders.keys()];
  // Nodes filter events of a single chunk.
  const single = addresses.length === 1 ? addresses[0] : undefined;
  const told = await testimonies(witnesses, single, signal);
  const reporting = new Set(told.map(({ node }) => node));
  const isComplete = witnesses.every(({ node }) => reporting.has(node.name));
  const heard = isComplete ? undefined : await heardBetween(witnesses, single, request);
  const others = heard?.told.filter(({ node }) => !reporting.has(node)) ?? [];
  const of = byChunk([...told, ...others]);
  return {
    at: new Date(MACHINE_CLOCK.now()).toISOString(),
    name,
    reference,
    began,
    encrypted: reference.length > ADDRESS_DIGITS,
    nodes: witnesses.map(nodeDocument),
    content: contentDocument(found, of),
    chunks: addresses
      .slice(0, request.chunks)
      .map((chunk) =>
        chunkDocument({ chunk, holders: found.holders.get(chunk) ?? [] }, witnesses, of(chunk)),
      ),
    notes: notesOn(witnesses, heard),
  };
}

interface Heard {
  readonly told: readonly Testimony[];
  readonly failure?: string;
}

/** @param wanted undefined: all chunks @returns undefined without a tap */
async function heardBetween(
  witnesses: readonly Witness[],
  wanted: string | undefined,
  { messages, signal }: Pick<TraceRequest, 'messages' | 'signal'>,
): Promise<Heard | undefined> {
  if (messages === undefined) return undefined;
  const nodes = witnesses.map(({ node }) => node);
  try {
    const told = await overheard(messages, nodes, wanted);
    // An aborted tap ends without an error.
    if (signal.aborted) throw interrupted(signal);
    return { told };
  } catch (error) {
    if (signal.aborted || !(error instanceof HarnessError)) throw error;
    return { told: [], failure: error.message };
  }
}

/** The same for one chunk, such as a ledger's missing one. */
export async function traceChunk(
  chunk: string,
  nodes: readonly TracedNode[],
  signal: AbortSignal,
): Promise<ChunkDocument> {
  const witnesses = await witnessesOf(nodes, signal);
  const asked = witnesses.filter(({ silence }) => silence === undefined).map(({ node }) => node);
  const held = await Promise.all(asked.map((node) => node.client.chunks.has(chunk, signal)));
  const holders = asked.filter((_, i) => held[i]).map(({ name }) => name);
  return chunkDocument({ chunk, holders }, witnesses, await testimonies(witnesses, chunk, signal));
}

function nodeDocument({ node, silence, radius, ring }: Witness): NodeDocument {
  const { name, overlay, flavour, mode, state } = node;
  return {
    name,
    overlay,
    flavour,
    mode,
    state,
    silence: silence ?? null,
    storageRadius: radius ?? null,
    events: ring ?? null,
  };
}

function contentDocument(
  { holders, unread }: Survey,
  of: (address: string) => readonly Testimony[],
): ContentDocument {
  const missing = [...holders].filter(([, names]) => names.length === 0).map(([chunk]) => chunk);
  const byCopies = Map.groupBy(holders.values(), (names) => names.length);
  return {
    chunks: holders.size,
    found: holders.size - missing.length,
    missing,
    unread: unread ?? null,
    copies: [...byCopies]
      .map(([copies, chunks]) => ({ copies, chunks: chunks.length }))
      .sort((a, b) => b.copies - a.copies),
    slowest: [...holders.keys()]
      .flatMap((chunk) => longestPush(chunk, of(chunk)))
      .sort((a, b) => b.ms - a.ms)
      .slice(0, SLOWEST_SHOWN),
  };
}

/** The push from a node's first attempt to the receipt that counted. */
function longestPush(
  chunk: string,
  told: readonly Testimony[],
): { chunk: string; node: string; ms: number }[] {
  const pushes = told.flatMap(({ node, events }) => {
    const from = events.find(({ kind }) => kind === 'pushing');
    const to = events.findLast(({ kind }) => kind === 'synced' || kind === 'kept');
    return from === undefined || to === undefined || to.seq < from.seq
      ? []
      : [{ chunk, node, ms: to.at - from.at }];
  });
  return pushes.sort((a, b) => b.ms - a.ms).slice(0, 1);
}

function chunkDocument(
  { chunk, holders }: { readonly chunk: string; readonly holders: readonly string[] },
  witnesses: readonly Witness[],
  told: readonly Testimony[],
): ChunkDocument {
  const names = new Map(witnesses.map(({ node }) => [node.overlay, node.name]));
  return {
    chunk,
    holders,
    belongs: belongings(fromHex(chunk), holders, witnesses),
    route: routeOf(told, (overlay) => names.get(overlay)),
  };
}

/** An unreported radius is assumed to be the others' largest. */
function belongings(
  chunk: Uint8Array,
  holders: readonly string[],
  witnesses: readonly Witness[],
): Belonging[] {
  const known = Math.max(0, ...witnesses.map(({ radius }) => radius ?? 0));
  const storers = witnesses
    .filter(({ node }) => node.mode === 'full')
    .map((witness) => ({ ...witness, radius: witness.radius ?? known }));
  return rankStorers(chunk, storers).flatMap(({ storer, proximityOrder, belongs }, rank) =>
    belongs
      ? [
          {
            node: storer.node.name,
            proximityOrder,
            closest: rank === 0,
            holds: storer.silence === undefined ? holders.includes(storer.node.name) : null,
          },
        ]
      : [],
  );
}

function notesOn(witnesses: readonly Witness[], heard: Heard | undefined): string[] {
  const isTapped = heard !== undefined;
  const silent = witnesses.filter(({ silence }) => silence !== undefined);
  const answering = witnesses.filter(({ silence }) => silence === undefined);
  const foreign = answering.filter(({ ring }) => ring === undefined);
  const off = answering.filter(({ ring }) => ring?.capacity === 0);
  const lossy = answering.filter(({ ring }) => ring !== undefined && ring.lost > 0);
  return [
    ...silent.map(({ node, silence }) => `${node.name} was not asked: ${silence}`),
    ...(heard?.failure === undefined ? [] : [`messages between nodes cannot be read: ${heard.failure}`]),
    ...(isTapped && heard.failure === undefined && off.length + foreign.length > 0
      ? [
          `the route through ${named([...foreign, ...off])} is read from the messages between nodes: what happens inside them is not known`,
        ]
      : []),
    ...(off.length === 0 || isTapped
      ? []
      : [`${withoutEvents(off, answering.length - foreign.length)}; ${HOW_TO_KEEP}`]),
    ...(foreign.length === 0 || isTapped
      ? []
      : [
          `${named(foreign)} ${foreign.length === 1 ? 'reports' : 'report'} nothing of a chunk's route, only whether the local store holds it; ${HOW_TO_HEAR}`,
        ]),
    ...lossy.map(
      ({ node, ring }) =>
        `${node.name} has lost its oldest ${ring?.lost} events: it keeps ${ring?.capacity} (node option chunk-events)`,
    ),
  ];
}

const HOW_TO_KEEP = 'start the cluster with svcnet up --trace, or set the node option chunk-events';

const HOW_TO_HEAR = 'to read the route from messages, start the cluster with svcnet up --tap';

function withoutEvents(off: readonly Witness[], able: number): string {
  if (off.length === able) return 'no node keeps chunk events, so the route is not known';
  const verb = off.length === 1 ? 'keeps' : 'keep';
  return `${named(off)} ${verb} no chunk events, so part of the route is not known`;
}

function named(witnesses: readonly Witness[]): string {
  return witnesses.map(({ node }) => node.name).join(', ');
}
