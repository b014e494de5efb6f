import { MaxUint256 } from 'ethers';
import { describe, expect, test } from 'vitest';
import vectors from '../../vectors/contracts.json' with { type: 'json' };
import { deployer, player, second, stranger, TOKENS, useNetwork } from './network.ts';

const net = useNetwork();
const { roles } = vectors;

const balance = (address: string) => net.current.view(net.current.token, 'balanceOf', [address]);

describe('TestToken', () => {
  test('has a name, a symbol, 16 decimals and a supply owned by the deployer', async () => {
    const { token } = net.current;
    expect(await net.current.view(token, 'name')).toBe('Test Token');
    expect(await net.current.view(token, 'symbol')).toBe('TEST');
    expect(await net.current.view(token, 'decimals')).toBe(16n);
    expect(await net.current.view(token, 'totalSupply')).toBe(10n ** 25n + 3n * TOKENS);
    expect(await balance(deployer.address)).toBe(10n ** 25n);
  });

  test('a transfer moves tokens within the gas limit of nodes', async () => {
    const { token } = net.current;
    const sent = await net.current.send(token, 'transfer', [stranger.address, 7n], {
      from: player,
      gas: 90_000,
    });
    expect(sent.events).toEqual([`Transfer(${player.address},${stranger.address},7)`]);
    expect([await balance(player.address), await balance(stranger.address)]).toEqual([TOKENS - 7n, 7n]);
    expect(await net.current.view(token, 'transfer', [stranger.address, 7n], { from: player })).toBe(true);
  });

  test('a transfer above the balance is refused with the reason', async () => {
    const { token } = net.current;
    const refused = await net.current.refusal(token, 'transfer', [player.address, 1n], { from: stranger });
    expect(refused).toBe('ERC20: transfer amount exceeds balance');
  });

  test('an allowance is spent, checked before the balance, and unlimited at the maximum', async () => {
    const { token } = net.current;
    const take = [player.address, second.address, 5n];
    expect(await net.current.refusal(token, 'transferFrom', take, { from: second })).toBe(
      'ERC20: insufficient allowance',
    );
    const approved = await net.current.send(token, 'approve', [second.address, 8n], { from: player });
    expect(approved.events).toEqual([`Approval(${player.address},${second.address},8)`]);
    await net.current.send(token, 'transferFrom', take, { from: second });
    expect(await net.current.view(token, 'allowance', [player.address, second.address])).toBe(3n);
    await net.current.send(token, 'approve', [second.address, MaxUint256], { from: player });
    await net.current.send(token, 'transferFrom', take, { from: second });
    expect(await net.current.view(token, 'allowance', [player.address, second.address])).toBe(MaxUint256);
    const tooMuch = [player.address, second.address, TOKENS];
    expect(await net.current.refusal(token, 'transferFrom', tooMuch, { from: second })).toBe(
      'ERC20: transfer amount exceeds balance',
    );
  });

  test('an allowance can be raised and lowered', async () => {
    const { token } = net.current;
    await net.current.send(token, 'increaseAllowance', [second.address, 8n], { from: player });
    await net.current.send(token, 'decreaseAllowance', [second.address, 3n], { from: player });
    expect(await net.current.view(token, 'allowance', [player.address, second.address])).toBe(5n);
    expect(
      await net.current.refusal(token, 'decreaseAllowance', [second.address, 6n], { from: player }),
    ).toBe('ERC20: decreased allowance below zero');
  });

  test('only minters can mint', async () => {
    const { token } = net.current;
    const minted = await net.current.send(token, 'mint', [stranger.address, 9n]);
    expect(minted.events).toEqual([
      `Transfer(0x0000000000000000000000000000000000000000,${stranger.address},9)`,
    ]);
    expect(await net.current.refusal(token, 'mint', [player.address, 1n], { from: player })).toBe(
      `AccessControlUnauthorizedAccount(${player.address},${roles.MINTER_ROLE})`,
    );
  });

  test('holders burn their own tokens and, with an allowance, those of others', async () => {
    const { token } = net.current;
    await net.current.send(token, 'burn', [4n], { from: player });
    expect(await net.current.refusal(token, 'burnFrom', [player.address, 1n], { from: second })).toBe(
      'ERC20: insufficient allowance',
    );
    await net.current.send(token, 'approve', [second.address, 6n], { from: player });
    await net.current.send(token, 'burnFrom', [player.address, 6n], { from: second });
    expect(await balance(player.address)).toBe(TOKENS - 10n);
    expect(await net.current.refusal(token, 'burn', [1n], { from: stranger })).toBe(
      'ERC20: burn amount exceeds balance',
    );
  });

  test('a paused token moves nothing, and only pausers can pause it', async () => {
    const { token } = net.current;
    for (const method of ['pause', 'unpause']) {
      expect(await net.current.refusal(token, method, [], { from: player })).toBe(
        `AccessControlUnauthorizedAccount(${player.address},${roles.PAUSER_ROLE})`,
      );
    }
    expect((await net.current.send(token, 'pause')).events).toEqual([`Paused(${deployer.address})`]);
    expect(await net.current.view(token, 'paused')).toBe(true);
    expect(await net.current.refusal(token, 'transfer', [second.address, 1n], { from: player })).toBe(
      'ERC20Pausable: token transfer while paused',
    );
    expect(await net.current.refusal(token, 'pause')).toBe('Pausable: paused');
    expect((await net.current.send(token, 'unpause')).events).toEqual([`Unpaused(${deployer.address})`]);
    expect(await net.current.refusal(token, 'unpause')).toBe('Pausable: not paused');
    await net.current.send(token, 'transfer', [second.address, 1n], { from: player });
  });

  test('its roles have the usual ids, and their members can be listed', async () => {
    const { token } = net.current;
    for (const role of ['MINTER_ROLE', 'PAUSER_ROLE', 'DEFAULT_ADMIN_ROLE'] as const) {
      expect(await net.current.view(token, role)).toBe(roles[role]);
      expect(await net.current.view(token, 'getRoleMemberCount', [roles[role]])).toBe(1n);
      expect(await net.current.view(token, 'getRoleMember', [roles[role], 0])).toBe(deployer.address);
    }
    const granted = await net.current.send(token, 'grantRole', [roles.MINTER_ROLE, player.address]);
    expect(granted.events).toEqual([
      `RoleGranted(${roles.MINTER_ROLE},${player.address},${deployer.address})`,
    ]);
    expect(await net.current.view(token, 'getRoleMember', [roles.MINTER_ROLE, 1])).toBe(player.address);
    await net.current.send(token, 'mint', [player.address, 1n], { from: player });
    const revoked = await net.current.send(token, 'revokeRole', [roles.MINTER_ROLE, player.address]);
    expect(revoked.events).toEqual([
      `RoleRevoked(${roles.MINTER_ROLE},${player.address},${deployer.address})`,
    ]);
    await net.current.send(token, 'renounceRole', [roles.PAUSER_ROLE, deployer.address]);
    expect(await net.current.view(token, 'hasRole', [roles.PAUSER_ROLE, deployer.address])).toBe(false);
    expect(await net.current.view(token, 'getRoleAdmin', [roles.MINTER_ROLE])).toBe(roles.DEFAULT_ADMIN_ROLE);
    // AccessControl and its enumerable extension.
    expect(await net.current.view(token, 'supportsInterface', ['0x7965db0b'])).toBe(true);
    expect(await net.current.view(token, 'supportsInterface', ['0x5a05180f'])).toBe(true);
    expect(await net.current.view(token, 'supportsInterface', ['0xffffffff'])).toBe(false);
  });
});
