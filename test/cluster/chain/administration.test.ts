import { describe, expect, test } from 'vitest';
import { player, TOKENS, useNetwork } from './network.ts';

const net = useNetwork();
const view = (contract: Parameters<typeof net.current.view>[0], method: string, ...args: unknown[]) =>
  net.current.view(contract, method, args);

describe('the swap price', () => {
  test('is changed on its own, and so is the deduction', async () => {
    const { chain, swapPriceOracle } = net.current;
    await chain.setSwapPrice({ price: 100_000n });
    expect([...((await view(swapPriceOracle, 'getPrice')) as Iterable<bigint>)]).toEqual([100_000n, 0n]);
    await chain.setSwapPrice({ deduction: 100n });
    expect([...((await view(swapPriceOracle, 'getPrice')) as Iterable<bigint>)]).toEqual([100_000n, 100n]);
  });
});

describe('the storage price', () => {
  test('is pushed to the postage contract, but not below the minimum', async () => {
    const { chain, postageStamp } = net.current;
    await chain.setStoragePrice(96_000n);
    expect(await view(postageStamp, 'lastPrice')).toBe(96_000n);
    await chain.setStoragePrice(1n);
    expect(await view(postageStamp, 'lastPrice')).toBe(24_000n);
  });

  test('is refused when the oracle would truncate it', async () => {
    await expect(net.current.chain.setStoragePrice(2n ** 22n)).rejects.toMatchObject({
      code: 'OPTIONS_INVALID',
      message: 'price is 4194304, expected at most 4194303',
    });
  });
});

test.each(['token', 'postageStamp', 'stakeRegistry', 'redistribution'] as const)(
  'the contract %s can be paused and resumed, each once',
  async (name) => {
    const { chain } = net.current;
    const contract = net.current[name];
    await chain.pauseContract(name);
    expect(await view(contract, 'paused')).toBe(true);
    await expect(chain.pauseContract(name)).rejects.toMatchObject({
      code: 'REFUSED',
      message: expect.stringContaining('Pausable: paused') as string,
    });
    await chain.resumeContract(name);
    expect(await view(contract, 'paused')).toBe(false);
  },
);

test('the postage oracle is paused too', async () => {
  const { chain, priceOracle } = net.current;
  await chain.pauseContract('postagePriceOracle');
  expect(await view(priceOracle, 'isPaused')).toBe(true);
  await chain.resumeContract('postagePriceOracle');
  expect(await view(priceOracle, 'isPaused')).toBe(false);
});

test('funding with tokens is refused while their contract is paused, and works afterwards', async () => {
  const { chain, token } = net.current;
  const before = (await view(token, 'balanceOf', player.address)) as bigint;
  await chain.pauseContract('token');
  await expect(chain.fund(player.address, { tokens: 1n })).rejects.toMatchObject({ code: 'REFUSED' });
  await chain.resumeContract('token');
  await chain.fund(player.address, { tokens: 7n });
  expect(await view(token, 'balanceOf', player.address)).toBe(before + 7n);
});

describe('a reorganisation', () => {
  test('drops the transactions of the replaced blocks, and keeps the height', async () => {
    const { chain, token } = net.current;
    const before = await view(token, 'balanceOf', player.address);
    await chain.fund(player.address, { tokens: TOKENS });
    await chain.mine();
    const head = await chain.head();
    await chain.reorganise(2);
    expect(await chain.head()).toBe(head);
    expect(await view(token, 'balanceOf', player.address)).toBe(before);
  });

  test('is refused when deeper than the state that the chain keeps', async () => {
    await expect(net.current.chain.reorganise(61)).rejects.toMatchObject({
      message: 'cannot replace 61 blocks: 1 to 60',
    });
    await expect(net.current.chain.reorganise(0)).rejects.toMatchObject({ code: 'OPTIONS_INVALID' });
  });
});
