import { expect, test } from 'vitest';
import { toHex } from '../../../formats/crypto/hex.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import { signCheque } from '../../../node/swap/cheque.ts';
import { ChequeStore } from '../../../node/swap/cheque-store.ts';
import { CHAIN_ID } from '../onchain/addresses.ts';
import { memoryRecords, testKey } from '../p2p/memory-nodes.ts';

const issuer = createSigner(testKey(1));
const chequebook = new Uint8Array(20).fill(7);
const overlay = (n: number) => toHex(new Uint8Array(32).fill(n));
const party = (n: number) => ({ overlayHex: overlay(n), ethereum: issuer.address });

test('an address that comes with two new overlays at once takes its cheques to the last one', async () => {
  const state = memoryRecords();
  const cheques = new ChequeStore(state);
  const cheque = signCheque(
    { chequebook, beneficiary: new Uint8Array(20).fill(8), cumulativePayout: 5n },
    issuer,
    CHAIN_ID,
  );
  await cheques.recordReceived(party(1), cheque, { deducted: false });
  await Promise.all([cheques.moved(party(2)), cheques.moved(party(3))]);
  for (const store of [cheques, new ChequeStore(state)]) {
    expect([1, 2, 3].map((n) => store.receivedFrom(overlay(n)))).toEqual([undefined, undefined, cheque]);
    expect(store.mayPayFrom(overlay(3), chequebook)).toBe(true);
  }
});
