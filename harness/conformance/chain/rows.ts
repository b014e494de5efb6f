import { fromHex, toHex } from '../../../formats/crypto/hex.ts';
import { keccak256 } from '../../../formats/crypto/keccak.ts';
import { type AbiValue, encodeCall, readWords, selectorOf, topicOf } from '../../../formats/ethereum/abi.ts';
import { CONTRACT_NAMES, type Contracts } from '../../chain/contracts.ts';
import { Mismatch, must, NotApplicable, type Row } from '../row.ts';
import { CHEQUEBOOK, type ContractRequirements, REQUIREMENTS } from './requirements.ts';
import { type ChainSubject, NOBODY, Questions } from './subject.ts';

type Check = (questions: Questions) => Promise<void>;

const ZERO = `0x${'00'.repeat(20)}`;
const TOKEN_DECIMALS = 16n;
const BUCKET_DEPTH = 16n;
/** Nodes drop a cheaper batch before they know it. */
const VALIDITY_BLOCKS_MIN = 2n;
/** Nodes give so much to deploy a chequebook. */
const DEPLOY_GAS = 175_000n;
/** A node waits for a younger head. */
const HEAD_AGE_MAX_S = 60n;
const BATCHES_MAX = 20;
/** The public networks, where nodes expect their contracts. */
const PUBLIC_CHAINS = [100n, 11_155_111n];
/** Around the implementation's address (EIP-1167). */
const PROXY = { head: '363d3d373d3d3d363d73', tail: '5af43d82803e903d91602b57fd5bf3' } as const;

const ROLES: readonly (readonly [contract: keyof Contracts, role: string, member: keyof Contracts])[] = [
  ['postageStamp', 'PRICE_ORACLE_ROLE', 'postagePriceOracle'],
  ['postageStamp', 'REDISTRIBUTOR_ROLE', 'redistribution'],
  ['stakeRegistry', 'REDISTRIBUTOR_ROLE', 'redistribution'],
  ['postagePriceOracle', 'PRICE_UPDATER_ROLE', 'redistribution'],
];

const LINKS: readonly (readonly [contract: keyof Contracts, view: string, other: keyof Contracts])[] = [
  ['postageStamp', 'bzzToken()', 'token'],
  ['postagePriceOracle', 'postageStamp()', 'postageStamp'],
  ['stakeRegistry', 'bzzToken()', 'token'],
  ['stakeRegistry', 'OracleContract()', 'postagePriceOracle'],
  ['redistribution', 'PostageContract()', 'postageStamp'],
  ['redistribution', 'OracleContract()', 'postagePriceOracle'],
  ['redistribution', 'Stakes()', 'stakeRegistry'],
  ['chequebookFactory', 'ERC20Address()', 'token'],
];

/** Must fail with a reason: a node of the public network exits on a revert without data. */
const REVERTS: readonly (readonly [
  contract: keyof Contracts,
  signature: string,
  values: readonly AbiValue[],
])[] = [
  ['token', 'transfer(address,uint256)', [NOBODY, 1n]],
  ['postageStamp', 'createBatch(address,uint256,uint8,uint8,bytes32,bool)', [NOBODY, 1n, 17, 16, 1n, false]],
  ['postageStamp', 'topUp(bytes32,uint256)', [1n, 1n]],
  ['postageStamp', 'increaseDepth(bytes32,uint8)', [1n, 20]],
  ['stakeRegistry', 'manageStake(bytes32,uint256,uint8)', [1n, 1n, 0]],
  ['redistribution', 'commit(bytes32,uint64)', [1n, 0n]],
  ['chequebookFactory', 'deploySimpleSwap(address,uint256,bytes32)', [ZERO, 0n, 1n]],
];

const SINGLE: Readonly<Record<string, readonly [group: string, about: string, check: Check]>> = {
  'chain id': [
    'chain',
    'has an id of its own: with that of a public chain nodes expect the contracts there',
    async (ask) => {
      const id = BigInt(await ask.ask<string>('eth_chainId', []));
      must(!PUBLIC_CHAINS.includes(id), `eth_chainId: ${id} is a public chain`);
    },
  ],
  head: [
    'chain',
    `has a block of the last ${HEAD_AGE_MAX_S} s`,
    async (ask) => {
      const { timestamp } = await ask.ask<{ timestamp: string }>('eth_getBlockByNumber', ['latest', false]);
      const age = ask.now - BigInt(timestamp);
      must(age <= HEAD_AGE_MAX_S, `the head is ${age} s old`);
      must(age >= -HEAD_AGE_MAX_S, `the head is ${-age} s ahead of this machine's clock`);
    },
  ],
  'token decimals': [
    'token',
    `counts in units of 10^-${TOKEN_DECIMALS} tokens`,
    async (ask) => {
      const decimals = (await ask.view(ask.address('token'), 'decimals()')).uint(0);
      must(decimals === TOKEN_DECIMALS, `decimals(): ${decimals}, expected ${TOKEN_DECIMALS}`);
    },
  ],
  'token answers true': [
    'token',
    'answers true to approve, which nodes send before they buy and stake',
    async (ask) => {
      const answer = await ask.view(ask.address('token'), 'approve(address,uint256)', {
        values: [NOBODY, 1n],
      });
      must(answer.uint(0) === 1n, `approve: ${answer.uint(0)}, expected 1`);
    },
  ],
  'postageStamp bucket depth': [
    'postageStamp',
    `sells batches of ${2n ** BUCKET_DEPTH} buckets`,
    async (ask) => {
      const depth = (await ask.view(ask.address('postageStamp'), 'minimumBucketDepth()')).uint(0);
      must(depth === BUCKET_DEPTH, `minimumBucketDepth(): ${depth}, expected ${BUCKET_DEPTH}`);
    },
  ],
  'postageStamp validity': [
    'postageStamp',
    `sells no batch for less than ${VALIDITY_BLOCKS_MIN} blocks`,
    async (ask) => {
      const blocks = (await ask.view(ask.address('postageStamp'), 'minimumValidityBlocks()')).uint(0);
      must(blocks >= VALIDITY_BLOCKS_MIN, `minimumValidityBlocks(): ${blocks}`);
    },
  ],
  'postageStamp runs': [
    'postageStamp',
    'is not paused: nodes do not start on one that is',
    async (ask) => {
      must(!(await ask.view(ask.address('postageStamp'), 'paused()')).bool(0), 'paused(): true');
    },
  ],
  'postageStamp price': [
    'postageStamp',
    'has told its price by an event after the first block, and it is not 0',
    async (ask) => {
      const stamp = ask.address('postageStamp');
      const price = (await ask.view(stamp, 'lastPrice()')).uint(0);
      must(price > 0n, 'lastPrice(): 0, batches never lose value');
      const events = await logs(ask, stamp, 'PriceUpdate(uint256)', ask.startBlock + 1n);
      const told = events.at(-1);
      must(told !== undefined, `no PriceUpdate after block ${ask.startBlock}: nodes go on with price 0`);
      must(BigInt(told.data) === price, `PriceUpdate: ${BigInt(told.data)}, but lastPrice() is ${price}`);
    },
  ],
  'postageStamp batches': [
    'postageStamp',
    `has told the last ${BATCHES_MAX} batches as they are: owner and depth of each event are those of the contract`,
    async (ask) => {
      const stamp = ask.address('postageStamp');
      const events = await logs(ask, stamp, BATCH_CREATED, ask.startBlock);
      let compared = 0;
      for (const event of events.slice(-BATCHES_MAX)) if (await isAsTold(ask, stamp, event)) compared++;
      if (compared === 0) throw new NotApplicable('needs a batch whose time is not over');
    },
  ],
  'chequebookFactory gas': [
    'chequebookFactory',
    `deploys a chequebook with ${DEPLOY_GAS} gas`,
    async (ask) => {
      const to = ask.address('chequebookFactory');
      const salt = keccak256(fromHex(NOBODY));
      const data = encodeCall(selectorOf('deploySimpleSwap(address,uint256,bytes32)'), NOBODY, 0n, salt);
      const gas = BigInt(await ask.ask<string>('eth_estimateGas', [{ from: NOBODY, to, data }]));
      must(gas <= DEPLOY_GAS, `eth_estimateGas: ${gas}, nodes give ${DEPLOY_GAS}`);
    },
  ],
  'chequebookFactory strangers': [
    'chequebookFactory',
    'vouches for none that it has not deployed',
    async (ask) => {
      const view = await ask.view(ask.address('chequebookFactory'), 'deployedContracts(address)', {
        values: [NOBODY],
      });
      must(!view.bool(0), `deployedContracts(${NOBODY}): true`);
    },
  ],
  'chequebookFactory copies': [
    'chequebookFactory',
    'deploys copies of its master, and vouches for them',
    async (ask) => {
      const factory = ask.address('chequebookFactory');
      const master = toHex((await ask.view(factory, 'master()')).address(0));
      const [event] = await logs(ask, factory, 'SimpleSwapDeployed(address)', ask.startBlock);
      if (event === undefined) throw new NotApplicable('no chequebook was ever deployed');
      must(event.topics.length === 1, 'SimpleSwapDeployed: the address is indexed, expected in the data');
      const chequebook = `0x${event.data.slice(-40)}`;
      const code = await ask.code(chequebook);
      const proxy = `${PROXY.head}${master}${PROXY.tail}`;
      must(code === proxy, `the code of ${chequebook} is ${code.slice(0, 100)}, expected ${proxy}`);
      const known = await ask.view(factory, 'deployedContracts(address)', { values: [chequebook] });
      must(known.bool(0), `deployedContracts(${chequebook}): false`);
    },
  ],
  'swapPriceOracle price': [
    'swapPriceOracle',
    'has a price above 0: without one no cheques flow',
    async (ask) => {
      const answer = await ask.view(ask.address('swapPriceOracle'), 'getPrice()', { words: 2 });
      must(answer.uint(0) > 0n, 'getPrice(): 0');
    },
  ],
};

const BATCH_CREATED = 'BatchCreated(bytes32,uint256,uint256,address,uint8,uint8,bool)';

export const CHAIN_ROWS: readonly Row<ChainSubject>[] = [
  ...Object.entries(SINGLE).map(([id, [group, about, check]]) => row(id, group, about, check)),
  ...CONTRACT_NAMES.flatMap((name) => needed(name, REQUIREMENTS[name], async (ask) => ask.address(name))),
  ...needed('chequebook', CHEQUEBOOK, masterOf, copyOf),
  ...ROLES.map(([name, role, member]) =>
    row(`${name} ${role}`, name, `lets ${member} do what it is for`, async (ask) => {
      const id = keccak256(new TextEncoder().encode(role));
      const values = [id, ask.address(member)];
      const has = await ask.view(ask.address(name), 'hasRole(bytes32,address)', { values });
      must(has.bool(0), `hasRole(${role}, ${member}): false`);
    }),
  ),
  ...LINKS.map(([name, view, other]) =>
    row(`${name} ${view} is ${other}`, name, `works with the ${other} that nodes are told`, async (ask) => {
      const named = `0x${toHex((await ask.view(ask.address(name), view)).address(0))}`;
      const expected = ask.address(other).toLowerCase();
      must(named === expected, `${view}: ${named}, expected ${expected}`);
    }),
  ),
  ...REVERTS.map(([name, signature, values]) =>
    row(
      `${name} refuses ${signature}`,
      name,
      'says why it refuses: a node ends over a revert without data',
      async (ask) => {
        const data = encodeCall(selectorOf(signature), ...values);
        await refused(ask, { from: NOBODY, to: ask.address(name), data });
      },
    ),
  ),
];

/** @returns false: expired and forgotten @throws Mismatch */
async function isAsTold(ask: Questions, stamp: string, { topics, data }: Log): Promise<boolean> {
  const [, id = ''] = topics;
  const told = readWords(data, BATCH_CREATED);
  must(
    topics.length === 2 && told.count === 6,
    `BatchCreated has ${topics.length} topics and ${told.count} words`,
  );
  const batch = await ask.view(stamp, 'batches(bytes32)', { values: [fromHex(id)], words: 6 });
  const [owner, depth] = [batch.uint(0), batch.uint(1)];
  if (owner === 0n) return false;
  const [toldOwner, toldDepth] = [told.uint(2), told.uint(3)];
  must(
    owner === toldOwner,
    `batches(${id}): owner ${owner.toString(16)}, the event says ${toldOwner.toString(16)}`,
  );
  // It may have been diluted since.
  must(depth >= toldDepth, `batches(${id}): depth ${depth}, the event says ${toldDepth}`);
  return true;
}

async function masterOf(ask: Questions): Promise<string> {
  return `0x${toHex((await ask.view(ask.address('chequebookFactory'), 'master()')).address(0))}`;
}

/** The master has no owner and no token. */
async function copyOf(ask: Questions): Promise<string> {
  const [event] = await logs(
    ask,
    ask.address('chequebookFactory'),
    'SimpleSwapDeployed(address)',
    ask.startBlock,
  );
  if (event === undefined) throw new NotApplicable('no chequebook was ever deployed');
  return `0x${event.data.slice(-40)}`;
}

/**
 * Code, functions and events of a contract.
 * @param callable the contract whose views are called
 */
function needed(
  name: string,
  needs: ContractRequirements,
  addressOf: (ask: Questions) => Promise<string>,
  callable = addressOf,
): Row<ChainSubject>[] {
  return [
    row(`${name} code`, name, 'has code', async (ask) => {
      const address = await addressOf(ask);
      must((await ask.code(address)).length > 0, `${address} has no code`);
    }),
    ...needs.transactions.map((signature) =>
      row(`${name} ${shortName(signature)}`, name, `has the function ${signature}`, async (ask) => {
        const selector = selectorOf(signature).replace(/^0x/, '');
        must(
          (await ask.code(await addressOf(ask))).includes(selector),
          `the code knows no selector ${selector}`,
        );
      }),
    ),
    ...needs.views.map(([signature, words]) =>
      row(`${name} ${signature}`, name, `answers ${signature} with ${words} words`, async (ask) => {
        await ask.view(await callable(ask), signature, { values: zerosFor(signature), words });
      }),
    ),
    ...needs.events.map((signature) =>
      row(`${name} event ${shortName(signature)}`, name, `emits ${signature}`, async (ask) => {
        const topic = topicOf(signature).replace(/^0x/, '');
        must((await ask.code(await addressOf(ask))).includes(topic), `the code knows no topic ${topic}`);
      }),
    ),
  ];
}

function shortName(signature: string): string {
  return signature.length > 60 ? signature.slice(0, signature.indexOf('(')) : signature;
}

function zerosFor(signature: string): AbiValue[] {
  const inside = signature.slice(signature.indexOf('(') + 1, -1);
  return inside === '' ? [] : inside.split(',').map((type) => (type === 'address' ? NOBODY : 0n));
}

function row(id: string, group: string, about: string, check: Check): Row<ChainSubject> {
  return {
    id,
    group,
    about,
    level: 'read',
    run: (subject, { record }) => check(new Questions(subject, record)),
  };
}

interface Log {
  readonly topics: readonly string[];
  readonly data: string;
}

function logs(ask: Questions, address: string, signature: string, from: bigint): Promise<readonly Log[]> {
  const fromBlock = `0x${from.toString(16)}`;
  return ask.ask('eth_getLogs', [{ address, fromBlock, toBlock: 'latest', topics: [topicOf(signature)] }]);
}

/** @throws Mismatch unless the call fails with a reason */
async function refused(ask: Questions, call: Readonly<Record<string, string>>): Promise<void> {
  let answer: string;
  try {
    answer = await ask.ask<string>('eth_call', [call, 'latest']);
  } catch (error) {
    const data: unknown = (error as { data?: unknown }).data;
    must(typeof data === 'string' && data.length >= 10, `the revert has the data ${JSON.stringify(data)}`);
    return;
  }
  throw new Mismatch(`the call succeeds and answers ${answer}`);
}
