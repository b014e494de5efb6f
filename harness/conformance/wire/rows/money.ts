/** By time and by cheque: `p2p-protocols.md` 4.6 and 4.7. */

import { type Clock, unixSeconds } from '../../../../formats/clock.ts';
import type { MessageOf } from '../../../../node/p2p/codec/message.ts';
import { decodeAmount, encodeAmount } from '../../../../node/protocols/amounts.ts';
import { Payment, PaymentAck, PSEUDOSETTLE } from '../../../../node/protocols/pseudosettle/wire.ts';
import { DEDUCTION_HEADER, EmitCheque, EXCHANGE_HEADER, SWAP } from '../../../../node/protocols/swap/wire.ts';
import { encodeCheque, type SignedCheque, signCheque } from '../../../../node/swap/cheque.ts';
import { must, NotApplicable } from '../../row.ts';
import { ANSWER_MS, type Conversation } from '../conversation.ts';
import type { Counterpart } from '../counterpart.ts';
import { digestOf } from '../identities.ts';
import { type Desk, prerequisite, table, type WireEntry } from '../subject.ts';
import { hexText } from '../transcript.ts';
import { held } from './pullsync.ts';
import { priceOf, retrieve } from './retrieval.ts';

/** Between peers: a payer refuses more. */
const CLOCKS_DIFFER_SECONDS = 2n;
/** Two payments may fall into two seconds by chance. */
const ATTEMPTS_MAX = 5;
const CHAIN_MS = 120_000;

export const PSEUDOSETTLE_ROWS = table({ group: 'pseudosettle', level: 'read' }, [
  {
    id: 'pseudosettle without debt',
    about: 'accepts nothing of a peer that owes nothing, and tells the time',
    async check(desk) {
      const ack = await paid(await pay(await desk.fresh(), 1_000_000n));
      must(amountOf(ack) === 0n, `Amount: ${amountOf(ack)}, expected 0`);
      checkTime(ack, desk.clock);
    },
  },
  {
    id: 'pseudosettle too soon',
    about: 'refuses a second payment within the same second',
    async check(desk) {
      const peer = await desk.fresh();
      for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
        const first = await paid(await pay(peer, 1n));
        const conversation = await pay(peer, 1n);
        const next = await conversation.next();
        conversation.record(next);
        if (next.kind === 'reset') return;
        must(next.kind === 'frame', `the node answered with ${next.kind}, expected a reset`);
        conversation.end();
        // The next second had begun: the node counted this payment too.
        await peer.endsWithin(1_100 - (desk.clock.now() % 1_000));
        must(first.timestamp > 0n, 'Timestamp: 0');
      }
      must(false, `${ATTEMPTS_MAX} pairs of payments were all accepted`);
    },
  },
  {
    id: 'pseudosettle of a debt',
    about: 'accepts what a chunk has cost, and no more',
    async check(desk) {
      const { address } = await held(desk);
      const peer = await desk.fresh();
      await prerequisite('retrieval of a held chunk', retrieve(peer, address));
      const price = priceOf(desk.overlay(), address);
      // The price is booked after the chunk has left.
      await peer.endsWithin(100);
      const ack = await paid(await pay(peer, 2n * price));
      must(amountOf(ack) === price, `Amount: ${amountOf(ack)}, expected ${price}, the price of one chunk`);
      checkTime(ack, desk.clock);
    },
  },
  {
    id: 'pseudosettle huge amount',
    about: 'survives an amount of 40 bytes',
    async check(desk) {
      const peer = await desk.fresh();
      const conversation = await peer.converse(PSEUDOSETTLE.id);
      conversation.send(Payment, { amount: new Uint8Array(40).fill(0xff) }, 'Payment');
      const next = await conversation.next();
      conversation.record(next);
      must(next.kind !== 'silence', `no answer within ${ANSWER_MS} ms`);
      must(!(await (await desk.friend()).endsWithin(50)), 'another peer has lost its connection');
    },
  },
]);

export async function pay(peer: Counterpart, amount: bigint): Promise<Conversation> {
  const conversation = await peer.converse(PSEUDOSETTLE.id);
  conversation.send(Payment, { amount: encodeAmount(amount) }, 'Payment');
  return conversation;
}

export async function paid(conversation: Conversation): Promise<MessageOf<typeof PaymentAck>> {
  const ack = await conversation.receive(PaymentAck, 'PaymentAck');
  conversation.end();
  await conversation.expectEnd();
  return ack;
}

export function amountOf({ amount }: MessageOf<typeof PaymentAck>): bigint {
  const value = decodeAmount(amount);
  must(value !== undefined, `Amount: ${hexText(amount)} is no amount`);
  return value;
}

function checkTime({ timestamp }: MessageOf<typeof PaymentAck>, clock: Clock): void {
  const now = unixSeconds(clock);
  const difference = timestamp > now ? timestamp - now : now - timestamp;
  must(
    difference <= CLOCKS_DIFFER_SECONDS,
    `Timestamp: ${timestamp}, ${difference} s from ours; a payer bears ${CLOCKS_DIFFER_SECONDS}`,
  );
}

/** Never accepted. */
const NO_CHEQUES: readonly { readonly id: string; readonly about: string; readonly bytes: Uint8Array }[] = [
  { id: 'no cheque', about: 'nothing', bytes: new Uint8Array(0) },
  { id: 'no JSON', about: 'what is no JSON', bytes: text('{"Chequebook":') },
  { id: 'other JSON', about: 'JSON of another shape', bytes: text('[1,2,3]') },
  {
    id: 'payout in quotes',
    about: 'a payout in quotes',
    bytes: text(
      `{"Chequebook":"0x${'11'.repeat(20)}","Beneficiary":"0x${'22'.repeat(20)}","CumulativePayout":"500","Signature":"${Buffer.alloc(65, 1).toString('base64')}"}`,
    ),
  },
];

export const SWAP_ROWS = table({ group: 'swap', level: 'read' }, [
  {
    id: 'swap rates',
    about: 'says in its headers what an accounting unit costs, as the oracle on the chain does',
    async check(desk) {
      const { conversation, exchange, deduction } = await opened(desk, await desk.friend());
      conversation.reset();
      must(exchange > 0n, 'exchange: missing or 0, expected the price of an accounting unit');
      const oracle = await desk.options.swapPrice?.();
      if (oracle === undefined) return;
      must(exchange === oracle.price, `exchange: ${exchange}, the oracle says ${oracle.price}`);
      must(
        deduction === oracle.deduction || deduction === 0n,
        `deduction: ${deduction}, the oracle says ${oracle.deduction}`,
      );
    },
  },
  ...NO_CHEQUES.map(
    ({ id, about, bytes }): WireEntry => ({
      id: `swap ${id}`,
      about: `resets a stream that brings ${about} for a cheque`,
      async check(desk) {
        const peer = await desk.fresh();
        await (await emit(desk, peer, bytes)).expectRefusal(about);
      },
    }),
  ),
  ...(['for another beneficiary', 'of no chequebook'] as const).map(
    (about): WireEntry => ({
      id: `swap cheque ${about}`,
      limitMs: CHAIN_MS,
      about: `refuses a cheque ${about}`,
      async check(desk) {
        const peer = await desk.fresh();
        const own =
          about === 'of no chequebook' ? desk.memory.nodeEthereum() : digestOf('somebody').subarray(12);
        const cheque = {
          chequebook: digestOf('no chequebook').subarray(12),
          beneficiary: own,
          cumulativePayout: 10n ** 12n,
        };
        const conversation = await emit(desk, peer, encodeCheque(signCheque(cheque, peer.signer, 1n)));
        await conversation.expectRefusal(`a cheque ${about}`, CHAIN_MS / 2);
      },
    }),
  ),
  {
    id: 'swap cheque',
    level: 'money',
    limitMs: CHAIN_MS,
    about: 'takes a covered cheque without a reset, and refuses the same one again',
    async check(desk) {
      const funds = desk.funds();
      const cheque = await covered(desk, 1n);
      const peer = await desk.fresh({ signer: funds.signer });
      const taken = await emit(desk, peer, encodeCheque(cheque));
      taken.end();
      await taken.expectEnd(CHAIN_MS / 2);
      const again = await emit(desk, peer, encodeCheque(cheque));
      await again.expectRefusal('a cheque that it has', CHAIN_MS / 2);
    },
  },
  ...(
    [
      [
        'signed by somebody else',
        async (desk: Desk) => {
          const cheque = await covered(desk, 2n);
          const forger = (await desk.stranger()).signer;
          return signCheque(cheque, forger, await desk.funds().chainId());
        },
      ],
      ['that is not covered', (desk: Desk) => covered(desk, 10n ** 20n)],
    ] as const
  ).map(
    ([about, write]): WireEntry => ({
      id: `swap cheque ${about}`,
      level: 'money',
      limitMs: CHAIN_MS,
      about: `refuses a cheque ${about}`,
      async check(desk) {
        const cheque = await write(desk);
        const peer = await desk.fresh({ signer: desk.funds().signer });
        const conversation = await emit(desk, peer, encodeCheque(cheque));
        await conversation.expectRefusal(`a cheque ${about}`, CHAIN_MS / 2);
      },
    }),
  ),
]);

async function emit(desk: Desk, peer: Counterpart, cheque: Uint8Array): Promise<Conversation> {
  const { conversation } = await opened(desk, peer);
  conversation.send(EmitCheque, { cheque }, 'EmitCheque');
  return conversation;
}

/** A cheque on a chequebook of this run. @param units accounting units, more each time */
async function covered(desk: Desk, units: bigint): Promise<SignedCheque> {
  const funds = desk.funds();
  const { chequebook } = await funds.chequebook();
  const { price = 1n, deduction = 0n } = (await desk.options.swapPrice?.()) ?? {};
  const cumulativePayout = price * units * 1_000n + deduction;
  const cheque = { chequebook, beneficiary: desk.memory.nodeEthereum(), cumulativePayout };
  return signCheque(cheque, funds.signer, await funds.chainId());
}

/** @throws NotApplicable without cheques */
async function opened(desk: Desk, peer: Counterpart) {
  const conversation = await peer.tryOpen(SWAP.id);
  if (conversation === undefined) throw new NotApplicable('the node does not take part in swap');
  const headers = await conversation.exchangeHeaders();
  const amount = (name: string) => decodeAmount(headers.get(name) ?? new Uint8Array(0)) ?? 0n;
  desk.log.received(`exchange ${amount(EXCHANGE_HEADER)}, deduction ${amount(DEDUCTION_HEADER)}`);
  return { conversation, exchange: amount(EXCHANGE_HEADER), deduction: amount(DEDUCTION_HEADER) };
}

function text(value: string): Uint8Array {
  return new TextEncoder().encode(value);
}
