import { createRpcClient, KEPT_CONNECTIONS } from '../../../chain/rpc.ts';
import type { Clock } from '../../../formats/clock.ts';
import { secretsOf, shownUrl } from '../../../formats/shown-url.ts';
import { agentOf } from '../../base/direct.ts';
import type { Chain } from '../../chain/chain.ts';
import { CONTRACT_NAMES, type Contracts } from '../../chain/contracts.ts';
import type { Graded, Opened } from '../grade.ts';
import { chainAt } from './chain-at.ts';
import { CHAIN_ROWS } from './rows.ts';
import type { ChainSubject, RpcCall } from './subject.ts';

/** Chain to grade, by its endpoint. */
export interface ChainFlags {
  /** URL of the JSON-RPC endpoint. */
  readonly rpc: string;
  /** File with the addresses of the contracts. */
  readonly contracts?: string;
  /** Block of the first contract. Default: 1. */
  readonly startBlock?: bigint;
}

/** @param around between endpoint and rows, to change answers */
export function chainConformance(
  flags: ChainFlags,
  around: (ask: RpcCall) => RpcCall = (ask) => ask,
): Graded<ChainSubject> {
  return { kind: 'chain', rows: CHAIN_ROWS, open: ({ clock }) => open(flags, { around, clock }) };
}

async function open(
  flags: ChainFlags,
  { around, clock }: { readonly around: (ask: RpcCall) => RpcCall; readonly clock: Clock },
): Promise<Opened<ChainSubject>> {
  const chain = await chainAt(flags.rpc, flags.contracts, clock);
  // Its errors keep a revert's data.
  const client = createRpcClient(
    flags.rpc,
    undefined,
    agentOf(flags.rpc, { foreign: true }, KEPT_CONNECTIONS),
  );
  const ask: RpcCall = (method, params) => client.call(method, ...params);
  return {
    subject: {
      clock,
      call: around(ask),
      contracts: known(chain),
      startBlock: flags.startBlock ?? BigInt(chain.startBlock),
    },
    described: `${shownUrl(flags.rpc)}, chain ${chain.chainId}`,
    implementation: await clientOf(chain),
    secrets: secretsOf(flags.rpc),
    close: async () => {
      client.close();
      await chain.close();
      return [];
    },
  };
}

function known({ contracts }: Chain): Partial<Contracts> {
  return Object.fromEntries(
    CONTRACT_NAMES.filter((name) => Object.keys(contracts).includes(name)).map((name) => [
      name,
      contracts[name],
    ]),
  );
}

async function clientOf(chain: Chain): Promise<string> {
  try {
    return await chain.call<string>('web3_clientVersion');
  } catch {
    return '';
  }
}
