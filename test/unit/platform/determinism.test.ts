/** Nothing that a node does escapes its platform. */
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { SharedResults } from '../../../formats/shared-results.ts';
import { sharedResults } from '../../../node/platform/memory.ts';
import { MemoryDisk } from '../../../node/store/memory-store.ts';
import { type SimulatedNode, Simulation } from './simulation.ts';

const BOOTNODE = '/ip4/127.0.0.1/tcp/1634';
const NODES = 5;

const simulations: Simulation[] = [];
afterEach(() => Promise.all(simulations.splice(0).map((simulation) => simulation.end())));

function simulation(seed: string, shared?: SharedResults): Simulation {
  const made = new Simulation(seed, shared);
  simulations.push(made);
  return made;
}

function content(n: number, length: number): Buffer {
  return Buffer.from(Uint8Array.from({ length }, (_, i) => (i * i * (n + 1)) >> 9));
}

async function json<T>(node: SimulatedNode, url: string): Promise<T> {
  return JSON.parse((await node.ask({ url })).payload) as T;
}

async function batchOf(sim: Simulation, node: SimulatedNode): Promise<string> {
  const url = '/stamps/10000000/20';
  const bought = await node.ask({ method: 'POST', url, headers: { immutable: 'true' } });
  await sim.time.advance(1000);
  return (JSON.parse(bought.payload) as { batchID: string }).batchID;
}

async function upload(node: SimulatedNode, batch: string, payload: Buffer): Promise<string> {
  const headers = { 'svc-postage-batch-id': batch, 'content-type': 'application/octet-stream' };
  const answer = await node.ask({ method: 'POST', url: '/bytes', headers, payload });
  expect(answer.statusCode).toBe(201);
  return (JSON.parse(answer.payload) as { reference: string }).reference;
}

/** A network meshes, buys, stores, retrieves, sends a message, loses and regains a node. */
async function traceOf(seed: string, shared?: SharedResults): Promise<string[]> {
  const sim = simulation(seed, shared);
  for (let n = 0; n < NODES; n++) await sim.start(n, n === 0 ? {} : { bootnode: BOOTNODE });
  const [, uploader, addressee, crashing] = sim.nodes as [
    SimulatedNode,
    SimulatedNode,
    SimulatedNode,
    SimulatedNode,
  ];
  const light = await sim.start(NODES, { bootnode: BOOTNODE, 'full-node': 'false' });
  await sim.time.advance(3000);
  for (const node of sim.nodes) {
    expect((await json<{ peers: unknown[] }>(node, '/peers')).peers.length).toBeGreaterThanOrEqual(NODES - 1);
  }

  const batch = await batchOf(sim, uploader);
  const files = [0, 1, 2].map((n) => content(n, 60_000 + 10_000 * n));
  const references: string[] = [];
  for (const file of files) references.push(await upload(uploader, batch, file));
  await crashing.platform.cut();
  await sim.time.advance(2000);
  await sim.start(3, { bootnode: BOOTNODE }, crashing.disk);
  await sim.time.advance(3000);
  for (const [n, reference] of references.entries()) {
    const answer = await light.ask({ url: `/bytes/${reference}` });
    expect(Buffer.compare(answer.rawPayload, files[n] as Buffer)).toBe(0);
  }

  const { overlay, pssPublicKey } = await json<{ overlay: string; pssPublicKey: string }>(
    addressee,
    '/addresses',
  );
  const url = `/pss/send/topic/${overlay.slice(0, 2)}?recipient=${pssPublicKey}`;
  const headers = { 'svc-postage-batch-id': batch };
  const sent = await uploader.ask({ method: 'POST', url, headers, payload: 'hello' });
  expect(sent.statusCode).toBe(201);
  await sim.time.advance(5000);
  expect(sim.crashes).toEqual([]);
  return sim.trace;
}

describe('a network of whole nodes in virtual time', () => {
  test('sends the same frames at the same times for the same seed', async () => {
    const first = await traceOf('one');
    const second = await traceOf('one');
    expect(first.length).toBeGreaterThan(3000);
    for (const protocol of ['handshake', 'hive', 'pushsync', 'pullsync', 'retrieval', 'status', 'pricing']) {
      expect(
        first.some((line) => line.includes(`/swarm/${protocol}/`)),
        protocol,
      ).toBe(true);
    }
    const difference = first.findIndex((line, at) => line !== second[at]);
    expect([difference, first[difference], second[difference]]).toEqual([-1, undefined, undefined]);
    expect(second.length).toBe(first.length);
  });

  test('sends the same frames at the same times when its nodes share results of pure functions', async () => {
    const shared = sharedResults();
    const found = [vi.spyOn(shared.chunks, 'find'), vi.spyOn(shared.signers, 'find')];
    const [alone, together] = [await traceOf('one'), await traceOf('one', shared)];
    const difference = alone.findIndex((line, at) => line !== together[at]);
    expect([difference, alone[difference], together[difference]]).toEqual([-1, undefined, undefined]);
    expect(together.length).toBe(alone.length);
    for (const { mock } of found) {
      const hits = mock.results.filter(({ value }) => value !== undefined);
      expect(hits.length).toBeGreaterThan(100);
    }
  });

  test('sends different frames for a different seed', async () => {
    const [first, second] = [await traceOf('one'), await traceOf('two')];
    expect(first.join('\n')).not.toBe(second.join('\n'));
  });

  test('keeps what it has acknowledged when a node loses power at that moment', async () => {
    const sim = simulation('acknowledged');
    const disk = new MemoryDisk();
    const first = await sim.start(0, {}, disk);
    const batch = await batchOf(sim, first);
    const file = content(0, 100_000);
    const reference = await upload(first, batch, file);
    await first.platform.cut();
    const second = await sim.start(0, {}, disk);
    const answer = await second.ask({ url: `/bytes/${reference}` });
    expect(Buffer.compare(answer.rawPayload, file)).toBe(0);
  });
});
