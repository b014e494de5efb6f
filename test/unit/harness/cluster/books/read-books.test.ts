import { expect, onTestFinished, test } from 'vitest';
import type { Chain } from '../../../../../harness/chain/chain.ts';
import { lawViolations } from '../../../../../harness/cluster/books/books.ts';
import { readBooks } from '../../../../../harness/cluster/books/read-books.ts';

const SUPPLY = 1000n;
const HOLDERS = [`0x${'aa'.repeat(20)}`, `0x${'bb'.repeat(20)}`];

/** Each block moves a token between the holders; one comes while the second is asked for. */
function movingChain() {
  let height = 5;
  const asked: number[] = [];
  const balanceOf = (holder: string | undefined, block: number) => {
    if (holder !== HOLDERS[0] && holder !== HOLDERS[1]) return 0n;
    if (block === 5 && height === 5 && holder === HOLDERS[1]) height = 6;
    // As Anvil does, if the block was the newest just before.
    const state = asked.length < 2 ? height : block;
    asked.push(block);
    return holder === HOLDERS[0] ? SUPPLY - BigInt(state) : BigInt(state);
  };
  const chain: Partial<Chain> = {
    contracts: { token: 'token', stakeRegistry: 'stakes', postageStamp: 'postage' } as Chain['contracts'],
    height: async () => height,
    events: async () => [],
    words: async () => [0n, 0n, 0n],
    view: async (_contract, signature, values, block = 0) => {
      if (signature === 'totalSupply()') return SUPPLY;
      return signature === 'balanceOf(address)' ? balanceOf(String(values?.[0]), block) : 0n;
    },
  };
  return { chain: chain as Chain, asked };
}

test('the books are of one block, although another comes while they are read', async () => {
  const { chain, asked } = movingChain();
  const otherAccounts = () => HOLDERS.map((holder) => holder.slice(2));
  const books = await readBooks({ nodes: [], chain, seed: 1n, otherAccounts });
  expect(lawViolations(books)).toEqual([]);
  expect(books.chain?.block).toBe(5);
  expect(new Set(asked)).toEqual(new Set([5]));
});

test('a chain that is always far ahead is not read for longer than is wanted', async () => {
  const over = new AbortController();
  let height = 0;
  const { chain } = movingChain();
  chain.height = async () => {
    if (height > 1000) over.abort(new Error('over'));
    return (height += 100);
  };
  const read = readBooks({ nodes: [], chain, seed: 1n }, [], over.signal);
  await expect(read).rejects.toThrow('over');
});

test('several questions about a chequebook that fail are one failure', async () => {
  const unheard: unknown[] = [];
  const onUnheard = (error: unknown) => unheard.push(error);
  process.on('unhandledRejection', onUnheard);
  onTestFinished(() => void process.off('unhandledRejection', onUnheard));
  const { chain } = movingChain();
  const word = `0x${'00'.repeat(12)}${'cc'.repeat(20)}` as const;
  chain.events = async (signature) =>
    /^SimpleSwapDeployed|^ChequeCashed/.test(signature)
      ? [
          {
            address: `0x${'cc'.repeat(20)}`,
            topics: ['', word],
            data: word,
            blockNumber: '0x1',
            transactionHash: '0x',
          },
        ]
      : [];
  const view = chain.view.bind(chain);
  chain.view = async (contract, ...question) => {
    if (question[0] === 'paidOut(address)') throw new Error('no answer');
    if (contract !== 'cc'.repeat(20) && question[0] !== 'balanceOf(address)')
      return view(contract, ...question);
    await new Promise(setImmediate);
    throw new Error('no answer');
  };
  await expect(readBooks({ nodes: [], chain, seed: 1n })).rejects.toThrow('no answer');
  await new Promise(setImmediate);
  expect(unheard).toEqual([]);
});
