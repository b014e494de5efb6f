import type { Clock } from '../../../formats/clock.ts';
import { cannotWrite, throwIfInterrupted } from '../../base/errors.ts';
import { claimCluster } from '../lifecycle/claim.ts';
import { removeCluster, type Timings, writeRecord, writeRun } from '../state/state.ts';
import { findNetwork } from './network.ts';
import type { NetworkInput } from './network-input.ts';
import { parseNetwork, readNetworkFile } from './schema.ts';

const NO_TIMINGS: Timings = { chainMs: 0, nodesMs: 0, meshedMs: 0, batchUsableMs: 0, totalMs: 0 };

/** Options of `Cluster.attachNetwork`. */
export interface AttachOptions {
  /**
   * Replaces the name in the document. Default: the name of the file, without its extension, or `network`.
   */
  readonly name?: string | undefined;
  /** File with the token of all nodes, wherever it is; instead of what the document says. */
  readonly tokenFile?: string | undefined;
  /** Folder of all state; default `.svcnet` in the current directory, or `SVCNET_STATE`. */
  readonly stateDir?: string;
  /** Default: the machine's. */
  readonly clock?: Clock;
  readonly signal?: AbortSignal;
}

export async function recordNetwork(
  network: string | NetworkInput,
  options: AttachOptions & { readonly stateDir: string; readonly clock: Clock },
): Promise<string> {
  const { signal, stateDir, clock } = options;
  throwIfInterrupted(signal);
  const source = typeof network === 'string' ? network : 'network';
  const file =
    typeof network === 'string'
      ? await readNetworkFile(network, options)
      : parseNetwork(network, { source, ...options });
  const found = await findNetwork(file, source, { clock, signal });
  throwIfInterrupted(signal);
  const { name } = file;
  // Keys and tokens are only in nodes' records.
  const nodes = file.nodes.map(({ name: node, api, debug }) => ({ name: node, api, debug }));
  const definition = { driver: 'attached', profile: 'production', ...file, nodes } as const;
  const claimed = await claimCluster(stateDir, { name, ephemeral: false, definition, clock });
  try {
    for (const node of found.nodes)
      writeRun(stateDir, name, node.name, { handle: { api: node.api }, state: 'running' });
    const { rpc } = found.chain;
    if (rpc !== '') writeRun(stateDir, name, 'chain', { handle: { rpc }, state: 'running' });
    writeRecord(stateDir, { ...claimed, ...found, phase: 'running', timings: NO_TIMINGS });
  } catch (error) {
    removeCluster(stateDir, claimed);
    throw cannotWrite(stateDir, error);
  }
  return name;
}
