import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Cluster } from '../../../../harness/cluster/cluster.ts';
import type { Fault } from '../../../../harness/cluster/faults/fault.ts';
import { readRun } from '../../../../harness/cluster/state/state.ts';
import { LINK_PROXY } from '../../../../harness/places/driver.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';
import { everyKindMeasured } from '../../faults/measured.ts';
import { pingMs } from './ping.ts';

/** Opening the stream takes one round trip, asking another. */
const ROUND_TRIPS = 2;
/** Longer than any ping that arrives. */
const HELD_MS = 1500;

describe.each([
  ['process', { linkFaults: true }],
  ['embedded', {}],
] as const)('links of a cluster with driver %s', (driver, more) => {
  const stateDir = temporaryFolder('svcnet-links');
  let net: Cluster;
  /** The process that ended them knows their last effect. */
  const healedElsewhere: Fault[] = [];

  beforeAll(async () => {
    net = await Cluster.start({ nodes: 3, seed: 7, driver, batches: false, stateDir, ...more });
  });
  afterAll(() => net.stop());

  const ping = (from: number, to: number, withinMs?: number) => pingMs(net, { from, to, withinMs });

  test('a link of 200 ms takes 200 ms for each round trip, and the others are unchanged', async () => {
    const fault = await net.faults.link('node-0', 'node-1', { latency: '200ms' });
    expect(fault.text).toBe('adds 200 ms to each round trip between node-0 and node-1');
    const [slow, back] = [await ping(0, 1), await ping(1, 0)];
    for (const rtt of [slow, back]) expect(rtt).toBeGreaterThanOrEqual(ROUND_TRIPS * 199);
    const other = await ping(0, 2);
    expect(other).toBeLessThan(slow as number);
    // Another process sees it and ends it.
    const elsewhere = await Cluster.attach(net.name, { stateDir });
    const [seen] = await elsewhere.faults.list();
    expect(seen).toMatchObject({ id: fault.id, kind: 'link' });
    expect(seen?.effect['connections delayed']).toBeGreaterThan(0);
    const [healed] = await elsewhere.faults.heal();
    if (healed !== undefined) healedElsewhere.push(healed);
    expect(healed?.effect['bytes delayed']).toBeGreaterThan(0);
    await elsewhere.detach();
    expect(await ping(0, 1)).toBeLessThan(slow as number);
    const lines = readFileSync(join(net.folder, 'faults.jsonl'), 'utf8').trim().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { event: string }).event)).toEqual(['begin', 'end']);
  });

  test('a partition separates its sides and nothing else, and when it ends they reach each other again', async () => {
    const fault = await net.faults.partition([['node-0', 'node-1'], ['node-2']]);
    expect(await ping(0, 2, HELD_MS)).toBeUndefined();
    expect(await ping(0, 1)).toBeTypeOf('number');
    const [ended] = await net.faults.heal(fault.id);
    expect(ended?.effect['bytes held back']).toBeGreaterThan(0);
    expect(await ping(0, 2)).toBeTypeOf('number');
  });

  test('a node isolated by resets loses its peers, and finds them again', async () => {
    await net.faults.isolate('node-1', { mode: 'reset' });
    const peers = async () => (await net.node(1).client.peers()).length;
    await expect.poll(peers).toBe(0);
    const [ended] = await net.faults.heal();
    expect(ended?.effect['connections reset']).toBeGreaterThanOrEqual(2);
    // A refused node waits before it dials again.
    if (driver === 'embedded') await expect.poll(peers).toBe(2);
  });

  test('a request with missing or wrong names is refused, and nothing is broken', async () => {
    await expect(net.faults.link('node-0', 'node-1', {})).rejects.toThrow('at least one condition');
    await expect(net.faults.link('node-0', 'node-7', { stall: true })).rejects.toThrow("no node 'node-7'");
    await expect(net.faults.link('all', 'all', { latency: 'soon' })).rejects.toThrow(
      "latency: got 'soon', expected a duration such as 500ms",
    );
    await expect(net.faults.partition([['node-0'], ['node-0']])).rejects.toThrow('no node in common');
    expect(await net.faults.list()).toEqual([]);
  });

  test('every kind of fault of links has had an effect', () => {
    everyKindMeasured([...net.faults.history, ...healedElsewhere], 'link');
  });

  if (driver !== 'process') return;
  test('the loss of the proxy is an incident', async () => {
    const pid = Number(readRun(stateDir, net.name, LINK_PROXY)?.handle['pid']);
    const told: string[] = [];
    const forget = net.membership.onIncident(({ part, what }) => void told.push(`${part} ${what}`));
    process.kill(pid, 'SIGKILL');
    await expect.poll(() => told).toContain('link-proxy died');
    forget();
    expect((await net.logOf(LINK_PROXY).tail(10)).join()).toContain('"ready":true');
  });
});

test('a cluster without a proxy says how to start one', async () => {
  const stateDir = temporaryFolder('svcnet-links');
  await using net = await Cluster.start({ nodes: 1, batches: false, stateDir });
  await expect(net.faults.isolate('node-0')).rejects.toMatchObject({
    code: 'FAULT_REFUSED',
    message: `fault isolate: cluster '${net.name}' was started without link faults`,
    hint: 'Start one with them: svcnet up --link-faults',
  });
});
