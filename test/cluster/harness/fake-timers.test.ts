import { afterEach, expect, test, vi } from 'vitest';
import { Cluster } from '../../../harness/index.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const stateDir = temporaryFolder('svcnet-fake-timers');

afterEach(() => void vi.useRealTimers());

test.each(['embedded', 'process', 'simulated'] as const)(
  'a cluster with driver %s starts, stores and stops while timers are fake',
  async (driver) => {
    vi.useFakeTimers({ now: 0 });
    const net = await Cluster.start({ driver, nodes: 2, seed: 7, stateDir });
    try {
      const data = new Uint8Array(20_000).fill(7);
      const { reference } = await net.node(0).bytes.upload(data);
      expect(await net.node(1).bytes.download(reference)).toEqual(data);
    } finally {
      await net.stop();
    }
    expect(Date.now()).toBe(0);
  },
);
