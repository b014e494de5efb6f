import { createAccount } from '../../../chain/account.ts';
import { contractAddresses, START_BLOCK } from '../../../chain/deployment/deploy.ts';
import { LOCAL_CHAIN_DEFAULTS } from '../../../chain/local-chain.ts';
import type { Clock } from '../../../formats/clock.ts';
import { topicOf } from '../../../formats/ethereum/abi.ts';
import { quantity } from '../../../formats/ethereum/hex.ts';
import { shownUrl } from '../../../formats/shown-url.ts';
import { HarnessError, messageOf } from '../../base/errors.ts';
import type { TokenSource } from '../../base/token.ts';
import { Chain } from '../../chain/chain.ts';
import { CONTRACT_NAMES, type Contracts } from '../../chain/contracts.ts';
import type { ChainRecord } from '../../chain/record.ts';
import { ClientError } from '../../client/errors.ts';
import { HttpClient } from '../../client/http.ts';
import { plainHex, prefixed } from '../../client/json.ts';
import type { ProbedNode } from './probe-node.ts';
import type { NetworkFile } from './schema.ts';

const PACE_BLOCKS = 20;
/** No chain of storage nodes is slower. */
const PACE_MAX_S = 600;
const BATCH_CREATED = 'BatchCreated(bytes32,uint256,uint256,address,uint8,uint8,bool)';

export interface ProbedChain {
  readonly record: ChainRecord;
  readonly height: number;
  readonly mistakes: readonly string[];
}

interface Header {
  readonly number: string;
  readonly timestamp: string;
}

export const NO_CHAIN: ChainRecord = {
  rpc: '',
  chainId: 0,
  networkId: 0,
  contracts: {},
  startBlock: 0,
  blockTimeMs: 0,
  steady: true,
};

export async function probeChain(
  { rpc, control, contracts: given, ...source }: NetworkFile['chain'] & { readonly rpc: string },
  nodes: readonly ProbedNode[],
  clock: Clock,
): Promise<ProbedChain | { readonly mistakes: readonly string[] }> {
  const controlled =
    control === undefined ? { contracts: {} } : await contractsOfControl(control, { ...source, clock });
  const mistakes: string[] = 'mistake' in controlled ? [controlled.mistake] : [];
  const bare: ChainRecord = { ...NO_CHAIN, rpc, ...source, foreign: true };
  const chain = new Chain(bare, clock);
  try {
    const [chainId, latest] = await Promise.all([chain.call<string>('eth_chainId'), header(chain, 'latest')]);
    const height = Number(latest.number);
    const contracts: Partial<Contracts> = {
      ...(await detectContracts(chain, nodes)),
      ...('contracts' in controlled ? controlled.contracts : {}),
      ...withoutNothing(given),
    };
    const absent = await withoutCode(chain, contracts);
    mistakes.push(...absent.map((name) => `chain.contracts.${name}: no contract at ${contracts[name]}`));
    const isSvcnet = control !== undefined || contracts.postageStamp === ownContracts().postageStamp;
    return {
      record: {
        ...bare,
        control,
        chainId: Number(chainId),
        contracts,
        // Earlier history is not read: a public chain has years of it.
        startBlock: isSvcnet ? START_BLOCK : height,
        blockTimeMs: await paceOf(chain, latest),
        // Real nodes tell time by blocks, which must keep their pace.
        steady: control === undefined || nodes.some(({ flavour }) => flavour !== 'svc'),
      },
      height,
      mistakes,
    };
  } catch (error) {
    if (!(error instanceof HarnessError)) throw error;
    return {
      mistakes: [
        `chain.rpc: ${shownUrl(rpc)} is not a JSON-RPC endpoint of a chain: ${error.message}`,
        ...mistakes,
      ],
    };
  } finally {
    await chain.close();
  }
}

/** A chain started by svcnet reports its contracts itself. */
async function contractsOfControl(
  control: string,
  source: TokenSource & { readonly clock: Clock },
): Promise<{ readonly contracts: Partial<Contracts> } | { readonly mistake: string }> {
  await using http = new HttpClient({ node: 'chain', base: control, ...source, foreign: true });
  try {
    const answer = await http.request({ method: 'GET', path: '/state' });
    const { contracts } = (await answer.json()) as { contracts?: Partial<Contracts> };
    if (contracts !== undefined) return { contracts };
    return {
      mistake: `chain.control: ${control} answers, but is not the control endpoint of an svcnet chain`,
    };
  } catch (error) {
    const isLocked = error instanceof ClientError && error.status === 401;
    const hint = isLocked ? ' (set chain.token or chain.tokenFile: svcnet keys shows it)' : '';
    return { mistake: `chain.control: ${control}: ${messageOf(error)}${hint}` };
  }
}

/**
 * On chains that svcnet did not start, chequebooks know the token, and the postage contract is the one that announced a
 * node's batch.
 */
async function detectContracts(chain: Chain, nodes: readonly ProbedNode[]): Promise<Partial<Contracts>> {
  const own = ownContracts();
  if (
    (await withoutCode(chain, own)).length === 0 &&
    (await tokenOf(chain, own.postageStamp)) === plainHex(own.token)
  ) {
    return own;
  }
  const postageStamp = await announcerOf(chain, nodes);
  const chequebook = nodes.find((node) => node.chain?.chequebook !== undefined)?.chain?.chequebook;
  const token =
    postageStamp === undefined
      ? chequebook && (await addressIn(chain, chequebook, 'token()'))
      : await tokenOf(chain, postageStamp);
  return {
    ...(postageStamp === undefined ? {} : { postageStamp }),
    ...(token === undefined ? {} : { token: prefixed(token) }),
  };
}

function ownContracts(): Contracts {
  return contractAddresses(createAccount(LOCAL_CHAIN_DEFAULTS.deployerKey));
}

function tokenOf(chain: Chain, postageStamp: string): Promise<string | undefined> {
  return addressIn(chain, postageStamp, 'bzzToken()');
}

/** @returns 40 hex digits; undefined: no such view, or no contract */
async function addressIn(chain: Chain, contract: string, view: string): Promise<string | undefined> {
  try {
    return (await chain.view(contract, view)).toString(16).padStart(40, '0');
  } catch (error) {
    if (error instanceof HarnessError && error.code === 'CHAIN_FAILED') return undefined;
    throw error;
  }
}

async function announcerOf(chain: Chain, nodes: readonly ProbedNode[]): Promise<string | undefined> {
  const batch = nodes.flatMap(({ batches }) => batches)[0];
  if (batch === undefined) return undefined;
  const block = quantity(batch.blockNumber);
  const filter = {
    fromBlock: block,
    toBlock: block,
    topics: [topicOf(BATCH_CREATED), prefixed(batch.batchID)],
  };
  try {
    return (await chain.call<readonly { address: string }[]>('eth_getLogs', [filter]))[0]?.address;
  } catch (error) {
    // Public endpoints refuse logs of old blocks.
    if (error instanceof HarnessError && error.code === 'CHAIN_FAILED') return undefined;
    throw error;
  }
}

async function withoutCode(chain: Chain, contracts: Partial<Contracts>): Promise<(keyof Contracts)[]> {
  const known = CONTRACT_NAMES.filter((name) => contracts[name] !== undefined);
  const codes = await Promise.all(
    known.map((name) => chain.call<string>('eth_getCode', [contracts[name], 'latest'])),
  );
  return known.filter((_, index) => codes[index] === '0x');
}

async function paceOf(chain: Chain, latest: Header): Promise<number> {
  const height = Number(latest.number);
  const first = Math.max(0, height - PACE_BLOCKS);
  const headers = await Promise.all(
    Array.from({ length: height - first }, (_, index) => header(chain, quantity(first + index))),
  );
  return paceBetween([...headers, latest].map(({ timestamp }) => Number(timestamp)));
}

/**
 * The usual time between blocks, without those mined at once and the years since a start in the past.
 * @param times of blocks, Unix seconds, ascending @returns milliseconds; 0: none
 */
export function paceBetween(times: readonly number[]): number {
  const gaps = times
    .slice(1)
    .map((time, index) => time - (times[index] ?? time))
    .filter((gap) => gap > 0 && gap <= PACE_MAX_S)
    .toSorted((one, other) => one - other);
  return (gaps[Math.floor((gaps.length - 1) / 2)] ?? 0) * 1000;
}

async function header(chain: Chain, block: string): Promise<Header> {
  const found = await chain.call<Header | null>('eth_getBlockByNumber', [block, false]);
  if (found !== null) return found;
  throw new HarnessError('CHAIN_FAILED', `eth_getBlockByNumber: there is no block ${block}`);
}

function withoutNothing(given: NetworkFile['chain']['contracts']): Partial<Contracts> {
  return Object.fromEntries(Object.entries(given).filter(([, address]) => address !== undefined));
}
