/**
 * What a node says and is told gets lost, late, repeated or changed. A fault meets so few messages that it costs less than
 * nodes lend each other, and that nodes bear what looks like the other end's doing.
 */
import type { FaultRequest } from '../../cluster/faults/fault.ts';
import type { MessageInput } from '../../cluster/faults/links/message.ts';
import { oneOf, type RandomIntegers } from './random.ts';

/** For clusters with a tap; also the kind. */
export const MESSAGE_FAULT = 'message';

type Message = readonly [protocol: string, message: string];
type Actions = Omit<MessageInput, 'from' | 'to' | 'protocol' | 'message'>;

const DELIVERY: Message = ['pushsync', 'delivery'];
const RECEIPT: Message = ['pushsync', 'receipt'];
const REQUEST: Message = ['retrieval', 'request'];
const RETRIEVED: Message = ['retrieval', 'delivery'];
const OFFER: Message = ['pullsync', 'offer'];
const PULLED: Message = ['pullsync', 'delivery'];
const PAYMENT: Message = ['pseudosettle', 'payment'];
const ACK: Message = ['pseudosettle', 'ack'];
const CHEQUE: Message = ['swap', 'cheque'];

/**
 * A chunk that one end alone counts is at most 320,000 units: this many are half the credit of a link, and leave room for
 * what is owed anyway.
 */
const CHUNKS_MOST = 20;
const PAYMENTS_MOST = 1;
/** A node bears 16 mistakes of a peer, and one more every ten seconds. */
const MISTAKES_MOST = 2;

/** `most`: how many; absent: any number, as it costs nothing. */
interface Row {
  readonly to: readonly Message[];
  readonly most?: number;
  readonly does: (random: RandomIntegers) => Actions;
}

const ROWS: readonly Row[] = [
  { to: [DELIVERY, RECEIPT, REQUEST, RETRIEVED], most: CHUNKS_MOST, does: dropped },
  { to: [PAYMENT, ACK, CHEQUE], most: PAYMENTS_MOST, does: dropped },
  // A node waits for offers as long as nothing is new: only the end of the stream tells it of a lost one.
  { to: [OFFER, PULLED], does: () => ({ drop: true, reset: true }) },
  { to: [DELIVERY, RECEIPT, REQUEST, RETRIEVED], most: CHUNKS_MOST, does: late },
  { to: [OFFER, PULLED, PAYMENT, ACK, CHEQUE], does: late },
  { to: [DELIVERY, RECEIPT, REQUEST, RETRIEVED, PAYMENT, CHEQUE], does: () => ({ duplicate: true }) },
  { to: [PULLED], does: () => ({ reorder: true }) },
  { to: [DELIVERY, REQUEST], most: CHUNKS_MOST, does: repeated },
  { to: [PAYMENT, CHEQUE], most: PAYMENTS_MOST, does: repeated },
  { to: [DELIVERY, RETRIEVED, PULLED], most: MISTAKES_MOST, does: () => ({ corrupt: 'data' }) },
  {
    to: [DELIVERY],
    most: MISTAKES_MOST,
    does: (random) => ({ corrupt: oneOf(['address', 'stamp'], random) }),
  },
  { to: [RECEIPT], most: MISTAKES_MOST, does: () => ({ corrupt: 'signature' }) },
  // Late, so that the stream is still open.
  {
    to: [DELIVERY, REQUEST],
    most: CHUNKS_MOST,
    does: (random) => ({ ...late(random), cut: msFrom(CUT_MS, random) }),
  },
  { to: [DELIVERY, REQUEST], most: CHUNKS_MOST, does: () => ({ answer: 'error' }) },
];

const SHARES = [1, 0.5, 0.1] as const;

/** Shorter than nodes wait for an answer. */
const LATE_MS = [500, 2000] as const;
/** Less than any message is late. */
const CUT_MS = [50, 400] as const;
const AGAIN_MS = [100, 400] as const;

export function drawMessage(nodes: readonly string[], random: RandomIntegers): FaultRequest {
  const { to: messages, most, does } = oneOf(ROWS, random);
  const [protocol, message] = oneOf(messages, random);
  const request: MessageInput = {
    from: [oneOf(nodes, random)],
    to: ['all'],
    protocol,
    message,
    share: oneOf(SHARES, random),
    ...(most === undefined ? {} : { first: 1 + random.below(most) }),
    ...does(random),
  };
  return { kind: MESSAGE_FAULT, ...request };
}

function dropped(random: RandomIntegers): Actions {
  return { drop: true, ...(random.below(2) === 0 ? { reset: true } : {}) };
}

function late(random: RandomIntegers): Actions {
  return { delay: msFrom(LATE_MS, random) };
}

function repeated(random: RandomIntegers): Actions {
  return { replay: msFrom(AGAIN_MS, random) };
}

function msFrom([least, most]: readonly [number, number], random: RandomIntegers): number {
  return least + random.below(most - least + 1);
}
