import { randomBytes } from 'node:crypto';
import { makeCac } from '../../../formats/chunk/cac.ts';
import { decodeStamp } from '../../../formats/chunk/stamp.ts';
import { systemClock } from '../../../formats/clock.ts';
import { equalBytes } from '../../../formats/crypto/hex.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import { createStamping, type Funds } from '../../../harness/conformance/wire/funds.ts';
import type { WireOptions } from '../../../harness/conformance/wire/subject.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import { createMetrics } from '../../../node/env/metrics.ts';
import { createAddressBook } from '../../../node/p2p/address/address-book.ts';
import { ownIdentity } from '../../../node/p2p/address/identity-key.ts';
import { mintRecord } from '../../../node/p2p/address/record.ts';
import { withoutPeerId } from '../../../node/p2p/address/underlay.ts';
import { decodeMessage, encodeMessage } from '../../../node/p2p/codec/codec.ts';
import type { MessageOf, MessageTable } from '../../../node/p2p/codec/message.ts';
import { Ack, HANDSHAKE_DIALECTS, SynAck } from '../../../node/p2p/handshake/wire.ts';
import type { AddressRecord } from '../../../node/p2p/host.ts';
import { createSecure } from '../../../node/p2p/libp2p/channel.ts';
import { Libp2pTransport } from '../../../node/p2p/libp2p/transport.ts';
import { createPeerHost } from '../../../node/p2p/peer-host.ts';
import { HeadersMessage } from '../../../node/p2p/stream/headers.ts';
import { createTcp } from '../../../node/p2p/tcp-host.ts';
import { PostageError } from '../../../node/postage/ports.ts';
import { validateStamp } from '../../../node/postage/validation.ts';
import { encodeAmount } from '../../../node/protocols/amounts.ts';
import { HIVE, Peers } from '../../../node/protocols/hive/wire.ts';
import { PINGPONG, Pong } from '../../../node/protocols/pingpong/wire.ts';
import { AnnouncePaymentThreshold, PRICING } from '../../../node/protocols/pricing/wire.ts';
import { PaymentAck, PSEUDOSETTLE } from '../../../node/protocols/pseudosettle/wire.ts';
import {
  CURSORS,
  Ack as Cursors,
  Offer,
  PULLSYNC,
  PULLSYNC_2,
  Delivery as Pulled,
  SummedOffer,
} from '../../../node/protocols/pullsync/wire.ts';
import { PUSHSYNC, Receipt } from '../../../node/protocols/pushsync/wire.ts';
import { Delivery, RETRIEVAL } from '../../../node/protocols/retrieval/wire.ts';
import { Snapshot, STATUS } from '../../../node/protocols/status/wire.ts';
import { EmitCheque, EXCHANGE_HEADER, SWAP } from '../../../node/protocols/swap/wire.ts';
import { decodeCheque } from '../../../node/swap/cheque.ts';
import { memoryRecords, NETWORK_ID, testKey, ZERO_NONCE } from '../../unit/p2p/memory-nodes.ts';
import { protocolSet } from '../../unit/protocols/protocol-set.ts';
import { SNAPSHOT } from '../../unit/protocols/target-node.ts';
import { type Alteration, altered, type Habits } from './altered-transport.ts';

const EXCHANGE = 10_000n;
const BATCH = {
  id: new Uint8Array(32).fill(0xba),
  value: 1n,
  start: 1,
  bucketDepth: 16,
  depth: 17,
  immutable: false,
};

export interface Wrong extends Habits {
  readonly alterations?: readonly Alteration[];
  readonly anyStamp?: boolean;
  readonly anyCheque?: boolean;
  readonly key?: Uint8Array;
  readonly otherKey?: boolean;
}

/** Rows of the level `money` spend from it. The peers of this file know its batch, and not its cheques. */
function pretendedFunds(): Funds {
  const signer = createSigner(testKey(77));
  return {
    signer,
    chainId: async () => 1n,
    stamping: async () => createStamping({ signer, clock: systemClock() }, BATCH),
    chequebook: async () => ({ chequebook: new Uint8Array(20).fill(5) }),
  };
}

/** @returns how to reach it, and its end */
export async function startPeer(
  wrong: Wrong = {},
): Promise<{ options: WireOptions; stop: () => Promise<void> }> {
  const seed = new Uint8Array(randomBytes(32));
  const identity = ownIdentity(seed);
  const signer = createSigner(wrong.key ?? new Uint8Array(randomBytes(32)));
  const [clock, log, metrics] = [systemClock(), silentLogger(), createMetrics({ prefix: 'svc' })];
  const shown = wrong.otherKey === true ? ownIdentity(new Uint8Array(randomBytes(32))) : identity;
  const transport = new Libp2pTransport(
    {
      localId: identity.peerId,
      publicKey: shown.publicKey,
      agentVersion: 'wrong-peer/1.0.0 node/24',
      listen: [{ address: '/ip4/127.0.0.1/tcp/0' }],
    },
    {
      tcp: createTcp(),
      secure: createSecure(identity),
      stranger: () => ({ publicKey: identity.publicKey, secure: createSecure(identity) }),
      clock,
      log,
      defer: (flush) => void setImmediate(flush),
    },
  );
  const addressBook = createAddressBook(memoryRecords());
  const host = createPeerHost(
    { networkId: NETWORK_ID, nonce: ZERO_NONCE, fullNode: true, allowPrivateCidrs: true, welcomeMessage: '' },
    {
      transport: altered(transport, wrong.alterations ?? [], wrong),
      signer,
      addressBook,
      state: memoryRecords(),
      clock,
      log,
      metrics,
    },
  );
  const owner = createSigner(testKey(77)).address;
  const { store } = await protocolSet(
    {
      networkId: NETWORK_ID,
      radius: 0,
      snapshot: () => ({ ...SNAPSHOT, storageRadius: 0, committedDepth: 0 }),
      bySum: true,
    },
    {
      host,
      addressBook,
      signer,
      clock,
      log,
      metrics,
      postage: {
        validate({ address }, stamp) {
          if (wrong.anyStamp === true) return;
          if (!equalBytes(stamp.batchId, BATCH.id)) throw new PostageError('STAMP_INVALID', 'no such batch');
          validateStamp(address, stamp, { ...BATCH, owner });
        },
      },
    },
  );
  host.handle(
    SWAP_SPEC,
    async (stream) => {
      const cheque = (await stream.read(EmitCheque)).cheque;
      if (wrong.anyCheque !== true)
        throw new Error(`nobody pays here, not even ${decodeCheque(cheque).cumulativePayout}`);
    },
    () => new Map([[EXCHANGE_HEADER, encodeAmount(EXCHANGE)]]),
  );
  await host.start();
  const stamps = await pretendedFunds().stamping();
  for (let n = 0; n < 6; n++) {
    const chunk = makeCac(8n, new TextEncoder().encode(`chunk ${n}`));
    const bytes = stamps.stamp(chunk.address);
    await store.reserve.put(chunk, decodeStamp(bytes));
  }
  const [underlay = ''] = host.underlays();
  const address = withoutPeerId(underlay);
  return {
    options: {
      address,
      peerId: identity.peerId,
      networkId: NETWORK_ID,
      hostile: false,
      funds: pretendedFunds(),
    },
    async stop() {
      await host.stop();
      await store.close();
    },
  };
}

const SWAP_SPEC = { id: SWAP.id, inboundStreamsMax: 2 } as const;

/** The headers are number 0. */
function says<T extends MessageTable>(
  protocolId: string,
  table: T,
  change: (message: MessageOf<T>) => Partial<MessageOf<T>>,
  number = 1,
): Alteration {
  return {
    protocolId,
    sent: (body, n) => {
      if (n !== number) return body;
      const message = decodeMessage(table, body);
      return encodeMessage(table, { ...message, ...change(message) });
    },
  };
}

const inBothHandshakes = (alteration: (id: string) => Alteration) =>
  HANDSHAKE_DIALECTS.map(({ id }) => alteration(id));

/** The rows that have to say so, no others. */
export const WRONG_PEERS: readonly {
  readonly name: string;
  readonly wrong: Wrong;
  readonly red: readonly string[];
}[] = [
  {
    name: 'answers greetings without braces',
    wrong: {
      alterations: [says(PINGPONG.id, Pong, ({ response }) => ({ response: response.slice(1, -1) }))],
    },
    red: ['pingpong rounds'],
  },
  {
    name: 'sends headers that a protocol does not have',
    wrong: {
      alterations: [
        says(PINGPONG.id, HeadersMessage, () => ({ headers: [{ key: 'a', value: Uint8Array.of(1) }] }), 0),
      ],
    },
    red: ['headers first'],
  },
  {
    name: 'says that it is a light node after a handshake as a full one',
    wrong: { alterations: [says(STATUS.id, Snapshot, () => ({ beeMode: 'light' }))] },
    red: ['status'],
  },
  {
    name: 'lends too little',
    wrong: {
      alterations: [
        says(PRICING.id, AnnouncePaymentThreshold, () => ({ paymentThreshold: encodeAmount(500_000n) })),
      ],
    },
    red: ['pricing for a light node', 'pricing for a full node'],
  },
  {
    name: 'is in another network',
    wrong: {
      alterations: inBothHandshakes((id) => ({
        protocolId: id,
        sent: alteredSynAck((ack) => ({ ...ack, networkId: ack.networkId + 7n })),
      })),
    },
    red: ['15 SynAck', '14 SynAck'],
  },
  {
    name: 'shows a record that nobody has signed',
    wrong: {
      alterations: [
        {
          protocolId: HANDSHAKE_DIALECTS[0].id,
          sent: alteredSynAck((ack) => ({
            ...ack,
            address: { ...(ack.address as AddressRecord), signature: new Uint8Array(65).fill(27) },
          })),
        },
      ],
    },
    red: ['15 SynAck'],
  },
  {
    name: 'signs a record anew for every peer',
    wrong: {
      alterations: [{ protocolId: HANDSHAKE_DIALECTS[0].id, sent: resigned(testKey(78)) }],
      key: testKey(78),
    },
    red: ['15 same record'],
  },
  {
    name: 'takes peers of every network',
    wrong: {
      alterations: inBothHandshakes((id) => ({
        protocolId: id,
        received: (body, n) =>
          n === 1 ? encodeMessage(Ack, { ...decodeMessage(Ack, body), networkId: NETWORK_ID }) : body,
      })),
    },
    red: ['15 another network', '14 another network'],
  },
  {
    name: 'ends all connections of a peer with one of them',
    wrong: { oneForAll: true },
    red: ['15', '14'].flatMap((version) => [
      `${version} second connection`,
      `${version} failed second handshake`,
    ]),
  },
  {
    name: 'identifies itself with the key of another node',
    wrong: { otherKey: true },
    red: ['identify'],
  },
  {
    name: 'agrees to protocols that it does not speak',
    wrong: { agrees: (id) => !id.startsWith('/swarm/handshake') },
    red: [
      'multistream na',
      'version retrieval/1.99.0/retrieval',
      'version retrieval/2.0.0/retrieval',
      'version retrieval/1.4.0/other',
      'version nothing/1.0.0/nothing',
    ],
  },
  {
    name: 'takes any number of records',
    wrong: {
      alterations: Object.values(HIVE).map(({ id }) => ({
        protocolId: id,
        received: (body, n) => (n === 1 ? encodeMessage(Peers, { peers: [] }) : body),
      })),
    },
    red: ['hive 2.0.0 too many', 'hive 2.0.0 budget', 'hive 1.1.0 too many', 'hive 1.1.0 budget'],
  },
  {
    name: 'delivers other data than was asked for',
    wrong: {
      alterations: [
        says(RETRIEVAL.id, Delivery, ({ data }) =>
          data.length === 0 ? {} : { data: new Uint8Array([...data, 1]) },
        ),
      ],
    },
    red: ['retrieval of a held chunk', 'pushsync receipt'],
  },
  {
    name: 'finds nothing and does not say so',
    wrong: { alterations: [says(RETRIEVAL.id, Delivery, () => ({ err: '' }))] },
    red: [
      'retrieval short address',
      'retrieval no address',
      'retrieval zero address',
      'retrieval of nothing',
    ],
  },
  {
    name: 'has 31 bins',
    wrong: { alterations: [says(CURSORS.id, Cursors, ({ cursors }) => ({ cursors: cursors.slice(0, 31) }))] },
    red: ['cursors'],
  },
  {
    name: 'has another epoch each time',
    wrong: {
      alterations: [
        says(CURSORS.id, Cursors, ({ epoch }) => ({ epoch: epoch - BigInt(Date.now() % 100_000) - count() })),
      ],
    },
    red: ['cursors epoch', 'light peer'],
  },
  {
    name: 'offers batches that are none',
    wrong: {
      alterations: [
        says(PULLSYNC.id, Offer, ({ chunks }) => ({
          chunks: chunks.map((chunk) => ({ ...chunk, batchId: chunk.batchId.subarray(1) })),
        })),
      ],
    },
    red: ['offer'],
  },
  {
    name: 'offers sums of other chunks',
    wrong: {
      alterations: [
        says(PULLSYNC_2.id, SummedOffer, ({ chunks }) => ({
          chunks: chunks.map(({ address, sum }) => ({ address, sum: sum.toReversed() })),
        })),
      ],
    },
    red: ['sums'],
  },
  {
    name: 'delivers under another stamp than it has offered',
    wrong: {
      alterations: [
        says(
          PULLSYNC.id,
          Pulled,
          ({ stamp }) => ({ stamp: stamp.map((byte, n) => (n === 40 ? byte ^ 1 : byte)) }),
          2,
        ),
      ],
    },
    red: ['deliveries'],
  },
  {
    name: 'has a clock that is ten seconds ahead',
    wrong: {
      alterations: [says(PSEUDOSETTLE.id, PaymentAck, ({ timestamp }) => ({ timestamp: timestamp + 10n }))],
    },
    red: ['pseudosettle without debt', 'pseudosettle of a debt'],
  },
  {
    name: 'accepts more than it is owed',
    wrong: {
      alterations: [says(PSEUDOSETTLE.id, PaymentAck, () => ({ amount: encodeAmount(1_000_000n) }))],
    },
    red: ['pseudosettle without debt', 'pseudosettle of a debt'],
  },
  {
    name: 'says nothing of its rates',
    wrong: { alterations: [says(SWAP.id, HeadersMessage, () => ({ headers: [] }), 0)] },
    red: ['swap rates'],
  },
  {
    name: 'takes anything for a cheque',
    wrong: { anyCheque: true },
    red: [
      'swap no cheque',
      'swap no JSON',
      'swap other JSON',
      'swap payout in quotes',
      'swap cheque for another beneficiary',
      'swap cheque of no chequebook',
      'swap cheque signed by somebody else',
      'swap cheque that is not covered',
    ],
  },
  {
    name: 'takes any stamp',
    wrong: { anyStamp: true },
    red: [
      'pushsync unknown batch',
      'pushsync another bucket',
      'pushsync index too large',
      'pushsync another owner',
    ],
  },
  {
    name: 'signs receipts for other chunks',
    wrong: {
      alterations: [
        says(PUSHSYNC.id, Receipt, ({ err, nonce }) =>
          err === '' ? { nonce: nonce.map((byte) => byte ^ 1) } : {},
        ),
      ],
    },
    red: ['pushsync receipt', 'pushsync again'],
  },
];

export const NOT_PAID_FOR: readonly string[] = ['swap cheque'];

function alteredSynAck(change: (ack: MessageOf<typeof Ack>) => MessageOf<typeof Ack>) {
  return (body: Uint8Array, n: number): Uint8Array => {
    if (n !== 0) return body;
    const { syn, ack } = decodeMessage(SynAck, body);
    return encodeMessage(SynAck, { syn, ack: ack === undefined ? undefined : change(ack) });
  };
}

function resigned(key: Uint8Array) {
  const signer = createSigner(key);
  let timestamp = BigInt(Math.floor(Date.now() / 1000)) - 1_000n;
  return alteredSynAck((ack) => {
    timestamp += 1n;
    const { underlay, nonce, chequebook } = ack.address as AddressRecord;
    const address = mintRecord({ underlay, nonce, chequebook, timestamp }, { signer, networkId: NETWORK_ID });
    return { ...ack, address };
  });
}

let counted = 0n;
function count(): bigint {
  counted += 1n;
  return counted;
}
