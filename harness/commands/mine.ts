import { HarnessError } from '../base/errors.ts';
import { plural } from '../base/format.ts';
import { flavourOf } from '../flavours/table.ts';
import { answer, type ClusterFlags, type CommandContext } from './context.ts';
import { onCluster } from './on-cluster.ts';

/** @throws HarnessError `CHAIN_STEADY`, `CHAIN_UNCONTROLLED` */
export async function mine(blocks: number, flags: ClusterFlags, context: CommandContext): Promise<void> {
  await onCluster(flags, context, async (cluster) => {
    const { chain, nodes } = cluster;
    if (chain.controlled && chain.steady) {
      const telling = nodes.filter((node) => flavourOf(node).public).map(({ name }) => name);
      throw new HarnessError(
        'CHAIN_STEADY',
        `cannot mine on demand: ${telling.join(', ')} would misread the time from early blocks`,
        {
          hint: `Wait: a block is mined every ${chain.blockTimeMs} ms. Only clusters without Bees mine on demand.`,
        },
      );
    }
    const behind = await chain.mine(blocks);
    const height = await chain.height();
    answer(context, { name: cluster.name, mined: blocks, height, behind }, [
      `  mined    ${plural(blocks, 'block')}`,
      `  height   ${height}`,
      ...(behind.length === 0 ? [] : [`  behind   ${behind.join(', ')}: not read within 15 s`]),
    ]);
  });
}
