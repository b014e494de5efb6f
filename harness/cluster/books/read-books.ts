import { createAccount } from '../../../chain/account.ts';
import { LOCAL_CHAIN_DEFAULTS } from '../../../chain/local-chain.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import { readWords } from '../../../formats/ethereum/abi.ts';
import type { Chain } from '../../chain/chain.ts';
import { plainHex, prefixed } from '../../client/json.ts';
import { spareAccounts } from '../plan/seed.ts';
import type { Books, ChainBooks, ChequebookBooks } from './books.ts';
import { type AccountedNode, readNodeBooks } from './node-books.ts';

/** The word of `stakes(address)` that the contract owes to the owner. */
const POTENTIAL_STAKE = 2;

/**
 * Reads the chain's part only where all accounts are known: on networks that svcnet started.
 * @param others further accounts that got tokens, 40 hex digits each
 */
export async function readBooks(
  cluster: {
    readonly nodes: readonly AccountedNode[];
    readonly chain: Chain;
    readonly seed: bigint | undefined;
    /** Nodes that are joining or have left for good: they got tokens too. */
    readonly otherAccounts?: () => readonly string[];
  },
  others: readonly string[] = [],
  signal?: AbortSignal,
): Promise<Books> {
  const { seed } = cluster;
  const accounts = (known: bigint) => [
    ...[...cluster.nodes, ...spareAccounts(known)].map(({ ethereum }) => ethereum),
    ...(cluster.otherAccounts?.() ?? []),
  ];
  // First: what is cashed was promised before.
  const chain =
    seed === undefined
      ? undefined
      : await readChainBooks(cluster.chain, [...accounts(seed), ...others], signal);
  const running = cluster.nodes.filter((node) => node.running);
  const nodes = await Promise.all(running.map((node) => readNodeBooks(node, signal)));
  return chain === undefined ? { nodes } : { nodes, chain };
}

/** Half of the blocks whose state Anvil keeps; a second reading needs the others. */
const HISTORY_BLOCKS = 32;

async function readChainBooks(
  chain: Chain,
  accounts: readonly string[],
  signal: AbortSignal | undefined,
): Promise<ChainBooks> {
  for (;;) {
    signal?.throwIfAborted();
    const block = await chain.height();
    const books = await chainBooksAt(block, chain, accounts);
    const passed = (await chain.height()) - block;
    if (passed === 0) return books;
    // While a block is the newest, Anvil may answer from the state of the next one.
    if (passed < HISTORY_BLOCKS) return chainBooksAt(block, chain, accounts);
  }
}

async function chainBooksAt(block: number, chain: Chain, accounts: readonly string[]): Promise<ChainBooks> {
  const { token, stakeRegistry, postageStamp } = chain.contracts;
  const holding = (address: string) => chain.view(token, 'balanceOf(address)', [prefixed(address)], block);
  const each = async (list: Iterable<string>, read: (address: string) => Promise<bigint>) =>
    new Map(await Promise.all([...list].map(async (address) => [address, await read(address)] as const)));
  const deployer = plainHex(createAccount(LOCAL_CHAIN_DEFAULTS.deployerKey).address);
  const stakeOf = async (account: string) =>
    (await chain.words(stakeRegistry, 'stakes(address)', [prefixed(account)], block))[POTENTIAL_STAKE] ?? 0n;
  const [supply, wallets, chequebooks, staked, stakes, postage, pot, batches, dilutions] = await Promise.all([
    chain.view(token, 'totalSupply()', [], block),
    each(new Set([...accounts, deployer]), holding),
    readChequebooks(chain, block),
    holding(stakeRegistry),
    each(accounts, stakeOf),
    holding(postageStamp),
    chain.view(postageStamp, 'totalPot()', [], block),
    readBatches(chain, block),
    chain.events('BatchDepthIncrease(bytes32,uint8,uint256)', { contract: postageStamp, to: block }),
  ]);
  return {
    block,
    supply,
    wallets,
    chequebooks,
    staked,
    stakes,
    postage,
    pot,
    batches,
    dilutions: dilutions.map(({ data }) => Number(readWords(data, 'BatchDepthIncrease').uint(0))),
  };
}

async function readChequebooks(chain: Chain, block: number): Promise<ChequebookBooks[]> {
  const { token, chequebookFactory } = chain.contracts;
  const [deployed, cashed] = await Promise.all([
    chain.events('SimpleSwapDeployed(address)', { contract: chequebookFactory, to: block }),
    chain.events('ChequeCashed(address,address,address,uint256,uint256,uint256)', { to: block }),
  ]);
  return Promise.all(
    deployed.map(async ({ data }): Promise<ChequebookBooks> => {
      const address = addressOf(data);
      const own = cashed.filter((event) => plainHex(event.address) === address);
      const beneficiaries = new Set(own.map(({ topics }) => addressOf(topics[1] ?? '')));
      const view = (signature: string, ...values: string[]) => chain.view(address, signature, values, block);
      const paidOutOf = async (account: string) =>
        [account, await view('paidOut(address)', prefixed(account))] as const;
      const [balance, totalPaidOut, paidOut] = await Promise.all([
        chain.view(token, 'balanceOf(address)', [prefixed(address)], block),
        view('totalPaidOut()'),
        Promise.all([...beneficiaries].map(paidOutOf)),
      ]);
      return { address, balance, totalPaidOut, paidOut: new Map(paidOut) };
    }),
  );
}

async function readBatches(chain: Chain, block: number): Promise<ChainBooks['batches']> {
  const { postageStamp } = chain.contracts;
  const created = await chain.events('BatchCreated(bytes32,uint256,uint256,address,uint8,uint8,bool)', {
    contract: postageStamp,
    to: block,
  });
  const read = async (id: string) => {
    const view = (signature: string) => chain.view(postageStamp, signature, [id], block);
    if ((await view('batchOwner(bytes32)')) === 0n) return [];
    const depth = Number(await view('batchDepth(bytes32)'));
    return [{ id, depth, remaining: await view('remainingBalance(bytes32)') }];
  };
  return (await Promise.all(created.map(({ topics }) => read(topics[1] ?? '')))).flat();
}

function addressOf(data: string): string {
  return toHex(readWords(data, 'address').address(0));
}
