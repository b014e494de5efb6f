import type { Bee } from '@ethersphere/bee-js';
import { describe, expect, test } from 'vitest';
import { eventually } from '../cluster/node/kit.ts';
import { bees, mined, payee, payer } from './kit.ts';

export function chequeTests(): void {
  describe('cheques', () => {
    test.each([
      ['node-1', 'node-2', payer, payee],
      ['node-2', 'node-1', payee, payer],
    ])('were sent by %s and received by %s', async (_from, _to, sender, receiver) => {
      const [from, to] = [await overlayOf(sender), await overlayOf(receiver)];
      const sent = await sender.getLastChequesForPeer(to);
      const received = await receiver.getLastChequesForPeer(from);
      expect(sent.lastsent?.payout.toPLURBigInt()).toBeGreaterThan(0n);
      expect(received.lastreceived).toEqual(sent.lastsent);
    });

    test('are listed by both nodes, sent and received', async () => {
      for (const [bee, other] of [
        [payer, payee],
        [payee, payer],
      ] as const) {
        const peer = await overlayOf(other);
        const { lastcheques } = await bee.getLastCheques();
        expect(lastcheques.find((row) => row.peer === peer)).toMatchObject({
          lastsent: { payout: expect.anything() as unknown },
          lastreceived: { payout: expect.anything() as unknown },
        });
      }
    });

    test('appear as settlements in the books of both', async () => {
      const [from, to] = [await overlayOf(payer), await overlayOf(payee)];
      const [sent, received] = [await payer.getSettlements(to), await payee.getSettlements(from)];
      expect(sent.sent.toPLURBigInt()).toBeGreaterThan(0n);
      expect(received.received.toPLURBigInt()).toBe(sent.sent.toPLURBigInt());
    });

    test('leave every node with balances and settlements', async () => {
      for (const bee of bees) {
        expect((await bee.getAllBalances()).balances.length).toBeGreaterThan(0);
        expect((await bee.getPastDueConsumptionBalances()).balances.length).toBeGreaterThan(0);
        expect((await bee.getAllSettlements()).settlements.length).toBeGreaterThan(0);
      }
    });

    test('can be cashed', async () => {
      const from = await overlayOf(payer);
      const { lastreceived } = await payee.getLastChequesForPeer(from);
      await payee.cashoutLastCheque(from);
      await mined(payee);
      await eventually('the cheque is not cashed', async () => {
        const { result } = await payee.getLastCashoutAction(from);
        return result === null ? 'there is no result' : undefined;
      });
      const { result, uncashedAmount } = await payee.getLastCashoutAction(from);
      expect(result?.bounced).toBe(false);
      expect(result?.lastPayout.toPLURBigInt()).toBe(lastreceived?.payout.toPLURBigInt());
      expect(uncashedAmount.toPLURBigInt()).toBe(0n);
    });
  });
}

async function overlayOf(bee: Bee): Promise<string> {
  return (await bee.getNodeAddresses()).overlay.toHex();
}
