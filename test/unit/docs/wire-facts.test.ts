import { describe, expect, test } from 'vitest';
import { priceTable } from '../../../node/accounting/rules.ts';
import { OPTIONS, type OptionName } from '../../../node/options.ts';
import { BzzAddress } from '../../../node/p2p/address/record.ts';
import { UNDERLAY_BYTES_MAX, UNDERLAYS_MAX } from '../../../node/p2p/address/underlay.ts';
import type { FieldKind, MessageTable } from '../../../node/p2p/codec/message.ts';
import * as handshake from '../../../node/p2p/handshake/wire.ts';
import { MESSAGE_SIZE_MAX } from '../../../node/p2p/stream/framing.ts';
import { HeadersMessage } from '../../../node/p2p/stream/headers.ts';
import { BUDGET_RECORDS } from '../../../node/protocols/hive/rules.ts';
import * as hive from '../../../node/protocols/hive/wire.ts';
import * as pingpong from '../../../node/protocols/pingpong/wire.ts';
import * as pricing from '../../../node/protocols/pricing/wire.ts';
import * as pseudosettle from '../../../node/protocols/pseudosettle/wire.ts';
import * as pullRules from '../../../node/protocols/pullsync/rules.ts';
import * as pullsync from '../../../node/protocols/pullsync/wire.ts';
import * as pushRules from '../../../node/protocols/pushsync/rules.ts';
import * as pushsync from '../../../node/protocols/pushsync/wire.ts';
import * as retrievalRules from '../../../node/protocols/retrieval/rules.ts';
import * as retrieval from '../../../node/protocols/retrieval/wire.ts';
import * as status from '../../../node/protocols/status/wire.ts';
import * as swap from '../../../node/protocols/swap/wire.ts';
import * as topology from '../../../node/topology/rules.ts';
import { read, rows, section } from './repository.ts';

const PAGE = read('docs/protocol/p2p-protocols.md');

const MESSAGES: Readonly<Record<string, Readonly<Record<string, MessageTable>>>> = {
  '2.2': { Headers: HeadersMessage, Header: HeadersMessage.headers[1][1] },
  '4.1': { Syn: handshake.Syn, Ack: handshake.Ack, SynAck: handshake.SynAck, BzzAddress },
  '4.2': { Peers: hive.Peers },
  '4.3': { AnnouncePaymentThreshold: pricing.AnnouncePaymentThreshold },
  '4.4': { Ping: pingpong.Ping, Pong: pingpong.Pong },
  '4.5': { Get: status.Get, Snapshot: status.Snapshot },
  '4.6': { Payment: pseudosettle.Payment, PaymentAck: pseudosettle.PaymentAck },
  '4.7': { EmitCheque: swap.EmitCheque },
  '4.8': { Request: retrieval.Request, Delivery: retrieval.Delivery },
  '4.9': { Delivery: pushsync.Delivery, Receipt: pushsync.Receipt },
  '4.10': {
    Syn: pullsync.Syn,
    Ack: pullsync.Ack,
    Get: pullsync.Get,
    Offer: pullsync.Offer,
    OfferedChunk: pullsync.OfferedChunk,
    Want: pullsync.Want,
    Delivery: pullsync.Delivery,
    Known: pullsync.Known,
  },
  '4.11': { SummedOffer: pullsync.SummedOffer, SummedChunk: pullsync.SummedChunk },
};
const NAMES = new Map(
  Object.values(MESSAGES).flatMap((messages) =>
    Object.entries(messages).map(([name, table]) => [table, name] as const),
  ),
);

describe('messages', () => {
  test.each(Object.entries(MESSAGES))(
    'section %s has every field of its messages, and no other',
    (number, messages) => {
      const written = rows(section(PAGE, number), 'Message', 'Field', 'No.', 'Type')
        .filter(([, field]) => field !== '–')
        .map(([message, field, no, type = '']) => `${message}.${field} = ${no} ${typeOf(type)}`);
      const coded = Object.entries(messages).flatMap(([message, table]) =>
        Object.entries(table).map(([field, [no, kind]]) => `${message}.${field} = ${no} ${nameOf(kind)}`),
      );
      expect(new Set(written)).toEqual(new Set(coded));
    },
  );
});

test('the table of versions has every protocol id that is served', () => {
  const written = rows(section(PAGE, '0'), 'Protocol', 'Protocol ids served').flatMap(([, ids = '']) =>
    ids.split(', '),
  );
  const specs = [
    ...Object.values(hive.HIVE),
    pricing.PRICING,
    pingpong.PINGPONG,
    status.STATUS,
    pseudosettle.PSEUDOSETTLE,
    swap.SWAP,
    retrieval.RETRIEVAL,
    pushsync.PUSHSYNC,
    pullsync.PULLSYNC,
    pullsync.CURSORS,
    pullsync.PULLSYNC_2,
    pullsync.CURSORS_2,
  ];
  const coded = [...handshake.HANDSHAKE_DIALECTS.map(({ id }) => id), ...specs.map(({ id }) => id)];
  expect(new Set(written)).toEqual(new Set(coded));
});

describe('prices and terms', () => {
  test('the price of a chunk at the lowest and the highest proximity order', () => {
    const prices = priceTable(BigInt(defaultOf('chunk-price')));
    expect(section(PAGE, '5.1')).toContain(`${figure(Number(prices[0]))} at PO 0`);
    expect(section(PAGE, '5.1')).toContain(`${figure(Number(prices.at(-1)))} at PO ${prices.length - 1}`);
  });

  test('the terms are the defaults of the options', () => {
    const terms = new Map(rows(section(PAGE, '5.2'), 'Term').map(([term, full]) => [term, full]));
    const rate = defaultOf('refresh-rate');
    expect(Object.fromEntries(terms)).toEqual({
      'Refresh rate': `${figure(rate)} AU/s`,
      'Payment threshold granted': `${figure(defaultOf('payment-threshold'))} AU`,
      'Smallest threshold accepted from a peer': `2 s of the refresh rate: ${figure(2 * rate)} AU`,
      'Tolerance above the threshold': `${defaultOf('payment-tolerance-percent')} %`,
      'Part of the threshold left when a node settles early': `${defaultOf('payment-early-percent')} %`,
      'Smallest cheque': `a fifth of a second's refresh: ${figure(rate / 5)} AU`,
      'Pause after a cheque that failed': `${defaultOf('payment-retry-pause') / 1000} s`,
    });
  });
});

describe('limits', () => {
  test('the table of the topology', () => {
    const numbers = Object.fromEntries(rows(section(PAGE, '6.1'), 'Item', 'Value'));
    expect(numbers).toMatchObject({
      'Slots per bin': expect.stringMatching(new RegExp(`^${topology.SLOTS},`)),
      'Peers up to which a bin accepts every peer': `${topology.SATURATION}`,
      'Reachable peers from which a bin takes no further inbound one': `${topology.OVER_SATURATION}, bootnodes ${topology.BOOTNODE_OVER_SATURATION}`,
      'Peers of a full bin that hear of a newcomer': `${topology.BROADCAST_BIN_SIZE}`,
      'Longest time between two dial rounds': `${topology.ROUND_MS / 1000} s`,
      'Pause after a failed dial or a disconnect': `${topology.RETRY_MS / 1000} s`,
      'Pause after a successful dial': `${topology.REDIAL_MS / 1000} s`,
    });
  });

  test('the tables of retrieval and pushsync', () => {
    const loop = (number: string) =>
      Object.fromEntries(
        rows(section(PAGE, number), 'Parameter', 'Origin').map(([what, ...values]) => [what, values]),
      );
    const skipped = 'A peer that failed is skipped for this chunk';
    expect(loop('4.8')).toMatchObject({
      ...loopOf(retrievalRules),
      [skipped]: twice(`${retrievalRules.FAILED_SKIP_MS / 60_000} min`),
      "Parallel requests once the chunk's neighbourhood is reached": twice(`${retrievalRules.MULTIPLEX}`),
    });
    expect(loop('4.9')).toMatchObject({
      'Failures tolerated': loopOf(pushRules)['Failures tolerated'],
      'One more peer while waiting': loopOf(pushRules)['One more peer asked while waiting'],
      'One attempt': twice(`${pushRules.ATTEMPT_TIMEOUT_MS / 1000} s`),
      [skipped]: twice(`${pushRules.FAILED_SKIP_MS / 60_000} min`),
      'Parallel pushes once the neighbourhood is reached': twice(`${pushRules.MULTIPLEX} more`),
      'They wait for a receipt when the node keeps the chunk itself': [
        `${pushRules.MULTIPLEX_KEPT_MS / 1000} s`,
        'never',
      ],
    });
  });

  test('frames, underlays, gossip and pages', () => {
    expect(section(PAGE, '2.1')).toContain(`${figure(MESSAGE_SIZE_MAX)} bytes`);
    expect(section(PAGE, '3.2')).toContain(
      `At most ${UNDERLAYS_MAX} addresses and ${figure(UNDERLAY_BYTES_MAX)} bytes`,
    );
    const gossip = Object.fromEntries(rows(section(PAGE, '4.2'), 'Rule', 'Value'));
    expect(gossip['Records per message']).toBe(`${hive.BATCH_MAX}`);
    expect(gossip['Budget per peer and direction']).toMatch(`${BUDGET_RECORDS} records`);
    expect(section(PAGE, '4.10')).toContain(`at most ${pullRules.PAGE_SIZE} entries`);
    expect(section(PAGE, '4.10')).toContain(`${pullRules.SERVING.perSecond} chunks per second`);
  });
});

/** The first two rows of a table of attempts. */
function loopOf({ ORIGIN, FORWARDER }: typeof pushRules | typeof retrievalRules) {
  return {
    'Failures tolerated': [`${ORIGIN.errorsMax}`, `${FORWARDER.errorsMax}`],
    'One more peer asked while waiting': [`every ${ORIGIN.preemptiveMs / 1000} s`, 'never'],
  };
}

function twice(text: string): string[] {
  return [text, text];
}

function defaultOf(name: OptionName): number {
  return Number(OPTIONS[name].default);
}

function figure(value: number): string {
  return value.toLocaleString('en-US');
}

/** Without what is said about the type. */
function typeOf(cell: string): string {
  return cell.startsWith('map<') ? 'map' : (/^[\w ]+/.exec(cell)?.[0] ?? '');
}

function nameOf(kind: FieldKind): string {
  if (typeof kind === 'string') return kind;
  if (isRepeated(kind)) return `repeated ${nameOf(kind[1])}`;
  return NAMES.get(kind) ?? 'a message without a section';
}

function isRepeated(kind: Exclude<FieldKind, string>): kind is Extract<FieldKind, readonly unknown[]> {
  return Array.isArray(kind);
}
