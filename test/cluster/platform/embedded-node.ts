import { type RunningNode, startNode } from '../../../node/compose.ts';
import type { MemoryNetwork } from '../../../node/p2p/memory-host.ts';
import {
  type MemoryOptions,
  type MemoryPlatform,
  memoryNetwork,
  memoryPlatform,
} from '../../../node/platform/memory.ts';
import { MemoryDisk } from '../../../node/store/memory-store.ts';
import type { NodeChain } from '../../unit/platform/node-chain.ts';
import { keysOf } from '../../unit/platform/node-keys.ts';
import { nodeOptions } from '../../unit/platform/node-options.ts';

export interface Surroundings {
  readonly network: MemoryNetwork;
  readonly chain: NodeChain;
  /** What nodes have asked the chain, and how often. */
  readonly calls: Map<string, number>;
}

/** Of the nodes' keys. */
export const SEED = 'test';

export function surroundings(chain: NodeChain): Surroundings {
  return { network: memoryNetwork(), chain, calls: new Map() };
}

export interface EmbeddedNode {
  readonly platform: MemoryPlatform;
  readonly node: RunningNode;
  readonly api: string;
  readonly lines: string[];
  readonly crashes: unknown[];
}

export async function embedded(
  n: number,
  { network, chain, calls }: Surroundings,
  given: { options?: Record<string, string>; platform?: Partial<MemoryOptions>; disk?: MemoryDisk } = {},
): Promise<EmbeddedNode> {
  const lines: string[] = [];
  const crashes: unknown[] = [];
  const platform = await memoryPlatform({
    keys: keysOf(SEED, n),
    host: network,
    store: given.disk ?? new MemoryDisk(),
    chain: () => chain.endpoint(calls),
    log: (line) => void lines.push(line),
    onCrash: (error) => void crashes.push(error),
    ...given.platform,
  });
  const options = nodeOptions(chain.contracts, given.options);
  const node = await platform.run(() => startNode(options, platform, new AbortController().signal));
  return { platform, node, api: `http://${node.addresses.main}`, lines, crashes };
}

export async function peersOf(api: string): Promise<string[]> {
  const answer = await fetch(`${api}/peers`);
  const { peers } = (await answer.json()) as { peers: { address: string }[] };
  return peers.map(({ address }) => address);
}

export async function batchOf(api: string): Promise<string> {
  const answer = await fetch(`${api}/stamps/10000000/20`, { method: 'POST', headers: { immutable: 'true' } });
  const { batchID } = (await answer.json()) as { batchID: string };
  if (answer.status !== 201) throw new Error(`the batch is not bought: ${answer.status}`);
  for (let look = 0; look < 100; look++) {
    const { usable } = (await (await fetch(`${api}/stamps/${batchID}`)).json()) as { usable: boolean };
    if (usable) return batchID;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error('the batch is not usable');
}

export async function upload(api: string, batch: string, bytes: Uint8Array): Promise<string> {
  const headers = { 'svc-postage-batch-id': batch, 'content-type': 'application/octet-stream' };
  const answer = await fetch(`${api}/bytes`, { method: 'POST', headers, body: bytes });
  const text = await answer.text();
  if (answer.status !== 201) throw new Error(`the upload is refused: ${answer.status} ${text}`);
  return (JSON.parse(text) as { reference: string }).reference;
}
