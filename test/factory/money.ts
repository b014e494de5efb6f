import { BZZ } from '@ethersphere/bee-js';
import { describe, expect, test } from 'vitest';
import { eventually } from '../cluster/node/kit.ts';
import { becomes, bees, mined, queen, reader, WITHDRAWAL } from './kit.ts';

const TEN = BZZ.fromFloat(10);
const ONE = BZZ.fromFloat(1);

export function moneyTests(): void {
  describe('money', () => {
    test('starts with ten tokens in each chequebook', async () => {
      // Meanwhile some millionths were cashed from one chequebook to another.
      await eventually('tokens of the chequebooks are missing', async () => {
        const balances = await Promise.all(bees.map((bee) => bee.getChequebookBalance()));
        const total = balances.reduce((sum, { totalBalance }) => sum + totalBalance.toPLURBigInt(), 0n);
        return total === TEN.toPLURBigInt() * BigInt(bees.length) ? undefined : `they have ${total}`;
      });
      for (const bee of bees) {
        const { totalBalance } = await bee.getChequebookBalance();
        expect(Number(totalBalance.toDecimalString())).toBeCloseTo(10, 3);
        expect(
          (await bee.getChequebookAddress()).chequebookAddress.toUint8Array().some((byte) => byte !== 0),
        ).toBe(true);
      }
    });

    test('starts with one coin and a hundred tokens in the account of a node that has spent nothing', async () => {
      const { nativeTokenBalance, bzzBalance } = await reader.getWalletBalance();
      expect([nativeTokenBalance.toDecimalString(), bzzBalance.toDecimalString()]).toEqual([
        '1.000000000000000000',
        '100.0000000000000000',
      ]);
    });

    test('can be deposited in the chequebook and withdrawn', async () => {
      const { totalBalance } = await reader.getChequebookBalance();
      const seen = async () => (await reader.getChequebookBalance()).totalBalance;
      await reader.depositTokens(ONE);
      await becomes('the chequebook', totalBalance.plus(ONE), seen);
      await mined(reader);
      await reader.withdrawTokens(ONE);
      await becomes('the chequebook', totalBalance, seen);
      await mined(reader);
    });

    test('can be staked', async () => {
      const before = await queen.getStake();
      const transaction = await queen.depositStake(TEN);
      expect(transaction.toHex()).toHaveLength(64);
      await becomes('the stake', before.plus(TEN), () => queen.getStake());
    });

    test('can be sent to the address of the whitelist, in tokens and coins', async () => {
      const before = await reader.getWalletBalance();
      await reader.withdrawBZZToExternalWallet(ONE, WITHDRAWAL);
      await mined(reader);
      await reader.withdrawDAIToExternalWallet('1', WITHDRAWAL);
      await mined(reader);
      const after = await reader.getWalletBalance();
      expect(after.bzzBalance.plus(ONE).eq(before.bzzBalance)).toBe(true);
      expect(after.nativeTokenBalance.toWeiBigInt()).toBeLessThan(before.nativeTokenBalance.toWeiBigInt());
    });

    test('cannot be sent to any other address', async () => {
      await expect(reader.withdrawBZZToExternalWallet('1', '0c'.repeat(20))).rejects.toMatchObject({
        status: 400,
        responseBody: { code: 400, message: 'provided address not whitelisted' },
      });
    });
  });
}
