import type { MessageStream } from '../../../../node/p2p/host.ts';
import { MemoryNetwork } from '../../../../node/p2p/memory-host.ts';
import { Get, PULLSYNC } from '../../../../node/protocols/pullsync/wire.ts';
import { memoryNode } from '../../p2p/memory-nodes.ts';
import { connect, never } from '../exchange-nodes.ts';
import { ManualClock } from '../manual-clock.ts';
import { chunksInBin, fill, type PullNode, pullNode } from './pull-nodes.ts';

export async function served(options: { filled?: number; bin?: number } = {}) {
  const { filled = 0, bin = 0 } = options;
  const clock = new ManualClock();
  const network = new MemoryNetwork();
  const node = await pullNode(1, { clock, network });
  const chunks = chunksInBin(node.overlay, bin, filled);
  await fill(node, chunks);
  const client = memoryNode({ network, n: 2, clock });
  await client.host.start();
  const peer = await connect(client, node, clock);
  const ask = async (start: bigint, of = bin): Promise<MessageStream> => {
    const stream = await client.host.open(peer, PULLSYNC.id, { signal: never });
    await stream.write(Get, { bin: of, start });
    await clock.settle();
    return stream;
  };
  return { clock, network, node, client, peer, chunks, ask };
}

export async function another(
  n: number,
  node: PullNode,
  { clock, network }: { clock: ManualClock; network: MemoryNetwork },
) {
  const client = memoryNode({ network, n, clock });
  await client.host.start();
  return { client, peer: await connect(client, node, clock) };
}
