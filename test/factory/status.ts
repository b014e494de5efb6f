import { JsonRpcProvider, Wallet } from 'ethers';
import { describe, expect, test } from 'vitest';
import { PRESET_ACCOUNT_KEYS } from '../../harness/cluster/plan/presets/presets.ts';
import { eventually } from '../cluster/node/kit.ts';
import { bees, chainPort, queen, started } from './kit.ts';

/** Of the storage game, in blocks. */
const ROUND = 152;

export function statusTests(): void {
  describe('the network', () => {
    test('answers on its ports, with the versions of the nodes that it stands in for', async () => {
      for (const bee of bees) {
        await bee.checkConnection();
        const { beeApiVersion, beeVersion } = await bee.getVersions();
        expect([beeApiVersion, beeVersion]).toEqual(['8.1.0', expect.stringMatching(/^2\.8\.1-/)]);
        const [health, readiness] = await Promise.all([bee.getHealth(), bee.getReadiness()]);
        expect(health.status).toBe('ok');
        expect(readiness).toMatchObject({
          status: 'ready',
          version: health.version,
          apiVersion: health.apiVersion,
        });
      }
    });

    test('consists of five full nodes that know each other', async () => {
      for (const bee of bees) {
        expect(await bee.getNodeInfo()).toMatchObject({
          beeMode: 'full',
          chequebookEnabled: true,
          swapEnabled: true,
        });
        expect(await bee.getStatus()).toMatchObject({
          beeMode: 'full',
          isWarmingUp: false,
          connectedPeers: 4,
        });
        expect(await bee.getPeers()).toHaveLength(4);
        expect(await bee.getTopology()).toMatchObject({ population: 4, connected: 4 });
      }
    });

    test('has the accounts of the usual development mnemonic', async () => {
      const seen = await Promise.all(
        bees.map(async (bee) => (await bee.getNodeAddresses()).ethereum.toHex()),
      );
      expect(seen).toEqual(PRESET_ACCOUNT_KEYS.map((key) => new Wallet(key).address.slice(2).toLowerCase()));
    });

    test('has the chain of the stack at its port, and every node follows it', async () => {
      const provider = new JsonRpcProvider(`http://localhost:${chainPort}`);
      try {
        expect((await provider.getNetwork()).chainId).toBe(1337n);
      } finally {
        provider.destroy();
      }
      for (const bee of bees) {
        const state = await bee.getChainState();
        expect(state.block).toBeGreaterThan(400);
        expect(state.chainTip).toBeGreaterThanOrEqual(state.block);
        expect(state.currentPrice).toBe(24_000);
        expect(await bee.getWalletBalance()).toMatchObject({ chainID: 1337 });
      }
    });

    test('has a reserve and the state of the storage game', async () => {
      const reserve = await queen.getReserveState();
      expect(reserve.commitment).toBeGreaterThan(0);
      expect(await queen.getRedistributionState()).toMatchObject({ isFullySynced: false, isFrozen: false });
    });

    test('still holds what was uploaded more than a round ago', async () => {
      const [upload] = started().prepared.uploads;
      if (upload === undefined) throw new Error('nothing was uploaded');
      for (const bee of bees) expect(await bee.downloadData(upload.reference)).toHaveLength(upload.size ?? 0);
      const { block } = await queen.getChainState();
      expect(block).toBeGreaterThan(2 * ROUND);
    });

    test('can make a reserve sample around each of its nodes', async () => {
      for (const bee of bees) {
        const anchor = (await bee.getNodeAddresses()).overlay.toHex().slice(0, 4);
        await eventually('there is no sample', async () => {
          const seconds = await bee.rchash(2, anchor, anchor);
          return seconds > 0 ? undefined : `it took ${seconds} s`;
        });
      }
    });
  });
}
