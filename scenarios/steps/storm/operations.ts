import { ClientError, type ClusterNode } from 'svcnet';
import {
  expectBytes,
  expectFile,
  type LedgerEntry,
  makeCac,
  type ScheduledOperation,
  toHex,
} from 'svcnet/scenario';
import { heldByNobody } from '../presence.ts';
import { batchOf, difference, runningNode } from '../steps.ts';
import { Departures } from './departures.ts';
import type { Outcome, StormContext } from './parameters.ts';

type Of<D extends ScheduledOperation['do']> = Extract<ScheduledOperation, { do: D }>;

export interface Uploaded {
  readonly operation: Of<'upload'>;
  readonly node: ClusterNode;
  readonly reference: string;
  /** Below the reference. */
  readonly chunks: readonly string[];
  /** Of a deferred upload: its chunks are promised once synced. */
  readonly tag: number | undefined;
  readonly requestedAtMs: number;
  readonly wipes: number;
}

/** Of every file: a manifest holds them. */
const FILE = { name: 'storm.bin', contentType: 'application/octet-stream' } as const;
/** A frozen node answers nothing: a request to it ends after this. */
const PATIENCE_MS = 60_000;
const ADDRESS_SIZE = 32;
const NOT_FOUND = 404;
/** Of a direct upload, asked for at once: all of them would be most of the load. */
const CHECKED_MAX = 2;

export class Operations {
  /** By operation number. */
  readonly uploaded = new Map<number, Uploaded>();
  readonly readable: number[] = [];
  /** Answers with other content. */
  readonly wrong: string[] = [];
  readonly present = { checked: 0, missing: [] as string[], lost: [] as string[] };
  readonly departures: Departures;
  readonly #context: StormContext;
  readonly #isQuiet: () => boolean;

  constructor(context: StormContext, isQuiet: () => boolean) {
    this.departures = new Departures(context);
    this.#context = context;
    this.#isQuiet = isQuiet;
  }

  /** Uploads that stay: a node that left for good, or lost its data, took what it had not pushed, or alone had. */
  get promised(): readonly Uploaded[] {
    const { nodes } = this.#context.cluster;
    const { taken } = this.departures;
    return [...this.uploaded.values()].filter(
      ({ node, wipes, tag, chunks }) =>
        (tag === undefined || (nodes.includes(node) && node.wipes === wipes)) &&
        !chunks.some((chunk) => taken.has(chunk)),
    );
  }

  payload({ data, size }: Of<'upload'>): Uint8Array {
    return this.#context.random(data).bytes(size);
  }

  async upload(operation: Of<'upload'>): Promise<Outcome> {
    const node = runningNode(this.#context.cluster, operation.node);
    if (node === undefined) return 'refused';
    const requestedAtMs = this.#context.cluster.clock.now();
    const { wipes } = node;
    const data = this.payload(operation);
    const { reference, tag, expected } = await this.#send(operation, node, data);
    if (reference !== expected.reference)
      this.wrong.push(
        `${node.name} calls upload ${operation.n} ${reference}, expected ${expected.reference}`,
      );
    const { chunks } = expected;
    const uploaded = { operation, node, reference, chunks, tag, requestedAtMs, wipes };
    this.uploaded.set(operation.n, uploaded);
    this.readable.push(operation.n);
    if (tag !== undefined) return 'done';
    await this.acknowledge(uploaded, 'api');
    if (node.isTransparent || this.#isQuiet()) await this.#checkPresence(uploaded);
    return 'done';
  }

  /** A receipt promises that the chunk is stored. */
  async #checkPresence({ operation, node, chunks }: Uploaded): Promise<void> {
    const { cluster, signal } = this.#context;
    const step = node.isTransparent ? 1 : Math.ceil(chunks.length / CHECKED_MAX);
    const some = chunks.filter((_, index) => index % step === 0);
    const before = this.departures.known();
    const gone = await heldByNobody(some, cluster, signal);
    if (gone === undefined || !(node.isTransparent || this.#isQuiet())) return;
    const missing = await this.departures.unexplained(gone, before, signal);
    this.present.checked++;
    if (missing.length === 0) return;
    this.present.lost.push(...missing);
    this.present.missing.push(
      `upload ${operation.n} of ${node.name}: ${missing.length} of ${some.length} chunks, ${missing[0]} the first`,
    );
  }

  async #send(
    { kind, mode }: Of<'upload'>,
    node: ClusterNode,
    data: Uint8Array,
  ): Promise<{
    readonly reference: string;
    readonly tag: number | undefined;
    readonly expected: { readonly reference: string; readonly chunks: readonly string[] };
  }> {
    const { signal } = this.#context;
    const batch = batchOf(node);
    const options = {
      batch,
      redundancyLevel: 0,
      deferred: mode === 'deferred',
      timeoutMs: PATIENCE_MS,
      signal,
    };
    const key = { operation: `upload ${kind}, ${mode}`, node: node.name };
    const timed = <R>(work: () => Promise<R>) => this.#context.measure(key, work, () => data.length);
    if (kind === 'chunk') {
      const chunk = makeCac(BigInt(data.length), data);
      const address = toHex(chunk.address);
      const tag = mode === 'deferred' ? (await node.tags.create(signal)).uid : undefined;
      const under = tag === undefined ? {} : { tag };
      const { reference } = await timed(() => node.chunks.upload(chunk.data, { batch, signal, ...under }));
      return { reference, tag, expected: { reference: address, chunks: [address] } };
    }
    const { reference, tag } = await timed(() =>
      kind === 'file' ? node.files.upload(data, { ...options, ...FILE }) : node.bytes.upload(data, options),
    );
    const expected = await (kind === 'file' ? expectFile(data, FILE) : expectBytes(data));
    return { reference, tag: mode === 'deferred' ? tag : undefined, expected };
  }

  /** Promised from here on: it is in the ledger. */
  async acknowledge(
    { operation, node, reference, chunks, requestedAtMs }: Uploaded,
    level: LedgerEntry['level'],
  ): Promise<void> {
    await this.#context.ledger.add({
      kind: operation.kind,
      node: node.name,
      batch: batchOf(node),
      reference,
      size: operation.size,
      chunks,
      mode: operation.mode,
      level,
      requestedAtMs,
      acknowledgedAtMs: this.#context.cluster.clock.now(),
    });
  }

  async download({ node: name, upload }: Of<'download'>): Promise<Outcome> {
    const node = runningNode(this.#context.cluster, name);
    const uploaded = this.uploaded.get(upload);
    // From a reduced schedule, or it did not succeed this time.
    if (uploaded === undefined || node === undefined) return 'refused';
    const wrong = await this.read(node, uploaded);
    if (wrong !== undefined) this.wrong.push(wrong);
    return 'done';
  }

  async read(node: ClusterNode, { operation, reference, chunks }: Uploaded): Promise<string | undefined> {
    const { signal } = this.#context;
    const options = { cache: false, timeoutMs: PATIENCE_MS, signal };
    const work = {
      bytes: () => node.bytes.download(reference, options),
      file: () => node.files.download(reference, FILE.name, options),
      chunk: async () => (await node.chunks.download(chunks[0] ?? reference, options)).subarray(8),
    }[operation.kind];
    const key = { operation: `download ${operation.kind}`, node: node.name };
    const seen = await this.#context.measure(key, work, ({ length }) => length);
    const part = difference(seen, this.payload(operation));
    return part === undefined
      ? undefined
      : `${node.name} serves upload ${operation.n}, ${reference}: ${part}`;
  }

  async seek({ node: name, data }: Of<'seek'>): Promise<Outcome> {
    const node = runningNode(this.#context.cluster, name);
    if (node === undefined) return 'refused';
    const { signal } = this.#context;
    const address = toHex(this.#context.random(data).bytes(ADDRESS_SIZE));
    try {
      await node.chunks.download(address, { cache: false, timeoutMs: PATIENCE_MS, signal });
    } catch (error) {
      if (error instanceof ClientError && error.status === NOT_FOUND) return 'done';
      throw error;
    }
    this.wrong.push(`${node.name} serves ${address}, which no node has`);
    return 'done';
  }

  async cash({ node: name }: Of<'cash'>): Promise<Outcome> {
    const { cluster, signal } = this.#context;
    const node = runningNode(cluster, name);
    if (node === undefined) return 'refused';
    const cheques = await node.chequebook.cheques(signal);
    let refused = false;
    for (const { peer, received } of cheques) {
      if (received === undefined) continue;
      const { uncashedAmount } = await node.chequebook.cashout(peer, signal);
      if (uncashedAmount === 0n) continue;
      try {
        await node.chequebook.cash(peer, signal);
      } catch (error) {
        // One transaction at a time; earlier ones may be under way.
        if (!(error instanceof ClientError)) throw error;
        refused = true;
      }
    }
    return refused ? 'refused' : 'done';
  }
}
