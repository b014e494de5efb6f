import type { NodeServices } from '../../../node/api/services.ts';
import type { CashoutStatus, LastCashout } from '../../../node/swap/cashout.ts';
import type { SignedCheque } from '../../../node/swap/cheque.ts';
import { SwapError } from '../../../node/swap/errors.ts';
import type { LastCheques } from '../../../node/swap/services.ts';
import { type Failing, failIf } from './failing.ts';

export const SOME_CHEQUE: SignedCheque = {
  chequebook: new Uint8Array(20).fill(0xc1),
  beneficiary: new Uint8Array(20).fill(0xab),
  cumulativePayout: 2n ** 64n,
  signature: new Uint8Array(65),
};

export const SOME_CASHOUT: LastCashout = {
  cheque: SOME_CHEQUE,
  transactionHash: `0x${'ca'.repeat(32)}`,
  state: 'done',
  result: {
    recipient: new Uint8Array(20).fill(0xee),
    totalPayout: 7n,
    cumulativePayout: 2n ** 64n,
    bounced: true,
  },
};

export const CHEQUEBOOK = new Uint8Array(20).fill(0xcb);
export const PAYMENT_HASH = `0x${'fe'.repeat(32)}`;

export interface SwapKnobs extends Failing {
  cheques: LastCheques[];
  cashout: CashoutStatus;
  paid: unknown[];
  payError: Error | undefined;
  cashing: Promise<void>;
}

export function swapKnobs(): Omit<SwapKnobs, 'failing'> {
  return {
    cheques: [],
    cashout: { last: undefined, uncashedAmount: 0n },
    paid: [],
    payError: undefined,
    cashing: Promise.resolve(),
  };
}

export function fakeSwap(turn: SwapKnobs): NodeServices['swap'] {
  const pay = async (what: string, amount: bigint | string, gas: object) => {
    if (turn.payError !== undefined) throw turn.payError;
    turn.paid.push({ what, amount, gas });
    return PAYMENT_HASH;
  };
  const cheques = () => {
    failIf(turn, 'cheques');
    return turn.cheques;
  };
  const settlements = () =>
    cheques().map(({ peer: id, received, sent }) => ({
      peer: id,
      received: received?.cumulativePayout ?? 0n,
      sent: sent?.cumulativePayout ?? 0n,
    }));
  const checked = (id: string) => {
    if (cheques().every((known) => known.peer !== id)) throw new SwapError('NO_CHEQUE');
  };
  return {
    lastCheques: cheques,
    lastChequesWith: (id) => cheques().find((known) => known.peer === id),
    settlements,
    settlement: (id) => settlements().find((known) => known.peer === id),
    cashout: {
      async cash(id, gas) {
        checked(id);
        await turn.cashing;
        return pay('cashout', id, gas);
      },
      async status(id) {
        checked(id);
        failIf(turn, 'cashout');
        return turn.cashout;
      },
    },
    chequebook: {
      address: CHEQUEBOOK,
      async balance() {
        failIf(turn, 'chequebook');
        return 100n;
      },
      availableBalance: async () => -5n,
      deposit: (amount, gas) => pay('deposit', amount, gas),
      withdraw: (amount, gas) => pay('withdraw', amount, gas),
    },
  };
}
