/** What `Cluster.attachNetwork` accepts. `schema.ts` reads it. */
import type { Contracts } from '../../chain/contracts.ts';

/** The token of nodes, or of the chain, that require one; give one of the two. */
export interface TokenInput {
  readonly token?: string | undefined;
  /** Relative to the network file, and below its folder. Of an object: of any folder. */
  readonly tokenFile?: string | undefined;
}

/** The chain that the nodes use. */
export interface NetworkChainInput extends TokenInput {
  /** URL of its JSON-RPC endpoint; may be left out when no node has a chain. */
  readonly rpc?: string | undefined;
  /** URL of its control endpoint, when svcnet has started it. */
  readonly control?: string | undefined;
  /** Addresses, `0x` and 40 hex digits each. */
  readonly contracts?: { readonly [Name in keyof Contracts]?: string | undefined } | undefined;
}

/** A node that svcnet did not start. */
export interface NetworkNodeInput extends TokenInput {
  /** URL of its API without a path, such as `http://127.0.0.1:1633`. */
  readonly api: string;
  /** The same for its debug API. Default: the API. */
  readonly debug?: string | undefined;
  /** Default: `node-` and its place in the list. */
  readonly name?: string | undefined;
  /** Private key of its account, 64 hex digits. */
  readonly key?: string | undefined;
}

/** A batch of one of the nodes. */
export interface NetworkBatchInput {
  /** 64 hex digits. */
  readonly id: string;
  /** Name of the node that owns it. */
  readonly node: string;
}

/** A network that svcnet did not start. Omitted values are requested from the nodes. */
export interface NetworkInput extends TokenInput {
  /** Default: the file's name without its extension, or `network`. */
  readonly name?: string;
  readonly chain?: NetworkChainInput | undefined;
  /** 1 to 1000. */
  readonly nodes: readonly NetworkNodeInput[];
  /** Default: the usable batches of each node. */
  readonly batches?: readonly NetworkBatchInput[] | undefined;
}
