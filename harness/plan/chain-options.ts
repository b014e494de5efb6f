import type { ChainOptions } from '../chain/record.ts';
import { FLAVOURS } from '../flavours/table.ts';
import { batchAmount, type Definition, hasPublicNode, plannedNodes } from './definition.ts';
import { batchNonce, type NodeIdentity } from './seed.ts';

/** Native coin and tokens of every node's account, in base units (contracts.md 12). */
const NODE_NATIVE = 10n ** 19n;
const NODE_TOKENS = 10n ** 20n;

/** The chain of a cluster as its definition and seed describe it. */
export function chainOptions(
  definition: Definition,
  seed: bigint,
  identities: readonly NodeIdentity[],
): ChainOptions {
  const { batches, chain, swap } = definition;
  return {
    port: chain.port,
    chainId: chain.chainId,
    networkId: chain.networkId,
    blockTimeMs: chain.blockTime,
    steady: hasPublicNode(definition),
    gate: chain.gate,
    accounts: identities.map(({ ethereum }) => ({
      address: `0x${ethereum}`,
      native: NODE_NATIVE.toString(),
      tokens: NODE_TOKENS.toString(),
    })),
    batches:
      batches === false
        ? []
        : identities.map(({ ethereum }, node) => ({
            owner: `0x${ethereum}`,
            amount: batchAmount(batches.ttl, chain.blockTime).toString(),
            depth: batches.depth,
            immutable: batches.immutable,
            nonce: batchNonce(seed, node, 0),
          })),
    chequebooks:
      swap === false
        ? []
        : plannedNodes(definition).flatMap(({ flavour, mode }, node) =>
            FLAVOURS[flavour].adoptsChequebook && mode !== 'boot'
              ? [{ issuer: `0x${identities[node]?.ethereum}`, deposit: swap.deposit.toString() }]
              : [],
          ),
  };
}
