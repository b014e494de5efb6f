/** The Bee's flavour file is an example for users. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from '../../harness/cluster/cluster.ts';
import { readFlavour } from '../../harness/cluster/plan/document/flavour-file.ts';
import { svcnetHere } from '../cluster/svcnet.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { aBee, describeOthers, eventually } from './kit.ts';

const FILE = fileURLToPath(new URL('../../examples/bee-flavour/bee.flavour.yaml', import.meta.url));
const LINES_MAX = 80;
const CHECK_MS = 300_000;
const SIZE = 40_000;

test('the file is short', () => {
  expect(readFileSync(FILE, 'utf8').split('\n').length).toBeLessThanOrEqual(LINES_MAX);
});

describeOthers(aBee, '$title', ({ group, binary = '' }) => {
  let net: Cluster;
  beforeAll(async () => {
    net = await Cluster.start({
      flavours: [await readFlavour(FILE)],
      nodes: [{ count: 2 }, { ...group, flavour: 'beefile', count: 2 }],
      seed: 36,
      linkFaults: true,
    });
  });
  afterAll(() => net.stop());

  test('what each node uploads, every other one reads', async () => {
    for (const from of net.nodes) {
      const data = crypto.getRandomValues(new Uint8Array(SIZE));
      const { reference } = await from.bytes.upload(data, { redundancyLevel: 0 });
      await net.synced(reference);
      for (const to of net.nodes.filter((node) => node !== from))
        expect(await to.bytes.download(reference, { cache: false })).toEqual(data);
    }
  });

  test('it is killed, comes back with its data, and a partition cuts it off', async () => {
    const bee = net.node(2);
    await bee.kill();
    await bee.start();
    await net.meshed();
    const others = net.nodes.filter((node) => node !== bee);
    const fault = await net.faults.partition([others.map(({ name }) => name), [bee.name]]);
    const data = crypto.getRandomValues(new Uint8Array(SIZE));
    const { reference } = await net.node(0).bytes.upload(data, { redundancyLevel: 0 });
    await expect(bee.bytes.download(reference, { timeoutMs: 3000 })).rejects.toThrow();
    await net.faults.heal(fault.id);
    await eventually(
      `${bee.name} does not read ${reference}`,
      () =>
        bee.bytes.download(reference).then(
          () => true,
          () => false,
        ),
      (has) => has,
    );
  });

  test(
    'svcnet flavour check sees each statement of the file hold',
    async () => {
      process.env['SVCNET_BEEFILE_BINARY'] = binary;
      try {
        const { code, stdout, stderr } = await svcnetHere(['flavour', 'check', FILE], {
          stateDir: temporaryFolder('svcnet-bee-flavour'),
        });
        expect({ code, stdout, stderr }).toMatchObject({ code: 0 });
        expect(stdout).toContain('beefile: each of 10 statements holds; ');
      } finally {
        delete process.env['SVCNET_BEEFILE_BINARY'];
      }
    },
    CHECK_MS,
  );
});
