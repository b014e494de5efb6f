import { Cluster } from '../cluster/cluster.ts';
import { answer, type CommandContext } from './context.ts';
import { clusterHeadline, nodesTable } from './nodes-table.ts';

export interface AttachFlags {
  readonly file: string;
  readonly name?: string;
  readonly tokenFile?: string;
  readonly wide?: boolean;
}

export async function attach(flags: AttachFlags, context: CommandContext): Promise<void> {
  const { stateDir, signal } = context;
  const { file, name, tokenFile } = flags;
  const cluster = await Cluster.attachNetwork(file, {
    stateDir,
    signal,
    name,
    tokenFile,
  });
  try {
    answer(context, cluster.toJSON(), [
      ...clusterHeadline(cluster, context),
      ...nodesTable(cluster, context, { wide: flags.wide ?? false, state: true }),
    ]);
  } finally {
    await cluster.detach();
  }
}
