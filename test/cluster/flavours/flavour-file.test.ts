import { randomBytes } from 'node:crypto';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import { readFlavour } from '../../../harness/cluster/plan/document/flavour-file.ts';
import { checkConformance } from '../../../harness/conformance/check.ts';
import { isRed } from '../../../harness/conformance/row.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { writeProgram } from '../program.ts';
import { svcnetHere } from '../svcnet.ts';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const folder = temporaryFolder('svcnet-flavour');
const file = join(folder, 'ant.flavour.yaml');

beforeAll(() => {
  cpSync(join(HERE, 'ant.flavour.yaml'), file);
  writeProgram(join(folder, 'ant'), join(HERE, 'ant.ts'));
});

let net: Cluster;
beforeAll(async () => {
  net = await Cluster.start({
    name: 'ants',
    seed: 11,
    stateDir: join(folder, 'state'),
    flavours: [await readFlavour(file)],
    nodes: [{ count: 2 }, { flavour: 'ant', count: 2, options: { cache: 2000 } }],
  });
});
afterAll(() => net.stop());

test('its nodes are linked, with the keys and addresses that follow from the seed', async () => {
  const [ours, , ant] = net.nodes;
  expect(net.nodes.map(({ flavour }) => flavour)).toEqual(['svc', 'svc', 'ant', 'ant']);
  const addresses = await ant?.client.addresses();
  expect(addresses).toMatchObject({ overlay: ant?.overlay });
  expect((await ours?.client.peers())?.map(({ address }) => address)).toContain(ant?.overlay);
});

test('what one uploads the others serve, also after a kill and with all that it stored gone', async () => {
  const [ours, , ant] = net.nodes;
  if (ours === undefined || ant === undefined) throw new Error('four nodes were started');
  const there = new Uint8Array(randomBytes(30_000));
  const { reference } = await ant.bytes.upload(there, { deferred: false });
  expect(await ours.bytes.download(reference)).toEqual(there);
  await ant.kill();
  await ant.start();
  await net.meshed();
  expect(await ant.bytes.download(reference)).toEqual(there);
  await net.faults.begin({ kind: 'restart', node: ant.name, wipe: true });
  await net.faults.heal();
  await net.meshed();
  expect(await ant.bytes.download(reference)).toEqual(there);
});

test('its configuration has what the testbed decides, options of its group, and nothing that it does not know', () => {
  const config = readFileSync(join(net.nodes[2]?.dataDir ?? '', 'conf', 'ant.toml'), 'utf8');
  expect(config).toContain('cache = 2000\n');
  expect(config).toContain('net = 4020\n');
  expect(config).not.toContain('unheard-of');
});

test('a port of its own is there for whatever else it serves', async () => {
  const [, , ant] = net.nodes;
  const options = JSON.parse(readFileSync(join(ant?.dataDir ?? '', 'inner', 'config.yaml'), 'utf8')) as {
    readonly 'debug-api-addr': string;
  };
  const served = options['debug-api-addr'];
  expect(served).not.toBe(new URL(ant?.api ?? '').host);
  expect((await fetch(`http://${served}/health`)).status).toBe(200);
});

test('it is graded like any other node', async () => {
  const report = await checkConformance({ kind: 'http', target: net.nodes[2]?.api ?? '', dialect: 'swarm' });
  const bad = report.rows.filter(isRed);
  expect(bad).toEqual([]);
  expect(report.totals.passed).toBeGreaterThan(20);
});

test('one more joins the network that runs, and leaves it', async () => {
  const [added] = await net.add({ flavour: 'ant', count: 1 });
  expect(added).toMatchObject({ name: 'node-4', flavour: 'ant', running: true });
  await net.meshed();
  await net.remove('node-4', { forGood: true });
  expect(net.nodes).toHaveLength(4);
});

test('one joins by a file that the network has never heard of', async () => {
  const flavour = await readFlavour(file);
  const [added] = await net.add({ flavour: { ...flavour, name: 'wasp' } });
  expect(added).toMatchObject({ name: 'node-5', flavour: 'wasp', running: true });
  await net.meshed();
  await expect(net.add({ flavour: { ...flavour, name: 'wasp', redial: '3s' } })).rejects.toThrow(
    "add: the cluster has another flavour file for 'wasp'",
  );
  // The same file again is no other flavour.
  const other = await Cluster.attach(net.name, { stateDir: join(folder, 'state') });
  const [again] = await other.add({ flavour: 'wasp' });
  await other.detach();
  await net.remove('node-5', { forGood: true });
  await net.remove(again?.name ?? '', { forGood: true });
  const [changed] = await net.add({ flavour: { ...flavour, name: 'wasp', redial: '3s' } });
  await net.remove(changed?.name ?? '', { forGood: true });
});

test('faults that need to know its insides are refused', async () => {
  await expect(net.faults.begin({ kind: 'flip-bits', node: 'node-2' })).rejects.toThrow(
    'how node-2 of flavour ant keeps chunks is not known',
  );
});

test('svcnet flavour check sees each statement of the file hold, with the program that a start takes', async () => {
  const elsewhere = join(folder, 'elsewhere.flavour.yaml');
  writeFileSync(elsewhere, readFileSync(file, 'utf8').replace('./ant', './nowhere'));
  process.env['SVCNET_ANT_BINARY'] = join(folder, 'ant');
  try {
    const { code, stdout, stderr } = await svcnetHere(['flavour', 'check', elsewhere], {
      stateDir: join(folder, 'check'),
    });
    expect({ code, stdout, stderr }).toMatchObject({ code: 0 });
    expect(stdout).toContain('lists: left out: unheard-of\n');
    expect(stdout).toContain(
      '  ant: each of 10 statements holds; not checked: mode light, options, bootstraps, publicConstants, learnsListeners, keys.pss\n',
    );
  } finally {
    delete process.env['SVCNET_ANT_BINARY'];
  }
});

test.each([
  [
    'stored: [inner/store]',
    'stored: [inner/cellar]',
    '✗ stored: it has made these folders: there is no inner/cellar in',
  ],
  [
    'ant (\\d+',
    'bee (\\d+',
    '✗ program: this machine runs it, and it says its version: file (flavour ant): ',
  ],
  [
    'ANT_RPC: "{rpc}"',
    'ANT_URL: "{rpc}"',
    '✗ args, env, config, files: it starts, is ready and is linked to all others: ',
  ],
])('svcnet flavour check names what does not hold: %s', async (whole, broken, line) => {
  const wrong = join(folder, 'wrong.flavour.yaml');
  const text = readFileSync(file, 'utf8');
  expect(text).toContain(whole);
  writeFileSync(wrong, text.replace(whole, broken));
  const { code, stdout } = await svcnetHere(['flavour', 'check', wrong], { stateDir: join(folder, 'check') });
  expect(code).toBe(1);
  expect(stdout).toContain(line);
});

test('another process finds its nodes by the record on disk', async () => {
  const { code, stdout } = await svcnetHere(['ps', '--name', 'ants', '--json'], {
    stateDir: join(folder, 'state'),
  });
  expect(code).toBe(0);
  expect(stdout).toContain('"flavour": "ant"');
});
