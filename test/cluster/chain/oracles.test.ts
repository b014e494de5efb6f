import { describe, expect, test } from 'vitest';
import swapArtifact from '../../../chain/artifacts/SwapPriceOracle.json' with { type: 'json' };
import vectors from '../../vectors/contracts.json' with { type: 'json' };
import { deployer, player, stranger, useNetwork } from './network.ts';

const ROUND_LENGTH = 152;
const { roles, priceAdjustment } = vectors;
const net = useNetwork();

describe('PriceOracle', () => {
  const oracle = () => net.current.priceOracle;
  const view = (method: string, ...args: unknown[]) => net.current.view(oracle(), method, args);
  const refusal = (method: string, args: unknown[] = [], from = player) =>
    net.current.refusal(oracle(), method, args, { from });

  async function adjustInRound(round: number, redundancy: number) {
    await net.current.send(oracle(), 'grantRole', [roles.PRICE_UPDATER_ROLE, player.address]);
    await net.current.before(round * ROUND_LENGTH);
    return net.current.send(oracle(), 'adjustPrice', [redundancy], { from: player });
  }

  test('has the network’s constants', async () => {
    expect(await view('minimumPrice')).toBe(24_000n);
    expect(await view('minimumPriceUpscaled')).toBe(24_576_000n);
    expect(await view('priceBase')).toBe(1_048_576n);
    const rates = [1049417, 1049206, 1048996, 1048786, 1048576, 1048366, 1048156, 1047946, 1047736];
    for (const [redundancy, rate] of rates.entries())
      expect(await view('changeRate', redundancy)).toBe(BigInt(rate));
    expect(await refusal('changeRate', [9])).toBe('Panic(0x32)');
    expect(await view('postageStamp')).toBe(net.current.postageStamp.address);
    expect(await view('currentPrice')).toBe(24_000n);
    expect(await view('currentPriceUpScaled')).toBe(24_576_000n);
    expect(await view('lastAdjustedRound')).toBe(0n);
    expect(await view('PRICE_UPDATER_ROLE')).toBe(roles.PRICE_UPDATER_ROLE);
    expect(await view('getRoleAdmin', roles.PRICE_UPDATER_ROLE)).toBe(roles.DEFAULT_ADMIN_ROLE);
    await net.current.chain.mine(ROUND_LENGTH);
    expect(await view('currentRound')).toBe(1n);
  });

  test('pushes each new price to PostageStamp', async () => {
    const { events } = await net.current.send(oracle(), 'setPrice', [30_000]);
    expect(events).toEqual(['PriceUpdate(30000)', 'PriceUpdate(30000)']);
    expect(await net.current.view(oracle(), 'setPrice', [30_000])).toBe(true);
    expect(await net.current.view(net.current.postageStamp, 'lastPrice')).toBe(30_000n);
    expect(await view('currentPrice')).toBe(30_000n);
  });

  test.each([
    ['below the minimum is raised to it', 1, 24_000],
    ['at the last value before the wrap stands', 2 ** 22 - 1, 2 ** 22 - 1],
    ['at the wrap is the minimum', 2 ** 22, 24_000],
    ['above the wrap wraps', 2 ** 22 + 30_000, 30_000],
  ])('a price %s', async (_, given, expected) => {
    const { events } = await net.current.send(oracle(), 'setPrice', [given]);
    expect(events).toEqual([`PriceUpdate(${expected})`, `PriceUpdate(${expected})`]);
    expect(await view('currentPrice')).toBe(BigInt(expected));
  });

  test('without its role on PostageStamp changes only its own price and reports that the push failed', async () => {
    await net.current.send(net.current.postageStamp, 'revokeRole', [
      roles.PRICE_ORACLE_ROLE,
      oracle().address,
    ]);
    expect(await net.current.view(oracle(), 'setPrice', [30_000])).toBe(false);
    const { events } = await net.current.send(oracle(), 'setPrice', [2 ** 22 + 30_000]);
    expect(events).toEqual(['StampPriceUpdateFailed(30000)']);
    expect(await view('currentPrice')).toBe(30_000n);
    expect(await net.current.view(net.current.postageStamp, 'lastPrice')).toBe(24_000n);
  });

  test.each(priceAdjustment)(
    'at $currentPriceUpScaled with $redundancy players and $skippedRounds skipped rounds becomes $newPriceUpScaled',
    async ({ currentPriceUpScaled, redundancy, skippedRounds, newPriceUpScaled, newPrice }) => {
      await net.current.send(oracle(), 'setPrice', [BigInt(currentPriceUpScaled) >> 10n]);
      const { events } = await adjustInRound(1 + skippedRounds, redundancy);
      expect(events).toEqual([`PriceUpdate(${newPrice})`, `PriceUpdate(${newPrice})`]);
      expect(String(await view('currentPriceUpScaled'))).toBe(newPriceUpScaled);
      expect(String(await view('currentPrice'))).toBe(newPrice);
      expect(await view('lastAdjustedRound')).toBe(BigInt(1 + skippedRounds));
    },
  );

  test('is adjusted once per round, by updaters only, with at least one player', async () => {
    expect(await refusal('adjustPrice', [1])).toBe('CallerNotPriceUpdater()');
    await adjustInRound(1, 1);
    expect(await refusal('adjustPrice', [1])).toBe('PriceAlreadyAdjusted()');
    await net.current.before(2 * ROUND_LENGTH);
    expect(await refusal('adjustPrice', [0])).toBe('UnexpectedZero()');
  });

  test('costs little more gas for each skipped round', async () => {
    const short = await adjustInRound(1, 1);
    const long = await adjustInRound(52, 1);
    expect((long.gasUsed - short.gasUsed) / 50).toBeLessThan(500);
  });

  test('can be administered only by administrators', async () => {
    for (const method of ['pause', 'unPause']) expect(await refusal(method)).toBe('CallerNotAdmin()');
    expect(await refusal('setPrice', [30_000])).toBe('CallerNotAdmin()');
  });

  test('keeps its price while paused, and checks nothing', async () => {
    await net.current.send(oracle(), 'pause');
    expect(await view('isPaused')).toBe(true);
    expect(await net.current.view(oracle(), 'adjustPrice', [0], { from: stranger })).toBe(false);
    await net.current.send(oracle(), 'unPause');
    expect(await view('isPaused')).toBe(false);
    expect(await refusal('adjustPrice', [0])).toBe('CallerNotPriceUpdater()');
  });
});

describe('SwapPriceOracle', () => {
  const oracle = () => net.current.swapPriceOracle;
  const read = async () => net.current.view(oracle(), 'getPrice');

  test('starts with the rate of the local network', async () => {
    expect(await read()).toEqual([10_000n, 0n]);
    const other = await net.current.deploy(swapArtifact, [100_000, 100]);
    expect(await net.current.view(other, 'price')).toBe(100_000n);
    expect(await net.current.view(other, 'chequeValueDeduction')).toBe(100n);
  });

  test('can be changed by its owner', async () => {
    expect((await net.current.send(oracle(), 'updatePrice', [5])).events).toEqual(['PriceUpdate(5)']);
    const changed = await net.current.send(oracle(), 'updateChequeValueDeduction', [7]);
    expect(changed.events).toEqual(['ChequeValueDeductionUpdate(7)']);
    expect(await read()).toEqual([5n, 7n]);
  });

  test('cannot be changed by anyone else', async () => {
    const calls: [string, unknown[]][] = [
      ['updatePrice', [5]],
      ['updateChequeValueDeduction', [5]],
      ['transferOwnership', [player.address]],
      ['renounceOwnership', []],
    ];
    for (const [method, args] of calls) {
      const refused = await net.current.refusal(oracle(), method, args, { from: player });
      expect(refused).toBe('Ownable: caller is not the owner');
    }
  });

  test('can change hands and be renounced', async () => {
    expect(await net.current.view(oracle(), 'owner')).toBe(deployer.address);
    const passed = await net.current.send(oracle(), 'transferOwnership', [player.address]);
    expect(passed.events).toEqual([`OwnershipTransferred(${deployer.address},${player.address})`]);
    await net.current.send(oracle(), 'updatePrice', [6], { from: player });
    await net.current.send(oracle(), 'renounceOwnership', [], { from: player });
    expect(await net.current.view(oracle(), 'owner')).toBe('0x0000000000000000000000000000000000000000');
  });
});
