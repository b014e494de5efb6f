import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { Cluster, type Fault } from '../../../harness/index.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { everyKindMeasured } from '../faults/measured.ts';
import { svcnetHere } from '../svcnet.ts';

const clusters: Cluster[] = [];
const history: Fault[] = [];
afterEach(async () => {
  for (const net of clusters.splice(0)) await net.stop();
});

const namesOf = ({ nodes }: Cluster) => nodes.map(({ name }) => name);

test.each([
  ['process', {}],
  ['process', { linkFaults: true }],
  ['embedded', {}],
  ['simulated', {}],
] as const)(
  'nodes arrive and leave for good as faults, and uploads are readable throughout: driver %s %j',
  async (driver, links) => {
    const net = await Cluster.start({
      driver,
      ...links,
      nodes: 3,
      seed: 7,
      stateDir: temporaryFolder('svcnet-churn'),
    });
    clusters.push(net);
    const visit = await net.faults.begin({ kind: 'add', neighbourhood: '01' });
    await net.faults.begin({ kind: 'add', stay: true });
    expect(namesOf(net)).toEqual(['node-0', 'node-1', 'node-2', 'node-3', 'node-4']);
    expect(net.node(3).overlay).toMatch(/^[4-7]/);
    await net.meshed();
    const data = new Uint8Array(30_000).fill(4);
    const { reference } = await net.node(0).bytes.upload(data);
    await net.synced(reference);
    const leaving = await net.faults.begin({ kind: 'remove', node: 'node-1' });
    expect(leaving).toMatchObject({ text: 'removes node-1 for good', endAt: expect.any(Number) as number });
    const healed = await net.faults.heal();
    expect(healed.map(({ text, effect }) => [text, effect])).toEqual([
      ['adds 1 node for good', { 'nodes that joined': 1, 'nodes that left for good': 0 }],
      ['adds 1 node in 01', { 'nodes that joined': 1, 'nodes that left for good': 1 }],
    ]);
    expect(visit.id).toBe('f1');
    expect(namesOf(net)).toEqual(['node-0', 'node-2', 'node-4']);
    await net.meshed();
    for (const node of net.nodes) expect(await node.bytes.download(reference)).toEqual(data);
    history.push(...net.faults.history);
  },
  90_000,
);

test('a node that has joined leaves when all is healed, though something else is broken on it', async () => {
  const net = await Cluster.start({
    driver: 'simulated',
    nodes: 2,
    stateDir: temporaryFolder('svcnet-churn'),
  });
  clusters.push(net);
  for (const heal of ['heal', 'healOwn'] as const) {
    await net.faults.begin({ kind: 'add' });
    const [, , added] = namesOf(net);
    await net.faults.begin({ kind: 'kill', node: added });
    expect((await net.faults[heal]()).map(({ kind }) => kind)).toEqual(['kill', 'add']);
    expect(namesOf(net)).toEqual(['node-0', 'node-1']);
  }
});

test('what cannot be added or removed is refused', async () => {
  const net = await Cluster.start({
    driver: 'simulated',
    nodes: 1,
    stateDir: temporaryFolder('svcnet-churn'),
  });
  clusters.push(net);
  const refused = [
    [{ kind: 'add', count: 0 }, 'count: got 0, expected a whole number of nodes from 1 to 100'],
    [
      { kind: 'add', neighbourhood: '012' },
      "neighbourhood: got '012', expected the first bits of an overlay",
    ],
    [{ kind: 'add', dishonest: ['lies'] }, 'expected behaviours of dishonest nodes: wrong-data, '],
    [{ kind: 'remove', node: 'node-0' }, 'node-0 is the last full node'],
    [{ kind: 'remove', node: 'node-9' }, "no node 'node-9'"],
  ] as const;
  for (const [request, why] of refused) await expect(net.faults.begin(request)).rejects.toThrow(why);
  expect(net.faults.active).toEqual([]);
});

test('a storm with arrivals and departures of its schedule, and with drawn ones, loses nothing', async () => {
  const stateDir = temporaryFolder('svcnet-churn');
  const schedule = join(temporaryFolder('svcnet-churn-file'), 'churn.yaml');
  writeFileSync(
    schedule,
    [
      'duration: 10s',
      'faults:',
      '  - { at: 1s, for: 6s, kind: add, neighbourhood: "01" }',
      '  - { at: 2s, kind: add, stay: true }',
      '  - { at: 4s, kind: remove, node: node-1 }',
      '  - { at: 5s, for: 1s, kind: kill, node: node-1 }',
      '  - { draw: [add, kill], every: 2s, shortest: 1s, longest: 3s }',
    ].join('\n'),
  );
  const line = 'run storm --driver simulated --seed 5 --set sizes=4096,32768 --set sample=200 --json --set';
  const { code, stdout, stderr } = await svcnetHere([...line.split(' '), `schedule=${schedule}`], {
    stateDir,
  });
  const { scenarios } = JSON.parse(stdout) as { scenarios: readonly { readonly error?: string }[] };
  expect(scenarios[0]?.error).toBeUndefined();
  expect(code, stderr).toBe(0);
  for (const text of ['adds 1 node in 01', 'adds 1 node for good', 'removes node-1 for good']) {
    expect(stdout).toContain(`"text": "${text} (`);
  }
  expect(stdout).not.toContain('"text": "kills node-1 (');
}, 180_000);

test('a storm with arrivals on a cluster that can get none is refused before its load starts', async () => {
  const stateDir = temporaryFolder('svcnet-churn');
  const file = join(temporaryFolder('svcnet-churn-file'), 'ring.yaml');
  writeFileSync(file, 'driver: embedded\nnodes: [{ count: 3 }]\ntopology: ring\n');
  const line = 'run storm --seed 5 --set duration=2s --set faults=add --json -f';
  const { code, stdout, stderr } = await svcnetHere([...line.split(' '), file], { stateDir });
  const { scenarios } = JSON.parse(stdout) as { scenarios: readonly unknown[] };
  expect(scenarios, stderr).toMatchObject([
    {
      result: 'skipped',
      skipReason: expect.stringContaining('its topology names the links of all nodes') as string,
      assertions: [],
    },
  ]);
  expect(code).toBe(0);
}, 60_000);

test('every kind is measured', () => {
  everyKindMeasured(history, 'members');
});
