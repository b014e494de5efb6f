import { MaxUint256 } from 'ethers';
import { describe, expect, test } from 'vitest';
import vectors from '../../vectors/contracts.json' with { type: 'json' };
import { deployer, player, stranger, TOKENS, useNetwork } from './network.ts';

const MIN_STAKE = 10n ** 17n;
const PRICE = 24_000n;
const NO_OVERLAY = `0x${'00'.repeat(32)}`;
const { roles, stakeScenario: scenario } = vectors;

const net = useNetwork(async (network) => {
  await network.send(network.token, 'approve', [network.stakeRegistry.address, MaxUint256], { from: player });
});

const registry = () => net.current.stakeRegistry;
const view = (method: string, ...args: unknown[]) =>
  net.current.view(registry(), method, args, { from: player });
const refusal = (method: string, args: unknown[] = [], from = player) =>
  net.current.refusal(registry(), method, args, { from });
const stake = (amount = MIN_STAKE, { nonce = scenario.nonce, height = 0 } = {}) =>
  net.current.send(registry(), 'manageStake', [nonce, amount, height], { from: player });
const setPrice = (price: bigint) => net.current.send(net.current.priceOracle, 'setPrice', [price]);
const asRedistributor = () =>
  net.current.send(registry(), 'grantRole', [roles.REDISTRIBUTOR_ROLE, deployer.address]);
const otherNonce = `0x${'22'.repeat(32)}`;

describe('staking', () => {
  test('stores overlay, commitment and deposit', async () => {
    const { events, block } = await stake();
    expect(events).toEqual([
      `Transfer(${player.address},${registry().address},${MIN_STAKE})`,
      `StakeUpdated(${player.address},${scenario.committed},${scenario.amount},${scenario.overlay},${block},0)`,
      `OverlayChanged(${player.address},${scenario.overlay})`,
    ]);
    const stored = [scenario.overlay, BigInt(scenario.committed), BigInt(scenario.amount), BigInt(block), 0n];
    expect(await view('stakes', player.address)).toEqual(stored);
    expect(await view('overlayOfAddress', player.address)).toBe(scenario.overlay);
    expect(await view('heightOfAddress', player.address)).toBe(0n);
    expect(await view('lastUpdatedBlockNumberOfAddress', player.address)).toBe(BigInt(block));
  });

  test.each(vectors.overlays)(
    'on network $networkId gives $owner the overlay $overlay',
    async ({ owner, networkId, nonce, overlay }) => {
      await net.current.send(registry(), 'changeNetworkId', [networkId]);
      await net.current.chain.fund(owner, { tokens: MIN_STAKE });
      await net.current.sendAs(owner, net.current.token, 'approve', [registry().address, MaxUint256]);
      await net.current.sendAs(owner, registry(), 'manageStake', [nonce, MIN_STAKE, 0]);
      expect(await view('overlayOfAddress', owner)).toBe(overlay);
    },
  );

  test.each(vectors.committedStake)(
    '$potentialStake at price $price and height $height commits $committedStake',
    async (row) => {
      await setPrice(BigInt(row.price));
      await stake(BigInt(row.potentialStake), { height: row.height });
      await net.current.chain.mine();
      expect(await view('stakes', player.address)).toEqual([
        scenario.overlay,
        BigInt(row.committedStake),
        BigInt(row.potentialStake),
        expect.anything(),
        BigInt(row.height),
      ]);
      expect(String(await view('nodeEffectiveStake', player.address))).toBe(row.effectiveStakeAtSamePrice);
      expect(String(await view('withdrawableStake'))).toBe(row.withdrawableAtSamePrice);
    },
  );

  test('needs ten tokens the first time, and twice as much for each height', async () => {
    const first = (amount: bigint, height: number) =>
      refusal('manageStake', [scenario.nonce, amount, height]);
    expect(await first(0n, 0)).toBe('BelowMinimumStake()');
    expect(await first(MIN_STAKE - 1n, 0)).toBe('BelowMinimumStake()');
    expect(await first(2n * MIN_STAKE - 1n, 1)).toBe('BelowMinimumStake()');
    await stake(2n * MIN_STAKE, { height: 1 });
  });

  test('adds a later deposit to deposit and commitment', async () => {
    await stake();
    const { events, block } = await stake(5n);
    expect(events).toEqual([
      `Transfer(${player.address},${registry().address},5)`,
      `StakeUpdated(${player.address},${(MIN_STAKE + 5n) / PRICE},${MIN_STAKE + 5n},${scenario.overlay},${block},0)`,
    ]);
  });

  test('without a deposit changes only overlay and height', async () => {
    await stake(4n * MIN_STAKE);
    const { events } = await stake(0n, { nonce: otherNonce, height: 2 });
    const overlay = await view('overlayOfAddress', player.address);
    expect(events).toEqual([`OverlayChanged(${player.address},${String(overlay)})`]);
    expect(await view('stakes', player.address)).toEqual([
      overlay,
      (4n * MIN_STAKE) / PRICE,
      4n * MIN_STAKE,
      expect.anything(),
      2n,
    ]);
    expect((await stake(0n, { nonce: otherNonce, height: 1 })).events).toEqual([]);
  });

  test('is refused when it would lower the commitment', async () => {
    await stake();
    expect(await refusal('manageStake', [scenario.nonce, MIN_STAKE / 2n, 1])).toBe('DecreasedCommitment()');
    await setPrice(2n * PRICE);
    expect(await refusal('manageStake', [scenario.nonce, 1n, 0])).toBe('DecreasedCommitment()');
  });

  test('reports a missing allowance or missing tokens', async () => {
    expect(await refusal('manageStake', [scenario.nonce, MIN_STAKE, 0], stranger)).toBe(
      'ERC20: insufficient allowance',
    );
    await net.current.send(net.current.token, 'approve', [registry().address, MaxUint256], {
      from: stranger,
    });
    expect(await refusal('manageStake', [scenario.nonce, MIN_STAKE, 0], stranger)).toBe(
      'ERC20: transfer amount exceeds balance',
    );
  });

  test('fails the second time within one block', async () => {
    const { rpc } = net.current;
    const data = registry().abi.encodeFunctionData('manageStake', [scenario.nonce, MIN_STAKE, 0]);
    await rpc.call('anvil_impersonateAccount', player.address);
    const send = () =>
      rpc.call('eth_sendTransaction', { from: player.address, to: registry().address, data, gas: '0xf4240' });
    const hashes = [await send(), await send()];
    await rpc.call('evm_mine');
    const receipts = await rpc.batch(
      hashes.map((hash) => ({ method: 'eth_getTransactionReceipt', params: [hash] })),
    );
    expect(receipts).toMatchObject([{ status: '0x1' }, { status: '0x0' }]);
  });
});

describe('the effective stake', () => {
  test('counts from the block after the last change', async () => {
    await stake();
    expect(await view('nodeEffectiveStake', player.address)).toBe(0n);
    await net.current.chain.mine();
    expect(await view('nodeEffectiveStake', player.address)).toBe(99_999_999_999_984_000n);
    expect(await view('nodeEffectiveStake', stranger.address)).toBe(0n);
  });

  test('follows the price up to the deposit', async () => {
    await setPrice(2n * PRICE);
    await stake();
    await setPrice(PRICE);
    expect(await view('nodeEffectiveStake', player.address)).toBe((MIN_STAKE / (2n * PRICE)) * PRICE);
    await setPrice(10n * PRICE);
    expect(await view('nodeEffectiveStake', player.address)).toBe(MIN_STAKE);
  });
});

describe('the surplus', () => {
  test('can be withdrawn after a price drop, even while paused', async () => {
    await setPrice(2n * PRICE);
    await stake();
    await setPrice(PRICE);
    const surplus = MIN_STAKE - (MIN_STAKE / (2n * PRICE)) * PRICE;
    expect(await view('withdrawableStake')).toBe(surplus);
    await net.current.send(registry(), 'pause');
    const { events } = await net.current.send(registry(), 'withdrawFromStake', [], { from: player });
    expect(events).toEqual([
      `Transfer(${registry().address},${player.address},${surplus})`,
      `StakeWithdrawn(${player.address},${surplus})`,
    ]);
    expect(await view('withdrawableStake')).toBe(0n);
    expect(await view('stakes', player.address)).toEqual([
      scenario.overlay,
      MIN_STAKE / (2n * PRICE),
      MIN_STAKE - surplus,
      expect.anything(),
      0n,
    ]);
  });

  test('has no effect when there is none to withdraw', async () => {
    await stake();
    await setPrice(2n * PRICE);
    expect(await view('withdrawableStake')).toBe(0n);
    expect((await net.current.send(registry(), 'withdrawFromStake', [], { from: player })).events).toEqual(
      [],
    );
    expect((await net.current.send(registry(), 'withdrawFromStake', [], { from: stranger })).events).toEqual(
      [],
    );
  });
});

describe('the redistributor', () => {
  test('freezes stakes until a later block', async () => {
    await stake();
    await asRedistributor();
    const { events, block } = await net.current.send(registry(), 'freezeDeposit', [player.address, 10]);
    expect(events).toEqual([`StakeFrozen(${player.address},${scenario.overlay},10)`]);
    expect(await view('lastUpdatedBlockNumberOfAddress', player.address)).toBe(BigInt(block + 10));
    expect(await view('nodeEffectiveStake', player.address)).toBe(0n);
    expect(await refusal('manageStake', [scenario.nonce, MIN_STAKE, 0])).toBe('Frozen()');
    await net.current.before(block + 11);
    await stake();
  });

  test('does not freeze an overlay without stake', async () => {
    await asRedistributor();
    expect((await net.current.send(registry(), 'freezeDeposit', [stranger.address, 10])).events).toEqual([]);
  });

  test('slashes part or all of a stake', async () => {
    await stake();
    await asRedistributor();
    const part = await net.current.send(registry(), 'slashDeposit', [player.address, 1]);
    expect(part.events).toEqual([`StakeSlashed(${player.address},${scenario.overlay},1)`]);
    expect(await view('stakes', player.address)).toEqual([
      scenario.overlay,
      expect.anything(),
      MIN_STAKE - 1n,
      BigInt(part.block),
      0n,
    ]);
    const rest = await net.current.send(registry(), 'slashDeposit', [player.address, MIN_STAKE]);
    expect(rest.events).toEqual([`StakeSlashed(${player.address},${NO_OVERLAY},${MIN_STAKE})`]);
    expect(await view('stakes', player.address)).toEqual([NO_OVERLAY, 0n, 0n, 0n, 0n]);
  });

  test('can do nothing without the role', async () => {
    expect(await refusal('freezeDeposit', [player.address, 1])).toBe('OnlyRedistributor()');
    expect(await refusal('slashDeposit', [player.address, 1], deployer)).toBe('OnlyRedistributor()');
  });
});

describe('a paused registry', () => {
  test('returns whole stakes and accepts none', async () => {
    await stake();
    expect(await refusal('migrateStake')).toBe('Pausable: not paused');
    const paused = await net.current.send(registry(), 'pause');
    expect(paused.events).toEqual([`Paused(${deployer.address})`]);
    expect(await view('paused')).toBe(true);
    expect(await refusal('manageStake', [scenario.nonce, MIN_STAKE, 0])).toBe('Pausable: paused');
    const { events } = await net.current.send(registry(), 'migrateStake', [], { from: player });
    expect(events).toEqual([`Transfer(${registry().address},${player.address},${MIN_STAKE})`]);
    expect(await view('stakes', player.address)).toEqual([NO_OVERLAY, 0n, 0n, 0n, 0n]);
    expect(await net.current.view(net.current.token, 'balanceOf', [player.address])).toBe(TOKENS);
    expect((await net.current.send(registry(), 'migrateStake', [], { from: player })).events).toEqual([]);
    expect((await net.current.send(registry(), 'unPause')).events).toEqual([`Unpaused(${deployer.address})`]);
  });

  test('can be paused, resumed and moved to another network only by administrators', async () => {
    expect(await refusal('pause')).toBe('OnlyPauser()');
    expect(await refusal('unPause')).toBe('OnlyPauser()');
    expect(await refusal('changeNetworkId', [1n])).toBe('Unauthorized()');
  });
});

test('the registry knows its token, oracle and roles', async () => {
  expect(await view('bzzToken')).toBe(net.current.token.address);
  expect(await view('OracleContract')).toBe(net.current.priceOracle.address);
  expect(await view('REDISTRIBUTOR_ROLE')).toBe(roles.REDISTRIBUTOR_ROLE);
  expect(await view('DEFAULT_ADMIN_ROLE')).toBe(roles.DEFAULT_ADMIN_ROLE);
  expect(await view('hasRole', roles.REDISTRIBUTOR_ROLE, net.current.redistribution.address)).toBe(true);
});
