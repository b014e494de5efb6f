import { LOCAL_CHAIN_DEFAULTS } from '../../../chain/local-chain.ts';
import type { ChainOptions } from '../../chain/record.ts';
import { FLAVOURS } from '../../flavours/table.ts';
import { batchAmount } from './definition.ts';
import { batchesOf, engineOf, hasPublicNode } from './facts.ts';
import type { PlannedNode } from './planned-node.ts';
import { chainPort } from './ports.ts';
import type { Definition } from './schema.ts';
import { batchNonce, spareAccounts } from './seed.ts';

/** The chain options that follow from a cluster's definition and seed. */
export function chainOptions(
  definition: Definition,
  seed: bigint,
  nodes: readonly PlannedNode[],
): ChainOptions {
  const { chain, funds, swap } = definition;
  const addressOf = ({ identity }: PlannedNode) => `0x${identity.ethereum}`;
  const price = { blockTimeMs: chain.blockTime, storagePrice: BigInt(chain.storagePrice) };
  return {
    engine: engineOf(definition),
    host: definition.listen,
    port: chainPort(definition),
    controlHost: LOCAL_CHAIN_DEFAULTS.host,
    allowedHosts: definition.allowedHosts,
    origins: definition.cors,
    chainId: chain.chainId,
    networkId: chain.networkId,
    blockTimeMs: chain.blockTime,
    storagePrice: chain.storagePrice,
    steady: hasPublicNode(definition),
    gate: chain.gate || definition.machineFaults,
    accounts: [...nodes.map(({ identity }) => identity), ...spareAccounts(seed)].map(({ ethereum }) => ({
      address: `0x${ethereum}`,
      native: funds.native.toString(),
      tokens: funds.tokens.toString(),
    })),
    batches: nodes.flatMap((node, index) =>
      batchesOf(definition, node).map(({ ttl, depth, immutable }, batch) => ({
        owner: addressOf(node),
        amount: batchAmount(ttl, price).toString(),
        depth,
        immutable,
        nonce: batchNonce(seed, index, batch),
      })),
    ),
    chequebooks:
      swap === false
        ? []
        : nodes
            .filter(({ flavour }) => FLAVOURS[flavour].adoptsChequebook)
            .map((node) => ({ issuer: addressOf(node), deposit: swap.deposit.toString() })),
  };
}
