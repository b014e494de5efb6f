/** Payloads replace each other while nodes are away: in the end every node of the neighbourhood has the newest. */
import type { ClusterNode } from 'svcnet';
import {
  fromHex,
  makeCac,
  type ScheduledOperation,
  signSoc,
  socAddress,
  socParts,
  toHex,
} from 'svcnet/scenario';
import { ownerNear } from '../gsoc-owner.ts';
import { neighbourhoodOf, storers } from '../presence.ts';
import { batchOf, errorAsText, inTime, ledgerDirect, runningNode } from '../steps.ts';
import { expectNone, PLACED_WITHIN_MS } from './checks.ts';
import type { Departures } from './departures.ts';
import type { Outcome, StormContext } from './parameters.ts';

type Update = Extract<ScheduledOperation, { do: 'update' }>;

/** Bits shared with the node, which is mostly the closest. */
const PROXIMITY = 6;
/** Id, signature and span of a single-owner chunk. */
const HEAD_SIZE = 32 + 65 + 8;

/** Acknowledged last. */
interface Newest {
  /** Number of its operation. */
  readonly n: number;
  /** Ms. */
  readonly acknowledgedAt: number;
}

export class Updates {
  readonly #context: StormContext;
  readonly #newest = new Map<string, Newest>();

  constructor(context: StormContext) {
    this.#context = context;
  }

  async update({ n, node: name, to, data }: Update): Promise<Outcome> {
    const { cluster, signal } = this.#context;
    const node = runningNode(cluster, name);
    const near = cluster.nodes.find((one) => one.name === to);
    if (node === undefined || near === undefined) return 'refused';
    const id = this.#context.random(data).bytes(32);
    const owner = ownerNear(fromHex(near.overlay), id, PROXIMITY);
    const reference = toHex(socAddress(id, owner.address));
    const payload = Buffer.from(`update ${n}`);
    const soc = socParts(signSoc(id, makeCac(BigInt(payload.length), payload).data, owner).data);
    const requestedAtMs = cluster.clock.now();
    const options = { batch: batchOf(node), deferred: false, signal };
    const work = () => node.soc.upload(toHex(owner.address), soc, options);
    await this.#context.measure({ operation: 'update soc', node: name }, work, () => payload.length);
    if (n >= (this.#newest.get(reference)?.n ?? n))
      this.#newest.set(reference, { n, acknowledgedAt: cluster.clock.now() });
    const entry = {
      kind: 'soc',
      reference,
      size: payload.length,
      chunks: [reference],
      requestedAtMs,
    } as const;
    await ledgerDirect(this.#context, node, entry);
    return 'done';
  }

  /** A failed update may have arrived, so a payload may be newer. It may be older if the newest has left with a node. */
  conclude(departures: Pick<Departures, 'taken' | 'mayHaveTaken'>): Promise<void> {
    const { signal } = this.#context;
    return this.#context.step('updates', async (progress) => {
      const rows = [...this.#newest].filter(([address]) => !departures.taken.has(address));
      progress.detail(`${rows.length} addresses`);
      const older: string[] = [];
      for (const row of rows) {
        const look = (aborted: AbortSignal) => errorAsText(aborted, () => this.#older(row, aborted));
        const limits = { ...this.#context, timeoutMs: PLACED_WITHIN_MS };
        // After one failure all have had their time.
        const missing =
          older.length === 0
            ? await inTime('the newest payload is everywhere', look, limits)
            : await look(signal);
        if (missing !== undefined && !departures.mayHaveTaken(row[1].acknowledgedAt)) older.push(missing);
      }
      const of = `${rows.length} addresses`;
      expectNone(this.#context, 'the newest payload at an address replaces the older ones', older, of);
    });
  }

  async #older(
    [address, { n: newest }]: readonly [string, Newest],
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { nodes } = await neighbourhoodOf(address, storers(this.#context.cluster.nodes), signal);
    for (const node of nodes) {
      const seen = await payloadOn(node, address, signal);
      if (seen === undefined) return `${node.name} has no ${address}`;
      if (Number(/^update (\d+)$/.exec(seen)?.[1] ?? -1) < newest)
        return `${node.name} has '${seen}' at ${address}, expected 'update ${newest}'`;
    }
    return undefined;
  }
}

async function payloadOn(
  node: ClusterNode,
  address: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (!(await node.holds(address, signal))) return undefined;
  const data = await node.chunks.download(address, { cache: false, signal });
  return Buffer.from(data.subarray(HEAD_SIZE)).toString();
}
