/** Both versions: `p2p-protocols.md` 3 and 4.1. */
import { randomBytes } from 'node:crypto';
import { equalBytes, toHex } from '../../../../formats/crypto/hex.ts';
import { equalRecords, parseRecord, RecordError } from '../../../../node/p2p/address/record.ts';
import {
  decodeUnderlays,
  peerIdOf,
  UnderlayError,
  withPeerId,
} from '../../../../node/p2p/address/underlay.ts';
import type { MessageOf } from '../../../../node/p2p/codec/message.ts';
import { HANDSHAKE_TIMEOUT_MS } from '../../../../node/p2p/handshake/handshake.ts';
import { Ack, Syn, type SynAck, WELCOME_BYTES_MAX } from '../../../../node/p2p/handshake/wire.ts';
import type { AddressRecord, Generation } from '../../../../node/p2p/host.ts';
import { Mismatch, must, NotApplicable } from '../../row.ts';
import { ANSWER_MS } from '../conversation.ts';
import { type Counterpart, handshakeId } from '../counterpart.ts';
import { type Desk, table, type WireEntry } from '../subject.ts';
import { mustServe } from './peers.ts';

/** Between two machines. */
const CLOCKS_DIFFER_SECONDS = 60n;

interface Lie {
  readonly id: string;
  readonly about: string;
  /** Of one version. */
  readonly generation?: Generation;
  readonly mayEndIt?: true;
  readonly ack: (
    honest: MessageOf<typeof Ack>,
    peer: Counterpart,
    generation: Generation,
  ) => MessageOf<typeof Ack>;
}

const LIES: readonly Lie[] = [
  {
    id: 'another network',
    about: 'a network id that is not its own',
    ack: (honest) => ({ ...honest, networkId: honest.networkId + 1n }),
  },
  {
    id: 'no address',
    about: 'no record at all',
    mayEndIt: true,
    ack: (honest) => ({ ...honest, address: undefined }),
  },
  {
    id: 'forged signature',
    about: 'a record that somebody else has signed',
    ack: (honest) => withAddress(honest, { signature: flipped(addressOf(honest).signature, 5) }),
  },
  {
    id: 'another overlay',
    about: 'an overlay that does not follow from signer, network and nonce',
    ack: (honest) => withAddress(honest, { overlay: new Uint8Array(randomBytes(32)) }),
  },
  {
    id: 'no underlay',
    about: 'a record without any address',
    ack: (honest) => withAddress(honest, { underlay: new Uint8Array(0) }),
  },
  {
    id: 'underlay of another record',
    about: 'addresses that the signature does not cover',
    ack: (honest) => withAddress(honest, { underlay: flipped(addressOf(honest).underlay, 2) }),
  },
  {
    id: 'short nonce',
    about: 'a nonce of 31 bytes',
    ack: (honest, _peer, generation) =>
      generation === '15.0.0'
        ? withAddress(honest, { nonce: addressOf(honest).nonce.subarray(1) })
        : { ...honest, nonce: honest.nonce.subarray(1) },
  },
  {
    id: 'no time',
    generation: '15.0.0',
    about: 'a record of time 0',
    ack: (honest) => withAddress(honest, { timestamp: 0n }),
  },
  {
    id: 'from the future',
    generation: '15.0.0',
    about: 'a record that is from more than a minute ahead',
    ack: (_honest, peer, generation) => peer.ack(generation, peer.record(generation, peer.now + 300n)),
  },
  {
    id: 'chequebook of 19 bytes',
    generation: '15.0.0',
    about: 'a chequebook that is no address',
    ack: (honest) => withAddress(honest, { chequebook: new Uint8Array(19) }),
  },
  {
    id: 'too many underlays',
    generation: '15.0.0',
    about: 'a record of more than 20 addresses',
    ack: (_honest, peer, generation) => {
      const many = Array.from({ length: 21 }, (_, n) =>
        withPeerId(`/ip4/10.1.1.${n + 1}/tcp/1634`, peer.identity.peerId),
      );
      return peer.ack(generation, peer.recordAt(many, generation, peer.now));
    },
  },
];

export const HANDSHAKE_ROWS = table({ group: 'handshake', level: 'read' }, [
  {
    id: 'introduction',
    about: 'takes a light node as its peer: the handshake ends without a reset, and its streams are served',
    async check(desk) {
      // Not `desk.friend`: this row tests what that needs.
      const friend = await desk.memory.friend(desk.log);
      must(!friend.isClosed, 'the node closed the connection after the handshake');
    },
  },
  ...rowsOf('15.0.0'),
  ...rowsOf('14.0.0'),
  {
    id: 'silence',
    background: 'silent handshake',
    limitMs: HANDSHAKE_TIMEOUT_MS + 2 * ANSWER_MS,
    about: `gives up on a handshake in which nothing is said for ${HANDSHAKE_TIMEOUT_MS / 1000} s`,
    check: (desk) => desk.waited('silent handshake'),
  },
]);

export async function silentHandshake(desk: Desk): Promise<void> {
  const stranger = await desk.stranger();
  const [generation] = await desk.memory.generations();
  if (generation === undefined) throw new NotApplicable('the node speaks no handshake');
  const conversation = await stranger.open(handshakeId(generation));
  await conversation.expectGivenUp(HANDSHAKE_TIMEOUT_MS + ANSWER_MS);
}

function rowsOf(generation: Generation): readonly WireEntry[] {
  const [version] = generation.split('.');
  const only = (check: (desk: Desk) => Promise<void>) => async (desk: Desk) => {
    await desk.requireGeneration(generation);
    await check(desk);
  };
  return [
    {
      id: `${version} SynAck`,
      about: 'answers with where it sees the peer and with a signed record of itself',
      check: only(async (desk) => {
        const stranger = await desk.stranger();
        const { answer } = await stranger.greet(generation);
        checkSynAck(answer, { generation, peer: stranger, desk });
      }),
    },
    {
      id: `${version} same record`,
      about:
        'shows the same record to a second peer: others would have to write and announce a new one each time',
      check: only(async (desk) => {
        const [first, second] = [await greeted(desk, generation), await greeted(desk, generation)];
        if (!equalBytes(first.underlay, second.underlay))
          throw new NotApplicable('the node shows other addresses to the second peer');
        must(equalRecords(first, second), 'signed anew for the same addresses');
      }),
    },
    {
      id: `${version} full node`,
      level: 'write',
      about: 'takes a full node as its peer',
      check: only(async (desk) => {
        const peer = await desk.memory.introduced(desk.log, { generation, fullNode: true });
        desk.keep(peer);
        must(!(await peer.endsWithin(200)), 'the node closed the connection after the handshake');
      }),
    },
    {
      id: `${version} second handshake`,
      about: 'completes a second handshake on a connection without a word',
      check: only(async (desk) => {
        const peer = await desk.fresh({ generation });
        await peer.introduce(generation);
        must(!(await peer.endsWithin(200)), 'the node closed the connection');
      }),
    },
    {
      id: `${version} second connection`,
      about: 'serves a peer on a second connection too, whose end leaves the first one alone',
      check: only(async (desk) => {
        const first = await desk.fresh({ generation });
        const second = await desk.stranger(first.self);
        await second.introduce(generation);
        await mustServe(second);
        must(!first.isClosed, 'the node closed the first connection for the second');
        await second.leave();
        await mustStay(first);
      }),
    },
    {
      id: `${version} failed second handshake`,
      about: 'ends the second connection of a peer when the handshake on it fails, and the first one goes on',
      check: only(async (desk) => {
        const first = await desk.fresh({ generation });
        const second = await desk.stranger(first.self);
        const { conversation } = await second.greet(generation);
        const honest = second.ack(generation);
        const { signature } = addressOf(honest);
        conversation.send(Ack, withAddress(honest, { signature: flipped(signature, 5) }), 'Ack');
        conversation.end();
        await second.mustEnd('a failed handshake: ');
        await mustStay(first);
      }),
    },
    {
      id: `${version} wrong Syn`,
      about: 'refuses a Syn whose addresses are none',
      check: only(async (desk) => {
        for (const observedUnderlay of [new Uint8Array(0), Uint8Array.of(0xff, 0xff)]) {
          const stranger = await desk.stranger();
          const conversation = await stranger.open(handshakeId(generation));
          conversation.send(Syn, { observedUnderlay }, 'Syn');
          await conversation.expectRefusal(`observedUnderlay ${toHex(observedUnderlay) || 'empty'}`);
        }
      }),
    },
    ...LIES.filter((lie) => (lie.generation ?? generation) === generation).map(
      (lie): WireEntry => ({
        id: `${version} ${lie.id}`,
        mayEndIt: lie.mayEndIt,
        about: `ends the connection of a peer that introduces itself with ${lie.about}`,
        check: only(async (desk) => {
          const stranger = await desk.stranger();
          const { conversation } = await stranger.greet(generation);
          conversation.send(Ack, lie.ack(stranger.ack(generation), stranger, generation), 'Ack');
          conversation.end();
          await stranger.mustEnd();
          await desk.memory.mustBeThere();
        }),
      }),
    ),
  ];
}

/** By then the effects of the node's other connections would have come. */
async function mustStay(peer: Counterpart): Promise<void> {
  must(!(await peer.endsWithin(200)), 'the node closed the first connection');
  await mustServe(peer);
}

async function greeted(desk: Desk, generation: Generation): Promise<AddressRecord> {
  const { answer } = await (await desk.stranger()).greet(generation);
  const { address, nonce } = answer.ack ?? {};
  must(address !== undefined, 'Ack.Address: missing');
  return generation === '15.0.0' ? address : { ...address, nonce: nonce ?? address.nonce };
}

function checkSynAck(
  { syn, ack }: MessageOf<typeof SynAck>,
  { generation, peer, desk }: { generation: Generation; peer: Counterpart; desk: Desk },
): void {
  const { networkId, peerId } = desk.options;
  must(syn !== undefined && ack !== undefined, 'SynAck without Syn or Ack');
  for (const underlay of underlaysOf('Syn.ObservedUnderlay', syn.observedUnderlay)) {
    must(
      peerIdOf(underlay) === peer.identity.peerId,
      `Syn.ObservedUnderlay: ${underlay} is not ours, ${peer.identity.peerId}`,
    );
  }
  must(ack.networkId === networkId, `Ack.NetworkID: ${ack.networkId}, expected ${networkId}`);
  must(
    Buffer.byteLength(ack.welcomeMessage) <= WELCOME_BYTES_MAX,
    'Ack.WelcomeMessage: longer than 140 bytes',
  );
  must(ack.address !== undefined, 'Ack.Address: missing');
  const wire = generation === '15.0.0' ? ack.address : { ...ack.address, nonce: ack.nonce };
  try {
    parseRecord(wire, networkId, { generation });
  } catch (error) {
    if (!(error instanceof RecordError)) throw error;
    throw new Mismatch(`Ack.Address: ${error.message}`);
  }
  for (const underlay of underlaysOf('Ack.Address.Underlay', wire.underlay)) {
    must(
      peerIdOf(underlay) === peerId,
      `Ack.Address.Underlay: ${underlay} does not end in its identity, ${peerId}`,
    );
  }
  if (generation === '14.0.0') return;
  must(
    wire.timestamp <= peer.now + CLOCKS_DIFFER_SECONDS,
    `Ack.Address.Timestamp: ${wire.timestamp} is more than a minute ahead`,
  );
  must(
    wire.chequebook.length === 20,
    `Ack.Address.ChequebookAddress: ${wire.chequebook.length} bytes, expected 20`,
  );
}

function underlaysOf(field: string, bytes: Uint8Array): string[] {
  try {
    return decodeUnderlays(bytes);
  } catch (error) {
    if (!(error instanceof UnderlayError)) throw error;
    throw new Mismatch(`${field}: ${error.message}`);
  }
}

function addressOf({ address }: MessageOf<typeof Ack>): AddressRecord {
  if (address === undefined) throw new Error('an honest Ack has an address');
  return address;
}

function withAddress(ack: MessageOf<typeof Ack>, change: Partial<AddressRecord>): MessageOf<typeof Ack> {
  return { ...ack, address: { ...addressOf(ack), ...change } };
}

function flipped(bytes: Uint8Array, at: number): Uint8Array {
  const copy = new Uint8Array(bytes);
  copy[at] = (copy[at] ?? 0) ^ 1;
  return copy;
}
