import type { Cluster } from '../../../harness/cluster/cluster.ts';
import { until } from '../../../harness/scenario.ts';
import { nextSecond } from '../../../scenarios/steps/steps.ts';
import { bytesOf } from '../node/kit.ts';

/** Some twenty chunks: a sample has sixteen. */
const SIZE = 80_000;
const CHUNK_SIZE = 4096;
/** In blocks. A sample contains what was stamped before the last round. */
const ROUND_BLOCKS = 152;
/** A Bee reports a new round only with a new phase. */
const TIMEOUT_MS = 180_000;

export async function sampled(net: Cluster): Promise<void> {
  const nodes = net.nodes.filter(({ mode }) => mode === 'full');
  for (const node of nodes) await node.bytes.upload(bytesOf(`sampled of ${node.name}`, SIZE));
  const least = nodes.length * Math.ceil(SIZE / CHUNK_SIZE);
  await until(
    'equal reserves',
    async () => {
      const sizes = await Promise.all(nodes.map(async (node) => (await node.client.status()).reserveSize));
      const done = new Set(sizes).size === 1 && (sizes[0] ?? 0) >= least;
      return done ? { done } : { missing: `sizes ${sizes.join(', ')}, expected ${least} or more` };
    },
    { timeoutMs: TIMEOUT_MS },
  );
  // Blocks count whole seconds.
  await nextSecond(net.clock, AbortSignal.timeout(TIMEOUT_MS));
  const rounds = () =>
    Promise.all(
      nodes.map(async (node) => Math.floor((await node.redistribution.state()).block / ROUND_BLOCKS)),
    );
  const wanted = Math.max(...(await rounds())) + 2;
  await net.chain.mine(2 * ROUND_BLOCKS, { force: true });
  await until(
    'two rounds later',
    async () => {
      const seen = await rounds();
      return seen.every((round) => round >= wanted)
        ? { done: true }
        : { missing: `rounds ${seen.join(', ')}, expected ${wanted}` };
    },
    { timeoutMs: TIMEOUT_MS },
  );
}
