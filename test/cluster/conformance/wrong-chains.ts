import { RpcError } from '../../../chain/rpc.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import { keccak256 } from '../../../formats/crypto/keccak.ts';
import { selectorOf, topicOf } from '../../../formats/ethereum/abi.ts';
import type { Contracts } from '../../../harness/chain/contracts.ts';
import type { RpcCall } from '../../../harness/conformance/chain/subject.ts';

type Change = (answer: string) => string;

export interface WrongChain {
  readonly name: string;
  readonly around: (ask: RpcCall, contracts: Contracts) => RpcCall;
  readonly red: readonly string[];
}

const word = (value: bigint) => `0x${value.toString(16).padStart(64, '0')}`;
const other = `0x${'ab'.repeat(20)}`;

/** @param also what the call begins with after its selector */
function view(name: keyof Contracts, signature: string, change: Change, also = ''): WrongChain['around'] {
  return (ask, contracts) => async (method, params) => {
    const answer = await ask(method, params);
    const { to = '', data = '' } = (params[0] ?? {}) as { to?: string; data?: string };
    const hit =
      method === 'eth_call' &&
      to.toLowerCase() === contracts[name].toLowerCase() &&
      data.startsWith(selectorOf(signature) + also);
    return hit ? change(answer as string) : answer;
  };
}

function codeWithout(name: keyof Contracts, piece: string): WrongChain['around'] {
  return (ask, contracts) => async (method, params) => {
    const answer = await ask(method, params);
    if (method !== 'eth_getCode' || String(params[0]).toLowerCase() !== contracts[name].toLowerCase())
      return answer;
    return String(answer).replaceAll(piece.replace(/^0x/, ''), '');
  };
}

function answering(wanted: string, change: (answer: unknown) => unknown): WrongChain['around'] {
  return (ask) => async (method, params) => {
    const answer = await ask(method, params);
    return method === wanted ? change(answer) : answer;
  };
}

function events(signature: string, change: (found: readonly EventLog[]) => unknown): WrongChain['around'] {
  return (ask) => async (method, params) => {
    const answer = await ask(method, params);
    const { topics } = (params[0] ?? {}) as { topics?: readonly string[] };
    return method === 'eth_getLogs' && topics?.[0] === topicOf(signature)
      ? change(answer as EventLog[])
      : answer;
  };
}

interface EventLog {
  readonly topics: readonly string[];
  readonly data: string;
}

function role(name: string): string {
  return toHex(keccak256(new TextEncoder().encode(name)));
}

const BATCH_CREATED = 'BatchCreated(bytes32,uint256,uint256,address,uint8,uint8,bool)';

export const WRONG_CHAINS: readonly WrongChain[] = [
  {
    name: 'has the id of a public chain',
    around: answering('eth_chainId', () => '0x64'),
    red: ['chain id'],
  },
  {
    name: 'stands still',
    around: answering('eth_getBlockByNumber', (block) => ({ ...(block as object), timestamp: '0x65000000' })),
    red: ['head'],
  },
  {
    name: 'has a token of 18 decimals',
    around: view('token', 'decimals()', () => word(18n)),
    red: ['token decimals'],
  },
  {
    name: 'has a token that answers nothing',
    around: view('token', 'approve(address,uint256)', () => '0x'),
    red: ['token answers true'],
  },
  {
    name: 'has a token without approve',
    around: codeWithout('token', selectorOf('approve(address,uint256)')),
    red: ['token approve(address,uint256)'],
  },
  {
    name: 'has no postage contract where it should be',
    around:
      (ask, { postageStamp }) =>
      async (method, params) =>
        method === 'eth_getCode' && params[0] === postageStamp ? '0x' : ask(method, params),
    red: [
      'postageStamp code',
      'postageStamp createBatch(address,uint256,uint8,uint8,bytes32,bool)',
      'postageStamp topUp(bytes32,uint256)',
      'postageStamp increaseDepth(bytes32,uint8)',
      'postageStamp expireLimited(uint256)',
      'postageStamp withdraw(address)',
      'postageStamp setPrice(uint256)',
      'postageStamp event BatchCreated',
      'postageStamp event BatchTopUp(bytes32,uint256,uint256)',
      'postageStamp event BatchDepthIncrease(bytes32,uint8,uint256)',
      'postageStamp event PriceUpdate(uint256)',
      'postageStamp event Paused(address)',
    ],
  },
  {
    name: 'sells batches of more buckets',
    around: view('postageStamp', 'minimumBucketDepth()', () => word(17n)),
    red: ['postageStamp bucket depth'],
  },
  {
    name: 'sells batches that are over at once',
    around: view('postageStamp', 'minimumValidityBlocks()', () => word(0n)),
    red: ['postageStamp validity'],
  },
  {
    name: 'has paused its postage',
    around: view('postageStamp', 'paused()', () => word(1n)),
    red: ['postageStamp runs'],
  },
  {
    name: 'has told no price',
    around: events('PriceUpdate(uint256)', () => []),
    red: ['postageStamp price'],
  },
  {
    name: 'has told another price than it takes',
    around: view('postageStamp', 'lastPrice()', () => word(99n)),
    red: ['postageStamp price'],
  },
  {
    name: 'does not mark batches in their events',
    around: events(BATCH_CREATED, (found) =>
      found.map(({ topics, data }) => ({ topics: topics.slice(0, 1), data })),
    ),
    red: ['postageStamp batches'],
  },
  {
    name: 'tells one word less of a batch',
    around: view('postageStamp', 'batches(bytes32)', (answer) => answer.slice(0, -64)),
    red: ['postageStamp batches', 'postageStamp batches(bytes32)'],
  },
  {
    name: 'lets nobody change the price',
    around: view('postageStamp', 'hasRole(bytes32,address)', () => word(0n), role('PRICE_ORACLE_ROLE')),
    red: ['postageStamp PRICE_ORACLE_ROLE'],
  },
  {
    name: 'freezes nobody',
    around: view('stakeRegistry', 'hasRole(bytes32,address)', () => word(0n)),
    red: ['stakeRegistry REDISTRIBUTOR_ROLE'],
  },
  {
    name: 'takes stakes in another token',
    around: view('stakeRegistry', 'bzzToken()', () => word(BigInt(other))),
    red: ['stakeRegistry bzzToken() is token'],
  },
  {
    name: 'has a game without the claim',
    around: codeWithout(
      'redistribution',
      // Of the three proofs, whose signature fills lines.
      '63f5cf7c',
    ),
    red: ['redistribution claim'],
  },
  {
    name: 'deploys chequebooks at too high a price',
    around: answering('eth_estimateGas', () => '0x100000'),
    red: ['chequebookFactory gas'],
  },
  {
    name: 'vouches for every chequebook',
    around: view('chequebookFactory', 'deployedContracts(address)', () => word(1n)),
    red: ['chequebookFactory strangers'],
  },
  {
    name: 'vouches for no chequebook',
    around: view('chequebookFactory', 'deployedContracts(address)', () => word(0n)),
    red: ['chequebookFactory copies'],
  },
  {
    name: 'has a price of one word',
    around: view('swapPriceOracle', 'getPrice()', (answer) => answer.slice(0, 66)),
    red: ['swapPriceOracle price', 'swapPriceOracle getPrice()'],
  },
  {
    name: 'has no price for cheques',
    around: view('swapPriceOracle', 'getPrice()', () => word(0n) + word(0n).slice(2)),
    red: ['swapPriceOracle price'],
  },
  {
    name: 'refuses without a word',
    around: (ask) => async (method, params) => {
      try {
        return await ask(method, params);
      } catch (error) {
        if (!(error instanceof RpcError)) throw error;
        throw new RpcError(method, { code: error.code, message: error.message, data: '0x' });
      }
    },
    red: [
      'token refuses transfer(address,uint256)',
      'postageStamp refuses createBatch(address,uint256,uint8,uint8,bytes32,bool)',
      'postageStamp refuses topUp(bytes32,uint256)',
      'postageStamp refuses increaseDepth(bytes32,uint8)',
      'stakeRegistry refuses manageStake(bytes32,uint256,uint8)',
      'redistribution refuses commit(bytes32,uint64)',
      'chequebookFactory refuses deploySimpleSwap(address,uint256,bytes32)',
    ],
  },
];
