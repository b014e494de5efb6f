/** Watches a scenario and records facts: answers, places of chunks, payments. */
import { HarnessError } from '../../base/errors.ts';
import { until } from '../../base/wait.ts';
import type { ExchangeOutcome, RequestOptions } from '../../client/http.ts';
import type { Link, NodeBooks } from '../../cluster/books/books.ts';
import { probeLinks } from '../../cluster/books/node-books.ts';
import type { Cluster } from '../../cluster/cluster.ts';
import type { ClusterNode } from '../../cluster/nodes/cluster-node.ts';
import { DRIVER_FACTS } from '../../places/facts.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { type Placement, PlacementWatch } from '../ledger/placement.ts';
import {
  type Answered,
  answerParts,
  batchName,
  ContentText,
  type Fact,
  isDocument,
  isMomentary,
  learn,
  Names,
  placeOf,
  requestText,
  STATUS,
} from './canonical.ts';

const PLACED_TIMEOUT_MS = 60_000;
const BOOKS_TIMEOUT_MS = 30_000;
/** Books unchanged for so long, with nothing under way, are final. */
const BOOKS_STILL_MS = 10_000;
/** Accounting units per chunk and bit of distance. */
const PRICE_UNIT = 10_000n;
/** Only the last answer to a reading request counts. */
const READING = new Set(['GET', 'HEAD']);

interface Exchange {
  readonly request: Pick<RequestOptions, 'method' | 'path'>;
  what: string;
  answer?: Pick<Answered, 'status' | 'headers'>;
  document?: string;
  content?: ContentText;
  failure?: string;
}

export interface Watched {
  readonly cluster: Pick<Cluster, 'nodes' | 'batches' | 'clock' | 'chain' | 'driver'>;
  readonly ledger: Pick<Ledger, 'entries'>;
  readonly signal: AbortSignal;
}

/** Nodes that join later are not heard. */
export class ScenarioWatch {
  readonly #exchanges = new Map<unknown, Exchange>();
  /** How often each changing request was asked and answered. */
  readonly #times = new Map<string, number>();
  readonly #names = new Names();
  readonly #watched: Watched;
  readonly #scenario: string;

  constructor(watched: Watched, scenario: string) {
    this.#watched = watched;
    this.#scenario = scenario;
    const { nodes, batches } = watched.cluster;
    for (const { id, node } of batches) this.#names.add(id, batchName(node));
    for (const { client } of nodes) client.observe((node, request) => this.#hear(node, request));
  }

  async facts(): Promise<Fact[]> {
    const { cluster, signal, ledger } = this.#watched;
    for (const { client } of cluster.nodes) client.observe(undefined);
    const answers = [...this.#exchanges.values()].flatMap((exchange) => this.#factsOf(exchange));
    const working = cluster.nodes.filter(({ running, mode }) => running && mode !== 'boot');
    const chunks = ledger.entries.flatMap((entry) => entry.chunks);
    const placed = await placement(chunks, working, { clock: cluster.clock, signal });
    const money = await this.#money(working);
    return [...answers, ...placed, ...money].map((fact) => ({
      ...fact,
      what: `${this.#scenario}: ${fact.what}`,
    }));
  }

  /** Searches for chunks are left out: the placement shows them. */
  #hear(node: string, request: RequestOptions): ExchangeOutcome {
    const text = requestText(node, request, this.#names);
    const { method, path } = request;
    const reads = READING.has(method);
    const exchange: Exchange = { request: { method, path }, what: text };
    const isTold = method !== 'HEAD' || !path.startsWith('/chunks/');
    if (isTold && !reads) this.#exchanges.set(exchange, exchange);
    // Of several readings, the last to end counts.
    const ended = () => {
      if (isTold && reads) this.#exchanges.set(text, exchange);
    };
    const heard = () => {
      const { answer } = exchange;
      if (answer !== undefined)
        learn({ ...answer, body: bodyOf(exchange) }, node, exchange.what, this.#names);
    };
    return {
      answered: (status, headers) => {
        exchange.answer = { status, headers };
        ended();
        if (!reads) exchange.what = this.#numbered(text);
        heard();
      },
      read: (content) => {
        if (exchange.answer === undefined || !isDocument(request, exchange.answer)) {
          exchange.content = (exchange.content ?? new ContentText()).add(content);
          return;
        }
        exchange.document = (exchange.document ?? '') + Buffer.from(content as string).toString();
        heard();
      },
      failed: (kind) => {
        exchange.failure = kind;
        ended();
        if (!reads && exchange.answer === undefined) exchange.what = this.#numbered(text);
      },
    };
  }

  /** Each repeated request counts. Of two at once the first answer is the first. */
  #numbered(text: string): string {
    const times = (this.#times.get(text) ?? 0) + 1;
    this.#times.set(text, times);
    return times === 1 ? text : `${text} (${times})`;
  }

  #factsOf(exchange: Exchange): Fact[] {
    const { request, what, answer, failure } = exchange;
    const body = bodyOf(exchange);
    const momentary = isMomentary(request);
    const kind = momentary ? 'shape' : 'http';
    // What is still under way belongs to others, such as the run's watch.
    if (answer === undefined && failure === undefined) return [];
    const parts =
      answer === undefined
        ? ([[STATUS, 'no answer']] as const)
        : answerParts({ ...answer, body }, { names: this.#names, momentary });
    return parts.map(([place, seen]) => ({
      kind,
      what: placeOf(what, place),
      seen: place === STATUS && failure !== undefined ? `${seen}, then ${failure}` : seen,
      ...(momentary ? { ifBoth: true as const } : {}),
    }));
  }

  async #money(nodes: readonly ClusterNode[]): Promise<Fact[]> {
    const { cluster, signal } = this.#watched;
    const nameOf = (peer: string) => cluster.nodes.find(({ overlay }) => overlay === peer)?.name ?? peer;
    const settled = await settledBooks(cluster, signal);
    // Which links count differently then is chance.
    const books = typeof settled === 'string' ? [] : settled;
    const [rate = 1n] = await cluster.chain.words(cluster.chain.contracts.swapPriceOracle, 'getPrice()');
    const isRepeated = DRIVER_FACTS[cluster.driver].simulated;
    const links = books.flatMap(({ name, links: all }) =>
      all.map(
        (link): Fact => ({
          kind: 'money',
          what: `what ${name} and ${nameOf(link.peer)} did`,
          ...(isRepeated ? { seen: bookText(link) } : { seen: priceText(link, rate), ifBoth: true }),
        }),
      ),
    );
    const given = new Set(this.#watched.cluster.batches.map(({ id }) => id));
    const batches = await Promise.all(
      nodes.map(async ({ name, client }) =>
        (await client.stamps.list(signal))
          // An earlier scenario bought these.
          .filter(({ batchID }) => this.#names.has(batchID))
          .map(
            ({ batchID, depth, bucketDepth, amount, immutableFlag }): Fact => ({
              kind: 'money',
              what: `${name} ${this.#names.in(batchID)}`,
              seen: `amount ${amount}, depth ${depth}, bucket depth ${bucketDepth}, immutable ${immutableFlag}`,
              // A new batch may not be listed yet; its purchase's answer tells of it.
              ...(given.has(batchID) ? {} : { ifBoth: true as const }),
            }),
          ),
      ),
    );
    const ends: Fact = {
      kind: 'money',
      what: 'both ends of each link',
      ...(typeof settled === 'string'
        ? { seen: 'count differently', detail: settled }
        : { seen: 'count the same' }),
    };
    return [ends, ...links, ...batches.flat()];
  }
}

/** @returns the books once both ends of each link agree, or a lasting difference */
async function settledBooks(
  { nodes, clock }: Pick<Cluster, 'nodes' | 'clock'>,
  signal: AbortSignal,
): Promise<readonly NodeBooks[] | string> {
  let gap: string | undefined;
  let since = 0;
  const probe = async (limit: AbortSignal) => {
    const books = await probeLinks(nodes, limit);
    if ('done' in books) return books;
    const now = clock.monotonic();
    if (books.missing !== gap) [gap, since] = [books.missing, now];
    return now - since < BOOKS_STILL_MS ? books : { done: books.missing };
  };
  const limits = { clock, timeoutMs: BOOKS_TIMEOUT_MS, signal };
  return inTime(until<readonly NodeBooks[] | string>('the nodes have not settled', probe, limits));
}

/**
 * Who was asked first decides how much two nodes did for each other and how it was paid. The total cost is a multiple of the
 * unit.
 * @param rate token units for an accounting unit
 */
function priceText(link: Link, rate: bigint): string {
  const { balance, timeReceived, timeSent, chequeReceived, chequeSent } = link;
  const rest = (balance + timeReceived - timeSent + (chequeReceived - chequeSent) / rate) % PRICE_UNIT;
  return `${rest === 0n ? 'a' : 'no'} multiple of ${PRICE_UNIT}`;
}

/** Deterministic in virtual time. */
function bookText({ balance, timeReceived, timeSent, chequeReceived, chequeSent }: Link): string {
  return `owes ${balance}, by time sent ${timeReceived} and got ${timeSent}, by cheques sent ${chequeReceived} and got ${chequeSent}`;
}

async function placement(
  chunks: readonly string[],
  nodes: readonly ClusterNode[],
  { clock, signal }: Pick<Cluster, 'clock'> & { readonly signal: AbortSignal },
): Promise<Fact[]> {
  const storers = nodes.filter(({ mode }) => mode === 'full');
  if (storers.length === 0 || chunks.length === 0) return [];
  const watch = new PlacementWatch(chunks, storers);
  const others = nodes.filter(({ mode }) => mode !== 'full');
  const probe = async (limit: AbortSignal) => {
    const placed = await watch.probe(limit);
    const isOver = watch.astray.length > 0 && (await areNowhere(watch.astray, others, limit));
    return isOver ? { done: watch.placed } : placed;
  };
  const limits = { clock, timeoutMs: PLACED_TIMEOUT_MS, signal };
  const late = await inTime(until('chunks are not where they belong', probe, limits));
  const found = [...watch.placed, ...watch.astray];
  if (found.length === 0 && typeof late === 'string') throw new HarnessError('RUN_INVALID', late);
  return found.map(({ chunk, wanted, lacking }) => ({
    kind: 'placement',
    what: `chunk ${chunk}`,
    seen: wanted.map((node) => (lacking.includes(node) ? `not on ${node.name}` : node.name)).join(', '),
    // Its reference, in an answer, tells what another network has instead.
    ifBoth: true,
  }));
}

/** @param others nodes that do not store for the network */
async function areNowhere(
  astray: readonly Placement[],
  others: readonly ClusterNode[],
  signal: AbortSignal,
): Promise<boolean> {
  if (astray.some(({ holders }) => holders.length > 0)) return false;
  const held = astray.flatMap(({ chunk }) => others.map((node) => node.holds(chunk, signal)));
  return (await Promise.all(held)).every((holds) => !holds);
}

function bodyOf({ document, content }: Exchange): Answered['body'] {
  if (document !== undefined) return { json: document };
  return content === undefined ? undefined : { content: String(content) };
}

/** @returns the result, or what was missing in the end, which is seen of the network as well */
async function inTime<T>(wait: Promise<T>): Promise<T | string> {
  try {
    return await wait;
  } catch (error) {
    if (error instanceof HarnessError && error.code === 'WAIT_TIMEOUT') return error.message;
    throw error;
  }
}
