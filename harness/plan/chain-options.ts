import type { ChainOptions } from '../chain/record.ts';
import { FLAVOURS } from '../flavours/table.ts';
import { batchAmount } from './definition.ts';
import { hasPublicNode } from './facts.ts';
import type { PlannedNode } from './planned-node.ts';
import { chainPort } from './ports.ts';
import type { Definition } from './schema.ts';
import { batchNonce, spareAccounts } from './seed.ts';

/** Native coin and tokens of every account, in base units (contracts.md 12). */
const ACCOUNT_NATIVE = 10n ** 19n;
const ACCOUNT_TOKENS = 10n ** 20n;

/** The chain of a cluster as its definition and seed describe it. */
export function chainOptions(
  definition: Definition,
  seed: bigint,
  nodes: readonly PlannedNode[],
): ChainOptions {
  const { batches, chain, swap } = definition;
  const addressOf = ({ identity }: PlannedNode) => `0x${identity.ethereum}`;
  return {
    port: chainPort(definition),
    chainId: chain.chainId,
    networkId: chain.networkId,
    blockTimeMs: chain.blockTime,
    steady: hasPublicNode(definition),
    gate: chain.gate,
    accounts: [...nodes.map(({ identity }) => identity), ...spareAccounts(seed)].map(({ ethereum }) => ({
      address: `0x${ethereum}`,
      native: ACCOUNT_NATIVE.toString(),
      tokens: ACCOUNT_TOKENS.toString(),
    })),
    batches:
      batches === false
        ? []
        : nodes
            .map((node, index) => ({ node, nonce: batchNonce(seed, index, 0) }))
            .filter(({ node }) => node.mode !== 'boot')
            .map(({ node, nonce }) => ({
              owner: addressOf(node),
              amount: batchAmount(batches.ttl, chain.blockTime).toString(),
              depth: batches.depth,
              immutable: batches.immutable,
              nonce,
            })),
    chequebooks:
      swap === false
        ? []
        : nodes
            .filter(({ flavour, mode }) => FLAVOURS[flavour].adoptsChequebook && mode !== 'boot')
            .map((node) => ({ issuer: addressOf(node), deposit: swap.deposit.toString() })),
  };
}
