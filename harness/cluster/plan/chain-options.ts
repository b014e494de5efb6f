import { type Account, createAccount } from '../../../chain/account.ts';
import { chequebookAddress, chequebookSalt } from '../../../chain/deployment/chequebooks.ts';
import { batchId } from '../../../chain/deployment/deploy.ts';
import { LOCAL_CHAIN_DEFAULTS } from '../../../chain/local-chain.ts';
import type { Contracts } from '../../chain/contracts.ts';
import type { ChainOptions } from '../../chain/record.ts';
import { plainHex } from '../../client/json.ts';
import { flavourOf } from '../../flavours/table.ts';
import { batchAmount } from './definition.ts';
import { batchesOf, engineOf, groupsByNumber, hasPublicNode } from './facts.ts';
import type { PlannedNode } from './planned-node.ts';
import { chainPort } from './ports.ts';
import type { Definition } from './schema.ts';
import { batchNonce, spareAccounts } from './seed.ts';

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
    batches: nodes.flatMap((node) =>
      batchesOf(definition, node).map(({ ttl, depth, immutable }, batch) => ({
        owner: addressOf(node),
        amount: batchAmount(ttl, price).toString(),
        depth,
        immutable,
        nonce: batchNonce(seed, node.index, batch),
      })),
    ),
    chequebooks:
      swap === false
        ? []
        : nodes
            .filter((node) => flavourOf(node).adoptsChequebook)
            .map((node) => ({
              issuer: addressOf(node),
              deposit: swap.deposit.toString(),
              ...(node.index < (definition.grown?.from ?? Infinity)
                ? {}
                : { place: chequebookPlace(definition, node) }),
            })),
  };
}

export function plannedBatches({
  nodes,
  chain,
}: {
  readonly nodes: readonly PlannedNode[];
  readonly chain: ChainOptions;
}): { readonly id: string; readonly node: string; readonly depth: number }[] {
  const { address } = deployer();
  return chain.batches.flatMap(({ owner, nonce, depth }) =>
    nodes
      .filter(({ identity }) => owner === `0x${identity.ethereum}`)
      .map(({ name }) => ({ id: plainHex(batchId(address, nonce)), node: name, depth })),
  );
}

/**
 * Place among the chequebooks that one start with all nodes ever would deploy.
 * @returns undefined: the node's first program deploys its own
 */
function chequebookPlace(definition: Definition, { index }: Pick<PlannedNode, 'index'>): number | undefined {
  const adopt = groupsByNumber(definition).map((group) => flavourOf(group).adoptsChequebook);
  return adopt[index] === true ? adopt.slice(0, index).filter((adopts) => adopts).length : undefined;
}

export function chequebookOf(
  definition: Definition,
  node: Pick<PlannedNode, 'index' | 'flavour' | 'declared'>,
  { chequebookFactory: factory }: Contracts,
): string | undefined {
  if (definition.swap === false || !flavourOf(node).adoptsChequebook) return undefined;
  const place = chequebookPlace(definition, node);
  if (place === undefined) return undefined;
  return chequebookAddress({ factory, sender: deployer().address, salt: chequebookSalt(place) });
}

function deployer(): Account {
  return createAccount(LOCAL_CHAIN_DEFAULTS.deployerKey);
}
