import { expect } from 'vitest';
import type { Cluster, ClusterNode } from '../../../harness/index.ts';

export interface Use {
  readonly acknowledged: ReadonlyMap<string, Uint8Array>;
  /** Ends with the upload under way. */
  end(): Promise<void>;
}

export function use(net: Cluster): Use {
  const acknowledged = new Map<string, Uint8Array>();
  const over = new AbortController();
  const load = async () => {
    for (let turn = 0; !over.signal.aborted; turn++) {
      const data = new Uint8Array(30_000).fill(turn).fill(turn >> 8, 100);
      const { reference } = await net.node(0).bytes.upload(data);
      acknowledged.set(reference, data);
      await net.clock.sleep(50);
    }
  };
  const loading = load();
  const end = async () => {
    over.abort();
    await loading;
  };
  return { acknowledged, end };
}

export async function expectRead(net: Cluster, node: ClusterNode, { acknowledged }: Use): Promise<void> {
  for (const [reference, data] of acknowledged) {
    await net.synced(reference);
    expect(await node.bytes.download(reference)).toEqual(data);
  }
}
