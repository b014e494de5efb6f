import type { Chain } from '../chain/chain.ts';
import type { Contracts } from '../chain/contracts.ts';
import type { ClusterNode } from './nodes/cluster-node.ts';
import { seedToJson } from './plan/seed.ts';
import type { BatchRecord, PreparedRecord, Timings } from './state/state.ts';

/** A cluster as `svcnet ps --json` and `cluster.toJSON` describe it. */
export interface ClusterDocument {
  readonly name: string;
  /** A decimal string when a JSON number cannot hold it; `null` when it does not come from a seed. */
  readonly seed: number | string | null;
  readonly driver: string;
  /** Its endpoint as people may see it: without user, query and keys. */
  readonly chain: { readonly rpc: string; readonly chainId: number; readonly contracts: Partial<Contracts> };
  readonly nodes: readonly {
    readonly name: string;
    readonly flavour: string;
    readonly mode: string;
    /** Names and values of its API. */
    readonly dialect: string;
    /** Path of its program, for flavours that need one. */
    readonly binary?: string | undefined;
    /** URLs. */
    readonly api: string;
    readonly debug: string;
    /** Multiaddress. */
    readonly p2p: string;
    readonly overlay: string;
    readonly ethereum: string;
    /** Process of this machine; `null` while it does not run. */
    readonly pid?: number | null;
    /** Name of its container, running or not, instead of a process. */
    readonly container?: string;
    /** As the node sees it; `null` when svcnet did not start it, like its log. */
    readonly dataDir: string | null;
    /** Path of its log, or the command that prints it. */
    readonly log: string | null;
  }[];
  readonly batches: readonly BatchRecord[];
  readonly prepared: PreparedRecord;
  readonly timings: Timings;
}

interface Documented extends Pick<ClusterDocument, 'name' | 'driver' | 'batches' | 'prepared' | 'timings'> {
  readonly chain: Pick<Chain, 'shownRpc' | 'chainId' | 'contracts'>;
  readonly seed: bigint | undefined;
  readonly nodes: readonly (Pick<
    ClusterNode,
    'name' | 'flavour' | 'mode' | 'binary' | 'api' | 'debug' | 'p2p' | 'overlay' | 'ethereum'
  > &
    Pick<ClusterNode, 'dialect' | 'pid' | 'container' | 'dataDir' | 'log'>)[];
}

export function clusterDocument(cluster: Documented): ClusterDocument {
  const { shownRpc, chainId, contracts } = cluster.chain;
  return {
    name: cluster.name,
    seed: seedToJson(cluster.seed),
    driver: cluster.driver,
    chain: { rpc: shownRpc, chainId, contracts },
    nodes: cluster.nodes.map((node) => ({
      name: node.name,
      flavour: node.flavour,
      mode: node.mode,
      dialect: node.dialect,
      binary: node.binary,
      api: node.api,
      debug: node.debug,
      p2p: node.p2p,
      overlay: node.overlay,
      ethereum: node.ethereum,
      ...whereItRuns(node),
      dataDir: node.dataDir || null,
      log: node.log || null,
    })),
    batches: cluster.batches,
    prepared: cluster.prepared,
    timings: cluster.timings,
  };
}

/** Process or container, as all documents name it. */
export function whereItRuns({
  pid,
  container,
}: Pick<ClusterNode, 'pid' | 'container'>): { readonly pid: number | null } | { readonly container: string } {
  return container === undefined ? { pid: pid ?? null } : { container };
}
