import type { ClusterNode } from 'svcnet';
import { expect, test } from 'vitest';
import pushsync from '../../../scenarios/pushsync.ts';
import { freshChunk } from '../../../scenarios/steps/presence.ts';
import { VirtualClock } from '../onchain/virtual-clock.ts';

const random = { bytes: (length: number) => Buffer.alloc(length, 7), below: () => 0 };
const { address } = freshChunk(random);

function node(name: string, overlay: string, lacks: number): ClusterNode {
  let looks = 0;
  const has = () => Promise.resolve(++looks > lacks);
  return {
    name,
    overlay,
    mode: 'full',
    flavour: 'svc',
    running: true,
    batch: 'b1',
    client: { status: () => Promise.resolve({ storageRadius: 0 }) },
    chunks: { upload: () => Promise.resolve({ reference: address }), has },
    holds: has,
  } as unknown as ClusterNode;
}

test('a neighbour has its own time to pull the chunk, however few looks the closest node gets', async () => {
  const seen: [name: string, passed: boolean][] = [];
  const context = {
    parameters: {
      mode: 'chunks',
      'chunks-per-node': 1,
      'upload-node-count': 1,
      retries: 1,
      'retry-delay': 1,
      'sync-within': pushsync.parameters['sync-within'].default,
    },
    cluster: {
      clock: new VirtualClock(),
      nodes: [
        node('uploader', 'ff'.repeat(32), 0),
        node('closest', address, 0),
        node('neighbour', '00'.repeat(32), 5),
      ],
    },
    signal: new AbortController().signal,
    random: () => random,
    step: async (name: string, work: (progress: unknown) => Promise<unknown>) =>
      name === 'push' ? work({ detail: () => undefined }) : undefined,
    measure: (_what: unknown, work: () => Promise<unknown>) => work(),
    ledger: { add: () => Promise.resolve() },
    figure: () => undefined,
    expect: (name: string, passed: boolean) => void seen.push([name, passed]),
  };
  await pushsync.run(context as unknown as Parameters<typeof pushsync.run>[0]);
  const short = address.slice(0, 8);
  expect(seen).toEqual([
    [`chunk ${short} reaches the node closest to it`, true],
    [`chunk ${short} is on another node of its neighbourhood`, true],
  ]);
});
