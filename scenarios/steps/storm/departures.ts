/**
 * Nodes that leave a storm for good, lose their data, or break rules. A receipt says that its node has stored the chunk; the
 * neighbours pull it a little later. A node that leaves in between takes the chunk with it. A dishonest node's receipt
 * promises nothing.
 */
import { type Diagnosis, diagnose, fromHex, isHonest, type Loss, rankStorers } from 'svcnet/scenario';
import { heldByNobody, storers } from '../presence.ts';
import type { StormContext } from './parameters.ts';

/** Healthy neighbours take a second or two; what they have not pulled by then is lost by their fault. */
const PULLED_WITHIN_MS = 5000;
const LOOKED_MS = 250;
const SEEN_AT_ONCE = 400;
/** Name a node that the cluster no longer knows. */
const PREFIX_DIGITS = 8;

interface Departure {
  readonly name: string;
  /** In diagnoses: digits of its overlay once it has left, else its name. */
  readonly prefix: string;
  /** Last seen in the cluster, or with its data, and first; ms of its clock. */
  readonly at: number;
  readonly since: number;
  readonly wipes: number;
  readonly isHonest: boolean;
}

/** Nodes that are to join. */
export interface Arrivals {
  honest: number;
  dishonest: number;
}

/** Which nodes the cluster knew at a moment. */
interface Known {
  /** As diagnoses name them. */
  readonly nodes: ReadonlySet<string>;
  /** Others were still to join. */
  readonly awaitsSome: boolean;
}

export class Departures implements Disposable {
  /** Left with their only holders: no longer promised. */
  readonly taken = new Set<string>();
  readonly #context: StormContext;
  #timer: Disposable | undefined;
  readonly #toCome: Arrivals = { honest: 0, dishonest: 0 };
  readonly #seen = new Map<string, Departure>();
  /** Each time; `seenAt`: when that was seen. */
  readonly #emptied: (Departure & { readonly seenAt: number })[] = [];

  constructor(context: StormContext) {
    this.#context = context;
  }

  /**
   * A joining node signs receipts and is refused before the cluster knows it, or whether it is honest; it may leave before it
   * was ever seen.
   */
  expect(arrivals: Arrivals): void {
    this.look();
    Object.assign(this.#toCome, arrivals);
  }

  watch(): void {
    this.look();
    this.#timer = this.#context.cluster.clock.timer(LOOKED_MS, () => this.watch());
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
  }

  look(): void {
    const { nodes, clock } = this.#context.cluster;
    for (const { name, overlay, wipes, flavour } of nodes) {
      const prefix = overlay.slice(0, PREFIX_DIGITS);
      const before = this.#seen.get(prefix);
      const at = clock.now();
      const now = { name, prefix, at, since: before?.since ?? at, wipes, isHonest: isHonest({ flavour }) };
      if (before === undefined) this.#toCome[now.isHonest ? 'honest' : 'dishonest']--;
      if (before !== undefined && before.wipes < wipes)
        this.#emptied.push({ ...before, prefix: name, seenAt: at });
      this.#seen.set(prefix, now);
    }
  }

  /** To be asked before chunks are looked for: a node may join meanwhile. */
  known(): Known {
    const nodes = new Set([...this.#seen.values()].flatMap(({ name, prefix }) => [name, prefix]));
    return { nodes, awaitsSome: this.#toCome.honest > 0 || this.#toCome.dishonest > 0 };
  }

  /**
   * @param missing chunks that no node had when it was asked @param before from before that
   * @returns without those that a departure explains, that a node which was still joining then may have had, or that only a
   * dishonest node had promised and others have pulled from it since @throws ClientError
   */
  async unexplained(
    missing: readonly string[],
    before: Known,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const { cluster, ledger } = this.#context;
    if (missing.length === 0 || (!before.awaitsSome && this.#suspects().length === 0)) return missing;
    const diagnoses = await diagnose(lossesOf(this.#context, missing), cluster.nodes, signal);
    const suspects = this.#suspects();
    const excused = new Set(await this.#pulledSince(diagnoses, suspects, signal));
    for (const diagnosis of diagnoses) {
      const { chunk, receipts } = diagnosis;
      if (before.awaitsSome && !receipts.every((node) => before.nodes.has(node))) excused.add(chunk);
      if (excused.has(chunk)) continue;
      const { acknowledgedAtMs = 0, node } = ledger.originOf(diagnosis.chunk) ?? {};
      // Without its counts a node gives its batch's slots again.
      const isReplaced = this.#emptied.some(
        ({ name, seenAt }) => name === node && acknowledgedAtMs <= seenAt,
      );
      if (isReplaced || isTaken(diagnosis, acknowledgedAtMs, suspects)) this.taken.add(diagnosis.chunk);
    }
    ledger.release(this.taken);
    return missing.filter((chunk) => !this.taken.has(chunk) && !excused.has(chunk));
  }

  /** Only dishonest nodes had promised these, and an honest one has them now. */
  async #pulledSince(
    diagnoses: readonly Diagnosis[],
    suspects: readonly Departure[],
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const promised = diagnoses
      .filter(({ receipts }) => receipts.length > 0 && receipts.every((node) => isLiar(node, suspects)))
      .map(({ chunk }) => chunk);
    const absent = await heldByNobody(promised, this.#context.cluster, signal);
    return absent === undefined ? [] : promised.filter((chunk) => !absent.includes(chunk));
  }

  /** A node may have left with it, or dropped it. @param acknowledgedAtMs ms */
  mayHaveTaken(acknowledgedAtMs: number): boolean {
    return this.#suspects().some((gone) =>
      gone.isHonest ? isSoon(gone, acknowledgedAtMs) : acknowledgedAtMs >= gone.since - LOOKED_MS,
    );
  }

  /** @param overlay hex */
  isDishonest(overlay: string): boolean {
    const seen = this.#seen.get(overlay.slice(0, PREFIX_DIGITS));
    return seen === undefined ? this.#toCome.dishonest > 0 : !seen.isHonest;
  }

  /** If any node has left: what is read afterwards is there. */
  async conclude(): Promise<void> {
    const { cluster, ledger, signal } = this.#context;
    if (this.#suspects().length === 0) return;
    const chunks = [...new Set(ledger.entries.flatMap((entry) => entry.chunks))];
    for (let from = 0; from < chunks.length; from += SEEN_AT_ONCE) {
      const before = this.known();
      const missing = await heldByNobody(chunks.slice(from, from + SEEN_AT_ONCE), cluster, signal);
      if (missing !== undefined) await this.unexplained(missing, before, signal);
      else
        this.#context.unchecked('which chunks left with a node: a node that may have them does not answer');
    }
  }

  /** Left, emptied, or dishonest. */
  #suspects(): readonly Departure[] {
    const here = new Set(this.#context.cluster.nodes.map(({ overlay }) => overlay.slice(0, PREFIX_DIGITS)));
    return [
      ...[...this.#seen.values()].filter((one) => !one.isHonest || !here.has(one.prefix)),
      ...this.#emptied,
    ];
  }
}

/** A node that keeps its own upload gives no receipt: the answer to its client counts. */
function isTaken(
  { receipts, receiptAt, had, uploader }: Diagnosis,
  acknowledgedAt: number,
  suspects: readonly Departure[],
): boolean {
  if (!had.every((node) => isLiar(node, suspects))) return false;
  const soon = (isIt: (gone: Departure) => boolean, at: number) =>
    suspects.some((gone) => isIt(gone) && gone.isHonest && isSoon(gone, at));
  if (receiptAt === null) return soon(({ name }) => name === uploader, acknowledgedAt);
  return receipts.every(
    (receipt) => isLiar(receipt, suspects) || soon(({ prefix }) => prefix === receipt, receiptAt),
  );
}

/** @param node as a diagnosis names it */
function isLiar(node: string, suspects: readonly Departure[]): boolean {
  return suspects.some((one) => !one.isHonest && (one.name === node || one.prefix === node));
}

/** Whether it left before its neighbours could pull what it stored then, ms. */
function isSoon(gone: Departure, at: number): boolean {
  return gone.at >= at - LOOKED_MS && gone.at - at <= PULLED_WITHIN_MS;
}

/** @param chunks the ledger's */
export function lossesOf({ cluster, ledger }: StormContext, chunks: readonly string[]): readonly Loss[] {
  const nodes = storers(cluster.nodes).map((node) => ({ node, overlay: fromHex(node.overlay), radius: 0 }));
  return chunks.flatMap((chunk): Loss[] => {
    const origin = ledger.originOf(chunk);
    if (origin === undefined) return [];
    const { reference, node: uploader, batch } = origin;
    const closest = rankStorers(fromHex(chunk), nodes)[0]?.storer.node.name ?? 'nobody';
    return [{ chunk, reference, uploader, batch, closest }];
  });
}
