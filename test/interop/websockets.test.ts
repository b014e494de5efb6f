/** Our nodes have WebSockets alone; the Bees have plain TCP among themselves. */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Cluster } from '../../harness/cluster/cluster.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { aBee, describeOthers, expectMixedPasses, of, startMixed } from './kit.ts';

async function underlaysOf({ api }: Cluster['nodes'][number]): Promise<string[]> {
  return ((await (await fetch(`${api}/addresses`)).json()) as { underlay: string[] }).underlay;
}

describeOthers(aBee, '$title', (side) => {
  describe.each(['ws', 'wss'] as const)('over %s', (way) => {
    const folder = temporaryFolder('svcnet-interop');

    test('the scenario mixed passes', async () => {
      await expectMixedPasses({
        definition: { underlays: [way] },
        nodes: [
          { flavour: 'svc', count: 2 },
          { ...side.group, count: 2 },
        ],
        sizes: '1,4096,1MiB',
        seed: 29n,
        folder,
      });
    });

    test('only WebSockets are between ours and theirs, and each dials what the other announces', async () => {
      const net = await startMixed({
        side,
        own: 2,
        others: 2,
        underlays: [way],
        seed: 30,
        batches: false,
        stateDir: join(folder, 'state'),
      });
      try {
        const [ours] = of('svc', net);
        const [theirs] = of(side.flavour, net);
        if (ours === undefined || theirs === undefined) throw new Error('a mixed cluster has both');
        const own = await underlaysOf(ours);
        expect(own).toEqual([
          expect.stringMatching(way === 'ws' ? /\/tcp\/\d+\/ws\/p2p\// : /\/tls\/sni\/.*\/ws\/p2p\//),
        ]);
        const its = await underlaysOf(theirs);
        const reconnect = async (from: typeof ours, overlay: string, underlay: string) => {
          await fetch(`${from.api}/peers/${overlay}`, { method: 'DELETE' });
          return (await fetch(`${from.api}/connect${underlay}`, { method: 'POST' })).status;
        };
        expect(await reconnect(theirs, ours.overlay, own[0] as string)).toBe(200);
        const announced = its.filter((underlay) => underlay.includes('/ws/'));
        // With /ws a Bee only dials: its listener would need the port of plain TCP.
        expect(announced).toHaveLength(way === 'ws' ? 0 : 1);
        for (const underlay of announced) expect(await reconnect(ours, theirs.overlay, underlay)).toBe(200);
        expect(await reconnect(ours, theirs.overlay, its[0] as string)).toBe(400);
      } finally {
        await net.stop();
      }
    });
  });
});
