/** What either end of a stream says, in order, by the tables that nodes use. */
import { fromBigEndian } from '../../../../formats/crypto/big-endian.ts';
import { toHex } from '../../../../formats/crypto/hex.ts';
import { decodeMultiaddress } from '../../../../node/p2p/address/multiaddress.ts';
import { decodeUnderlays } from '../../../../node/p2p/address/underlay.ts';
import { decodeMessage } from '../../../../node/p2p/codec/codec.ts';
import type { MessageTable } from '../../../../node/p2p/codec/message.ts';
import * as handshake from '../../../../node/p2p/handshake/wire.ts';
import { IDENTIFY_ID, Identify, PING_ID } from '../../../../node/p2p/libp2p/identify.ts';
import * as hive from '../../../../node/protocols/hive/wire.ts';
import * as pingpong from '../../../../node/protocols/pingpong/wire.ts';
import * as pricing from '../../../../node/protocols/pricing/wire.ts';
import * as pseudosettle from '../../../../node/protocols/pseudosettle/wire.ts';
import * as pullsync from '../../../../node/protocols/pullsync/wire.ts';
import * as pushsync from '../../../../node/protocols/pushsync/wire.ts';
import * as retrieval from '../../../../node/protocols/retrieval/wire.ts';
import * as status from '../../../../node/protocols/status/wire.ts';
import * as swap from '../../../../node/protocols/swap/wire.ts';
import { decodeCheque } from '../../../../node/swap/cheque.ts';
import type { ProtocolName, TapValue } from './events.ts';
import { type Names, shown } from './values.ts';

export type Show = (value: never, names: Names) => TapValue;

export interface MessageRow {
  readonly name: string;
  readonly table: MessageTable;
  readonly show?: Readonly<Record<string, Show>>;
}

export interface ProtocolRow {
  readonly name: ProtocolName;
  readonly ids: readonly string[];
  readonly headers: boolean;
  /** In order; the last row stands for all that follow. */
  readonly opener: readonly MessageRow[];
  readonly acceptor: readonly MessageRow[];
  /** What either end sends are no messages: their name. */
  readonly raw?: string;
  readonly show?: Readonly<Record<string, Show>>;
}

const STAMP_SIZE = 113;
const HASH_SIZE = 32;
const AMOUNT_MAX = 32;

const amount = (unit: string) => (bytes: Uint8Array) =>
  bytes.length > AMOUNT_MAX ? `${bytes.length} B` : `${fromBigEndian(bytes)} ${unit}`;
const units: Show = amount('AU');
const tokens: Show = amount('base units');
const overlay: Show = (bytes: Uint8Array, names) => names.ofOverlay(toHex(bytes));
const underlays: Show = (bytes: Uint8Array) => decodeUnderlays(bytes);
const seconds: Show = (value: bigint) => new Date(Number(value) * 1000).toISOString();
const size: Show = (bytes: Uint8Array) => `${bytes.length} B`;
const stamp: Show = (bytes: Uint8Array) =>
  bytes.length === STAMP_SIZE ? `batch ${toHex(bytes.subarray(0, HASH_SIZE))}` : `${bytes.length} B`;
const bits: Show = (bytes: Uint8Array) =>
  `${bytes.reduce((sum, byte) => sum + byte.toString(2).replaceAll('0', '').length, 0)} of ${bytes.length * 8} at most`;
const addresses: Show = (chunks: readonly { readonly address: Uint8Array }[]) =>
  chunks.map(({ address }) => toHex(address));
const multiaddress: Show = (bytes: Uint8Array) => decodeMultiaddress(bytes);
const multiaddresses: Show = (all: readonly Uint8Array[]) => all.map(decodeMultiaddress);
const cheque: Show = (bytes: Uint8Array) => {
  const { chequebook, beneficiary, cumulativePayout } = decodeCheque(bytes);
  return {
    chequebook: toHex(chequebook),
    beneficiary: toHex(beneficiary),
    cumulativePayout: `${cumulativePayout} base units`,
  };
};
/** A single byte waits for news. */
const known: Show = (bytes: Uint8Array, names) =>
  bytes.length === 1 ? true : shown(decodeMessage(pullsync.Known, bytes), names, {});

const RECORD = { underlay: underlays, overlay, timestamp: seconds } as const;
const record: Show = (value: Record<string, unknown>, names) => shown(value, names, RECORD);
const records: Show = (all: readonly { readonly overlay: Uint8Array }[], names) =>
  all.map((one) => names.ofOverlay(toHex(one.overlay)));
const CHUNK = { data: size, stamp } as const;

const syn: MessageRow = { name: 'syn', table: handshake.Syn, show: { observedUnderlay: underlays } };
const ack: MessageRow = { name: 'ack', table: handshake.Ack, show: { address: record } };
const synAck: MessageRow = {
  name: 'synack',
  table: handshake.SynAck,
  show: {
    syn: (value: Record<string, unknown>, names) => shown(value, names, { observedUnderlay: underlays }),
    ack: (value: Record<string, unknown>, names) => shown(value, names, { address: record }),
  },
};
const identify: MessageRow = {
  name: 'identify',
  table: Identify,
  show: { publicKey: size, listenAddrs: multiaddresses, observedAddr: multiaddress },
};

export const PROTOCOLS: readonly ProtocolRow[] = [
  {
    name: 'handshake',
    ids: handshake.HANDSHAKE_DIALECTS.map(({ id }) => id),
    headers: false,
    opener: [syn, ack],
    acceptor: [synAck],
  },
  { name: 'identify', ids: [IDENTIFY_ID], headers: false, opener: [], acceptor: [identify] },
  { name: 'identify-push', ids: ['/ipfs/id/push/1.0.0'], headers: false, opener: [identify], acceptor: [] },
  { name: 'ping', ids: [PING_ID], headers: false, opener: [], acceptor: [], raw: 'echo' },
  {
    name: 'hive',
    ids: Object.values(hive.HIVE).map(({ id }) => id),
    headers: true,
    opener: [{ name: 'peers', table: hive.Peers, show: { peers: records } }],
    acceptor: [],
  },
  {
    name: 'pingpong',
    ids: [pingpong.PINGPONG.id],
    headers: true,
    opener: [{ name: 'ping', table: pingpong.Ping }],
    acceptor: [{ name: 'pong', table: pingpong.Pong }],
  },
  {
    name: 'pricing',
    ids: [pricing.PRICING.id],
    headers: true,
    opener: [
      { name: 'threshold', table: pricing.AnnouncePaymentThreshold, show: { paymentThreshold: units } },
    ],
    acceptor: [],
  },
  {
    name: 'pseudosettle',
    ids: [pseudosettle.PSEUDOSETTLE.id],
    headers: true,
    opener: [{ name: 'payment', table: pseudosettle.Payment, show: { amount: units } }],
    acceptor: [{ name: 'ack', table: pseudosettle.PaymentAck, show: { amount: units, timestamp: seconds } }],
  },
  {
    name: 'swap',
    ids: [swap.SWAP.id],
    headers: true,
    opener: [{ name: 'cheque', table: swap.EmitCheque, show: { cheque } }],
    acceptor: [],
    show: { [swap.EXCHANGE_HEADER]: tokens, [swap.DEDUCTION_HEADER]: tokens },
  },
  pullsyncRow(pullsync.PULLSYNC.id, pullsync.Offer),
  pullsyncRow(pullsync.PULLSYNC_2.id, pullsync.SummedOffer),
  {
    name: 'cursors',
    ids: [pullsync.CURSORS.id, pullsync.CURSORS_2.id],
    headers: true,
    opener: [{ name: 'syn', table: pullsync.Syn }],
    acceptor: [{ name: 'ack', table: pullsync.Ack, show: { epoch: seconds } }],
    show: { [pullsync.KNOWN_HEADER]: known },
  },
  {
    name: 'pushsync',
    ids: [pushsync.PUSHSYNC.id],
    headers: true,
    opener: [{ name: 'delivery', table: pushsync.Delivery, show: CHUNK }],
    acceptor: [{ name: 'receipt', table: pushsync.Receipt }],
  },
  {
    name: 'retrieval',
    ids: [retrieval.RETRIEVAL.id],
    headers: true,
    opener: [{ name: 'request', table: retrieval.Request }],
    acceptor: [{ name: 'delivery', table: retrieval.Delivery, show: CHUNK }],
  },
  {
    name: 'status',
    ids: [status.STATUS.id],
    headers: true,
    opener: [{ name: 'get', table: status.Get }],
    acceptor: [{ name: 'snapshot', table: status.Snapshot }],
  },
];

function pullsyncRow(id: string, offer: MessageTable): ProtocolRow {
  return {
    name: 'pullsync',
    ids: [id],
    headers: true,
    opener: [
      { name: 'get', table: pullsync.Get },
      { name: 'want', table: pullsync.Want, show: { bitVector: bits } },
    ],
    acceptor: [
      { name: 'offer', table: offer, show: { chunks: addresses } },
      { name: 'delivery', table: pullsync.Delivery, show: CHUNK },
    ],
  };
}

/** Raw bytes have none. @throws RangeError naming what is known */
export function messagesOf(protocol: string, message?: string): readonly MessageRow[] {
  const rows = rowsOf(protocolNamed(protocol));
  if (rows.length === 0) {
    const known = new Set(PROTOCOLS.filter((row) => rowsOf(row).length > 0).map(({ name }) => name));
    throw new RangeError(`${protocol} has no messages (protocols that have: ${[...known].join(', ')})`);
  }
  const meant = message === undefined ? rows : rows.filter(({ name }) => name === message);
  if (meant.length > 0) return meant;
  const names = [...new Set(rows.map(({ name }) => name))];
  throw new RangeError(`no message '${message}' of ${protocol} (known: ${names.join(', ')})`);
}

export function protocolNamed(name: string): ProtocolRow | undefined {
  return PROTOCOLS.find((row) => row.name === name);
}

function rowsOf(row: ProtocolRow | undefined): readonly MessageRow[] {
  return [...(row?.opener ?? []), ...(row?.acceptor ?? [])];
}

const BY_ID = new Map(PROTOCOLS.flatMap((row) => row.ids.map((id) => [id, row])));

export function protocolOf(id: string): ProtocolRow | undefined {
  return BY_ID.get(id);
}
