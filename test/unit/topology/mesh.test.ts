import { expect, test, vi } from 'vitest';
import { systemClock } from '../../../formats/clock.ts';
import { fromHex, toHex } from '../../../formats/crypto/hex.ts';
import { systemRandom } from '../../../formats/random.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import { createMetrics } from '../../../node/env/metrics.ts';
import { createHive } from '../../../node/protocols/hive/hive.ts';
import { createKademlia, type Kademlia } from '../../../node/topology/kademlia.ts';
import { FULL_NODE, type MemoryNode, memoryRecords, NETWORK_ID, startedNodes } from '../p2p/memory-nodes.ts';

/** Hosts in memory need real time, and a busy machine more. */
const PATIENCE = { timeout: 120_000 };

function tableOf(node: MemoryNode, bootnodes: readonly string[]): Kademlia {
  const env = { clock: systemClock(), random: systemRandom(), log: silentLogger() };
  const metrics = createMetrics({ prefix: 'svc' });
  const hive = createHive(
    { networkId: NETWORK_ID, allowPrivateCidrs: true, bootnodeMode: false },
    { ...node, ...env, metrics },
  );
  const options = { ...FULL_NODE, bootnodes, allowPrivateCidrs: true };
  return createKademlia(options, { ...node, ...env, metrics, hive, state: memoryRecords() });
}

async function connected(tables: readonly Kademlia[], count: number): Promise<void> {
  await Promise.all(
    tables.map(
      (table) =>
        new Promise<void>((resolve) => {
          const look = () => {
            if (table.snapshot().connected === count) resolve();
          };
          table.onChange(look);
          look();
        }),
    ),
  );
}

test.each([2, 5, 12])('%i nodes that know one bootnode form a full mesh', async (count) => {
  const nodes = await startedNodes(count);
  const bootnode = (nodes[0] as MemoryNode).underlay();
  const tables = nodes.map((node) => tableOf(node, [bootnode]));
  for (const table of tables) await table.start();
  await connected(tables, count - 1);
  for (const table of tables) await table.stop();
  const overlays = nodes.map(({ host }) => toHex(host.overlay)).sort();
  for (const { host } of nodes) {
    const peers = host.peers().map(({ overlayHex }) => overlayHex);
    expect([...peers, toHex(host.overlay)].sort()).toEqual(overlays);
  }
});

test('every node names the same peer as closest to an address', async () => {
  const nodes = await startedNodes(5);
  const tables = nodes.map((node) => tableOf(node, [(nodes[0] as MemoryNode).underlay()]));
  for (const table of tables) await table.start();
  await connected(tables, 4);
  const address = fromHex('80'.repeat(32));
  // Unprobed peers come after the others.
  await vi.waitFor(() => {
    const answers = tables.map((table, i) => {
      const closest = table.closestPeer(address, { skip: new Set(), includeSelf: true });
      return closest === 'self' ? toHex((nodes[i] as MemoryNode).host.overlay) : closest?.overlayHex;
    });
    expect(new Set(answers).size).toBe(1);
  }, PATIENCE);
  for (const table of tables) await table.stop();
});
