import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Cluster } from '../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../harness/cluster/nodes/cluster-node.ts';
import { OTHERS, of, startMixed } from './kit.ts';

const LATENCY_MS = 200;
/** Opening the stream takes one round trip, asking another. */
const ROUND_TRIPS = 2;
/** The machine has other work, too. */
const TOLERANCE = 0.1;
const PINGS = 5;
/** Longer than any ping that arrives. */
const HELD_MS = 3000;

describe.each(OTHERS)('$title', (side) => {
  let net: Cluster;
  beforeAll(async () => {
    net = await startMixed({ side, own: 2, others: 2, seed: 12, linkFaults: true });
  });
  afterAll(() => net.stop());

  /** @returns milliseconds; undefined without an answer so far */
  async function ping(from: ClusterNode, to: ClusterNode, withinMs = 30_000): Promise<number | undefined> {
    const signal = AbortSignal.timeout(withinMs);
    const startedAt = performance.now();
    try {
      await from.client.pingpong(to.overlay, signal);
      return performance.now() - startedAt;
    } catch (error) {
      if (signal.aborted) return undefined;
      throw error;
    }
  }

  /** Without other work of the machine. */
  async function fastest(from: ClusterNode, to: ClusterNode): Promise<number> {
    let least = Number.POSITIVE_INFINITY;
    for (let i = 0; i < PINGS; i++) least = Math.min(least, (await ping(from, to)) ?? least);
    return least;
  }

  test('200 ms are added to each round trip between two of ours, two Bees, and one of each', async () => {
    const [ours, ourOther] = of('svc', net) as [ClusterNode, ClusterNode];
    const [theirs, theirOther] = of(side.flavour, net) as [ClusterNode, ClusterNode];
    for (const [from, to] of [
      [ours, ourOther],
      [theirs, theirOther],
      [ours, theirs],
      [theirOther, ourOther],
    ] as const) {
      const before = await fastest(from, to);
      const fault = await net.faults.link(from.name, to.name, { latency: LATENCY_MS });
      const added = ((await fastest(from, to)) - before) / ROUND_TRIPS;
      const [healed] = await net.faults.heal(fault.id);
      expect(healed?.effect['bytes delayed']).toBeGreaterThan(0);
      expect(Math.abs(added / LATENCY_MS - 1), `${from.name} to ${to.name}: ${added} ms`).toBeLessThan(
        TOLERANCE,
      );
    }
  });

  test('a partition stops messages of the Bees across it, and heals', async () => {
    const [theirs, theirOther] = of(side.flavour, net) as [ClusterNode, ClusterNode];
    const others = net.nodes.filter((node) => node !== theirOther).map(({ name }) => name);
    const fault = await net.faults.partition([others, [theirOther.name]]);
    expect(await ping(theirs, theirOther, HELD_MS)).toBeUndefined();
    expect(await ping(theirs, net.node(0))).toBeTypeOf('number');
    const [ended] = await net.faults.heal(fault.id);
    expect(ended?.effect['bytes held back']).toBeGreaterThan(0);
    expect(await ping(theirs, theirOther)).toBeTypeOf('number');
    // A chunk of one is read by the other.
    const data = crypto.getRandomValues(new Uint8Array(20_000));
    const { reference } = await theirs.bytes.upload(data);
    await net.synced(reference);
    expect(await theirOther.bytes.download(reference)).toEqual(data);
  });
});
