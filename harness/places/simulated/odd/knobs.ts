/**
 * What can be odd about simulated nodes (`--odd`): what a protocol or a machine allows, but hardly ever happens. Each node
 * draws its own values from the seed.
 */
import type { NodeOptionsInput } from '../../../flavours/node-options.gen.ts';

type OptionName = keyof NodeOptionsInput;

/** As platforms name them. */
type LimitName = 'offeredEntries' | 'pushes' | 'searches' | 'gossipedPeers' | 'storeGroup' | 'logBlocks';

export interface Knob {
  readonly about: string;
  readonly least: number;
  readonly most: number;
  /** Why nodes have to work with every value in between. */
  readonly allowed: string;
  /** Option of the node; absent: it is done to what surrounds the node. */
  readonly option?: {
    readonly name: OptionName;
    readonly unit: '' | 'ms';
    /** The value may not exceed this option where a definition gives it. */
    readonly atMost?: OptionName;
  };
  /** Limit of the node that it is. */
  readonly limit?: LimitName;
}

const milliseconds = (name: OptionName) => ({ name, unit: 'ms' }) as const;
const number = (name: OptionName) => ({ name, unit: '' }) as const;

export const KNOB_NAMES = [
  'frame-pieces',
  'window',
  'late-timers',
  'early-timers',
  'late-turns',
  'slow-writes',
  'slow-chain',
  'chain-poll-interval',
  'salud-pause',
  'reserve-wake-up',
  'pull-rate-window',
  'warmup-time',
  'price-oracle-interval',
  'refresh-interval',
  'payment-early-percent',
  'payment-retry-pause',
  'payment-minimum',
  'threshold-growth-step',
  'api-idle-timeout',
  'offered-entries',
  'pushes',
  'searches',
  'gossiped-peers',
  'store-group',
  'log-blocks',
] as const;
/** What may be odd about simulated nodes. */
export type KnobName = (typeof KNOB_NAMES)[number];

export const KNOBS: Readonly<Record<KnobName, Knob>> = {
  'frame-pieces': {
    about: 'most pieces into which a frame is cut, each sent in a turn of its own',
    least: 2,
    most: 5,
    allowed: 'a stream of bytes keeps no boundaries (yamux 1.0.0)',
  },
  window: {
    about: 'unread bytes of a stream after which its peers wait',
    least: 1024,
    most: 262_144,
    allowed: 'a window starts with 256 KiB, and its reader decides when it grows again (yamux 1.0.0)',
  },
  'late-timers': {
    about: 'most milliseconds by which a timer fires late',
    least: 1,
    most: 60,
    allowed: 'a timer promises no more than not to fire before its time (Node.js)',
  },
  'early-timers': {
    about: 'most milliseconds by which a timer fires early',
    least: 1,
    most: 1,
    allowed: 'timers count whole milliseconds of a clock with fractions (Node.js)',
  },
  'late-turns': {
    about: 'most extra turns of the event loop that a task waits',
    least: 1,
    most: 20,
    allowed: 'other work of the process decides when a turn comes',
  },
  'slow-writes': {
    about: 'most milliseconds until the disk has a write',
    least: 1,
    most: 60,
    allowed: 'a disk promises no time, only an order',
  },
  'slow-chain': {
    about: 'most milliseconds until the chain answers',
    least: 1,
    most: 400,
    allowed: 'a call may take 15 s (node/onchain/rpc.ts)',
  },
  'chain-poll-interval': {
    about: 'milliseconds',
    least: 20,
    most: 2000,
    allowed: 'each node reads the chain for itself',
    option: milliseconds('chain-poll-interval'),
  },
  'salud-pause': {
    about: 'milliseconds',
    least: 100,
    most: 10_000,
    allowed: 'each node asks its peers for their status as often as it likes',
    option: milliseconds('salud-pause'),
  },
  'reserve-wake-up': {
    about: 'milliseconds',
    least: 300,
    most: 30_000,
    allowed: 'each node decides for itself when it looks at its reserve',
    option: milliseconds('reserve-wake-up'),
  },
  'pull-rate-window': {
    about: 'milliseconds',
    least: 500,
    most: 60_000,
    allowed: 'each node measures its pull syncing for itself',
    option: milliseconds('pull-rate-window'),
  },
  'warmup-time': {
    about: 'milliseconds',
    least: 0,
    most: 3000,
    allowed: 'a node need not warm up at all',
    option: milliseconds('warmup-time'),
  },
  'price-oracle-interval': {
    about: 'milliseconds',
    least: 100,
    most: 300_000,
    allowed: 'the public network reads its oracle every five minutes (swap.md)',
    option: milliseconds('price-oracle-interval'),
  },
  'refresh-interval': {
    about: 'milliseconds',
    least: 1000,
    most: 6000,
    allowed: 'a creditor refuses a second refresh within a second (accounting.md)',
    option: milliseconds('refresh-interval'),
  },
  'payment-early-percent': {
    about: 'percent',
    least: 0,
    most: 100,
    allowed: 'a debtor may settle before it has to (accounting.md)',
    option: number('payment-early-percent'),
  },
  'payment-retry-pause': {
    about: 'milliseconds',
    least: 0,
    most: 20_000,
    allowed: 'a debtor decides for itself when it tries again',
    option: milliseconds('payment-retry-pause'),
  },
  'payment-minimum': {
    about: 'accounting units',
    least: 1,
    most: 2_000_000,
    allowed: 'a cheque may be of any amount that is not a loss (swap.md)',
    option: number('payment-minimum'),
  },
  'threshold-growth-step': {
    about: 'seconds of the refresh rate',
    least: 1,
    most: 400,
    allowed: 'a creditor may announce a higher threshold whenever it likes (pricing)',
    option: { ...number('threshold-growth-step'), atMost: 'threshold-growth-linear' },
  },
  'api-idle-timeout': {
    about: 'milliseconds',
    least: 3000,
    most: 120_000,
    allowed: 'a client that neither sends nor reads has no right to its connection',
    option: milliseconds('api-idle-timeout'),
  },
  'offered-entries': {
    about: 'most entries of an offer of pull syncing',
    least: 1,
    most: 250,
    allowed: 'a server ends its page where it likes (p2p-protocols.md 4.10)',
    limit: 'offeredEntries',
  },
  pushes: {
    about: 'chunks pushed at once',
    least: 1,
    most: 128,
    allowed: 'an uploader need not be fast',
    limit: 'pushes',
  },
  searches: {
    about: 'searches at once for one requester',
    least: 1,
    most: 512,
    allowed: 'a forwarder may answer when it likes, within the time of a request',
    limit: 'searches',
  },
  'gossiped-peers': {
    about: 'most records in a message of hive',
    least: 1,
    most: 30,
    allowed: 'a message has up to 30 records (p2p-protocols.md 4.2)',
    limit: 'gossipedPeers',
  },
  'store-group': {
    about: 'changes that reach the disk together',
    least: 1,
    most: 256,
    allowed: 'a disk promises no time, only an order',
    limit: 'storeGroup',
  },
  'log-blocks': {
    about: 'most blocks of a request for logs',
    // Fewer, each as slow as `slow-chain` may be, and a node that joins does not read its batches in the time that it has.
    least: 128,
    most: 5000,
    allowed: 'public endpoints limit the blocks of a request',
    limit: 'logBlocks',
  },
};
