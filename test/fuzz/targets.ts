/**
 * Every parser that reads bytes of others, and inputs to begin with. A target returns anything, or throws an error of the
 * project; what it returns is used a little, so that laziness hides nothing.
 */
import { parse } from 'yaml';
import { makeCac } from '../../formats/chunk/cac.ts';
import { parseSoc, socParts } from '../../formats/chunk/soc.ts';
import { decodeStamp, encodeStamp, stampHash } from '../../formats/chunk/stamp.ts';
import { decryptKey, encryptKey } from '../../formats/crypto/keystore.ts';
import { decodeAnswer } from '../../formats/ethereum/json-rpc.ts';
import { HarnessError } from '../../harness/base/errors.ts';
import { parseDefinition } from '../../harness/cluster/plan/definition.ts';
import { decodeGrantees } from '../../node/act/grantees.ts';
import { givenRecords } from '../../node/compose/given-records.ts';
import { multipartEntries } from '../../node/files/collection/multipart.ts';
import { tarEntries } from '../../node/files/collection/tar.ts';
import { decodeReference } from '../../node/files/tree.ts';
import { decodeNode, encodeNode } from '../../node/manifest/codec.ts';
import { identityKeyOf, ownIdentity } from '../../node/p2p/address/identity-key.ts';
import { decodeMultiaddress, encodeMultiaddress } from '../../node/p2p/address/multiaddress.ts';
import { BzzAddress, parseRecord } from '../../node/p2p/address/record.ts';
import { decodeUnderlays, encodeUnderlays } from '../../node/p2p/address/underlay.ts';
import { decodeMessage, encodeMessage } from '../../node/p2p/codec/codec.ts';
import type { MessageTable } from '../../node/p2p/codec/message.ts';
import { Ack, Syn, SynAck } from '../../node/p2p/handshake/wire.ts';
import { acceptProtocol, proposalOf, proposeInTurn } from '../../node/p2p/libp2p/multistream.ts';
import { YamuxSession } from '../../node/p2p/libp2p/yamux.ts';
import { generateDhKey } from '../../node/p2p/noise/noise.ts';
import {
  type NoiseIdentity,
  noiseIdentity,
  noiseInbound,
  noiseOutbound,
  StaticKeyProofs,
} from '../../node/p2p/noise/noise-stream.ts';
import { FrameReader } from '../../node/p2p/stream/framing.ts';
import { HeadersMessage, headersOf } from '../../node/p2p/stream/headers.ts';
import type { RawStream } from '../../node/p2p/transport.ts';
import type { Platform } from '../../node/platform/platform.ts';
import { Peers } from '../../node/protocols/hive/wire.ts';
import { AnnouncePaymentThreshold } from '../../node/protocols/pricing/wire.ts';
import { Payment, PaymentAck } from '../../node/protocols/pseudosettle/wire.ts';
import * as pullsync from '../../node/protocols/pullsync/wire.ts';
import * as pushsync from '../../node/protocols/pushsync/wire.ts';
import * as retrieval from '../../node/protocols/retrieval/wire.ts';
import { Snapshot } from '../../node/protocols/status/wire.ts';
import { EmitCheque } from '../../node/protocols/swap/wire.ts';
import { open } from '../../node/pss/trojan.ts';
import { decodeCheque, encodeCheque } from '../../node/swap/cheque.ts';
import type { Target } from './fuzzer.ts';

export interface FuzzTarget {
  readonly run: Target;
  /** Good ones, and nearly good ones. */
  readonly seeds: () => readonly Uint8Array[];
}

const BOUNDARY = 'b';
const PROTOCOLS = ['/swarm/pingpong/1.0.0/pingpong', '/ipfs/id/1.0.0'];
/** A source delivers them one by one. */
const PIECE_SIZE = 100;
const never = new AbortController().signal;

/** All messages of the wire. */
const MESSAGES: readonly MessageTable[] = [
  Syn,
  Ack,
  SynAck,
  BzzAddress,
  HeadersMessage,
  Peers,
  AnnouncePaymentThreshold,
  Payment,
  PaymentAck,
  Snapshot,
  EmitCheque,
  ...[pullsync, pushsync, retrieval].flatMap((wire) => Object.values(wire).filter(isTable)),
];

export const TARGETS = {
  /** The first byte chooses the table. */
  protobuf: {
    run([choice = 0, ...bytes]) {
      const table = MESSAGES[choice % MESSAGES.length] as MessageTable;
      const message = decodeMessage(table, Uint8Array.from(bytes));
      if (table === HeadersMessage) headersOf(message as never);
      return encodeMessage(table, message);
    },
    seeds: () =>
      MESSAGES.map((table, index) =>
        Uint8Array.from([index, ...encodeMessage(table, decodeMessage(table, new Uint8Array()))]),
      ),
  },
  frames: {
    run(input) {
      const frames = new FrameReader();
      for (let at = 0; at < input.length; at += PIECE_SIZE) {
        frames.push(input.slice(at, at + PIECE_SIZE));
        while (frames.next() !== undefined);
      }
    },
    seeds: () => [bytesOf('\x03abc\x00\x81\x01'), Uint8Array.of(0x80, 0x80, 0x80, 0x80, 0x80, 0x01)],
  },
  'noise-dialled': {
    run: (input) => noiseOutbound(streamOf(input), identity(), undefined),
    seeds: () => [Uint8Array.from({ length: 162 }, (_, index) => (index < 2 ? [0, 160][index]! : index))],
  },
  'noise-accepted': {
    run: (input) => noiseInbound(streamOf(input), identity()),
    seeds: () => [
      Uint8Array.from({ length: 34 + 162 }, (_, index) =>
        index === 1 ? 32 : index === 35 ? 160 : index === 34 ? 0 : index,
      ),
    ],
  },
  yamux: {
    run(input) {
      const session: YamuxSession = new YamuxSession(
        { client: false },
        {
          send: () => true,
          defer: (flush) => flush(),
          accepted(stream) {
            stream.take();
            stream.write(Uint8Array.of(1));
          },
          broken: (error) => session.end(error),
        },
      );
      for (let at = 0; at < input.length; at += PIECE_SIZE) session.receive(input.slice(at, at + PIECE_SIZE));
      session.end(new Error('over'));
    },
    seeds: () => [
      Uint8Array.of(0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 7, 7, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 0),
      Uint8Array.of(0, 2, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9, 0, 1, 0, 1, 0, 0, 0, 3, 0, 4, 0, 0),
      Uint8Array.of(0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    ],
  },
  'multistream-accepted': {
    run: (input) => acceptProtocol(streamOf(input), (id) => PROTOCOLS.includes(id), { signal: never }),
    seeds: () => [proposalOf('/nobody/1.0.0'), ...PROTOCOLS.map((id) => proposalOf(id))],
  },
  'multistream-proposed': {
    run: (input) => proposeInTurn(streamOf(input), PROTOCOLS),
    seeds: () => [...PROTOCOLS.map((id) => proposalOf(id)), bytesOf('\x13/multistream/1.0.0\n\x03na\n')],
  },
  tar: {
    run: (input) => readAll(tarEntries(piecesOf(input))),
    seeds: () => [tarOf('index.html', 'hello'), tarOf('a/b.txt', '')],
  },
  multipart: {
    run: (input) => readAll(multipartEntries(piecesOf(input), `multipart/form-data; boundary=${BOUNDARY}`)),
    seeds: () => [
      bytesOf(
        `--${BOUNDARY}\r\nContent-Disposition: form-data; name="a"; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\nhi\r\n--${BOUNDARY}--\r\n`,
      ),
    ],
  },
  manifest: {
    run: (input) => encodeNode(decodeNode(input)),
    seeds: () => {
      const node = { obfuscationKey: new Uint8Array(32), referenceSize: 32, entry: new Uint8Array(32) };
      const fork = { prefix: 'index.html', flags: 2, reference: new Uint8Array(32).fill(5) };
      const metadata = { 'Content-Type': 'text/html' };
      return [
        encodeNode({ ...node, forks: [] }),
        encodeNode({
          ...node,
          forks: [
            { ...fork, metadata: undefined },
            { ...fork, prefix: 'z', metadata },
          ],
        }),
      ];
    },
  },
  stamp: {
    run: (input) => stampHash(decodeStamp(input)),
    seeds: () => [
      encodeStamp({
        batchId: new Uint8Array(32),
        index: new Uint8Array(8),
        timestamp: new Uint8Array(8),
        signature: new Uint8Array(65),
      }),
    ],
  },
  soc: {
    run(input) {
      socParts(input);
      return parseSoc(new Uint8Array(32), input);
    },
    seeds: () => [new Uint8Array(32 + 65 + 8 + 10), makeCac(3n, Uint8Array.of(1, 2, 3)).data],
  },
  reference: { run: decodeReference, seeds: () => [new Uint8Array(32), new Uint8Array(64)] },
  grantees: { run: decodeGrantees, seeds: () => [new Uint8Array(65), new Uint8Array(130).fill(4)] },
  trojan: {
    run: (input) => open(padded(input, 8 + 4096), new Uint8Array(32).fill(1), [new Uint8Array(32).fill(2)]),
    seeds: () => [new Uint8Array(100).fill(2)],
  },
  cheque: {
    run: (input) => encodeCheque(decodeCheque(input)),
    seeds: () => [
      encodeCheque({
        chequebook: new Uint8Array(20),
        beneficiary: new Uint8Array(20).fill(1),
        cumulativePayout: 12_345_678_901_234_567_890n,
        signature: new Uint8Array(65),
      }),
    ],
  },
  'chain-answer': {
    run: (input) => decodeAnswer(textOf(input), { id: 1, method: 'eth_call' }),
    seeds: () => [
      bytesOf('{"jsonrpc":"2.0","id":1,"result":"0x"}'),
      bytesOf('{"error":{"code":3,"message":"execution reverted: no","data":"0x08c379a0"}}'),
      bytesOf('{"error":{"code":-32000,"message":"vm exception","data":{"data":"0x4e487b71"}}}'),
    ],
  },
  'key-file': {
    // Its cost decides how long a key takes; the format is tried here.
    run: (input) => decryptKey(cheap(textOf(input)), 'secret'),
    seeds: () => [
      bytesOf(
        encryptKey(new Uint8Array(32).fill(1), {
          password: 'secret',
          scrypt: { n: 2, r: 1, p: 1 },
          random: { bytes: (length: number) => new Uint8Array(length), below: () => 0 },
        } as never),
      ),
    ],
  },
  definition: {
    run(input) {
      let document: unknown;
      try {
        document = parse(textOf(input), { logLevel: 'error' });
      } catch (cause) {
        if (isYamlError(cause)) throw new HarnessError('DEFINITION_INVALID', String(cause), { cause });
        throw cause;
      }
      return parseDefinition(document, 'input');
    },
    seeds: () => [
      bytesOf('nodes: 3\nseed: 7\nchain:\n  blockTime: 1s\n'),
      bytesOf('nodes:\n  - flavour: bee\n    count: 2\n    options: { verbosity: debug }\nports: free\n'),
      bytesOf('{"nodes":[{"mode":"light"},{"mode":"boot"}],"topology":"ring"}'),
    ],
  },
  multiaddress: {
    run: (input) => encodeMultiaddress(decodeMultiaddress(input)),
    seeds: () => [encodeMultiaddress('/ip4/127.0.0.1/tcp/1634'), encodeMultiaddress('/dns4/a.b/tcp/1/ws')],
  },
  underlays: {
    run: (input) => encodeUnderlays(decodeUnderlays(input)),
    seeds: () => [
      encodeUnderlays(['/ip4/1.2.3.4/tcp/1']),
      encodeUnderlays(['/ip4/1.2.3.4/tcp/1', '/ip6/::1/tcp/2']),
    ],
  },
  'identity-key': {
    run: (input) => identityKeyOf(input).verifies(Uint8Array.of(1), new Uint8Array(64)),
    seeds: () => [ownIdentity(new Uint8Array(32).fill(3)).publicKey, Uint8Array.of(8, 3, 18, 1, 0)],
  },
  record: {
    run: (input) => parseRecord(decodeMessage(BzzAddress, input), 1n),
    seeds: () => [encodeMessage(BzzAddress, decodeMessage(BzzAddress, new Uint8Array()))],
  },
  'record-file': {
    run: (input) =>
      givenRecords(
        { 'peer-records': 'input' },
        { platform: { readText: async () => textOf(input) } as unknown as Platform, networkId: 1n },
      ),
    seeds: () => [bytesOf('00ff\n'), bytesOf('# nothing\n\n')],
  },
} as const satisfies Record<string, FuzzTarget>;

export type TargetName = keyof typeof TARGETS;

function isTable(value: unknown): value is MessageTable {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).every((field) => Array.isArray(field) && typeof field[0] === 'number')
  );
}

let own: NoiseIdentity | undefined;
function identity(): NoiseIdentity {
  if (own !== undefined) return own;
  const keys = ownIdentity(new Uint8Array(32).fill(7));
  own = noiseIdentity(keys, generateDhKey(), { muxers: ['/yamux/1.0.0'], proofs: new StaticKeyProofs() });
  return own;
}

/** The other side has said this, and no more. */
function streamOf(input: Uint8Array): RawStream {
  let at = 0;
  const take = () => {
    if (at >= input.length) return undefined;
    const piece = input.slice(at, at + PIECE_SIZE);
    at += PIECE_SIZE;
    return piece;
  };
  return {
    write: () => undefined,
    drained: () => undefined,
    take,
    read: async () => take(),
    closeWrite: () => undefined,
    reset: () => undefined,
  };
}

async function* piecesOf(input: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < input.length; at += PIECE_SIZE) yield input.slice(at, at + PIECE_SIZE);
}

async function readAll(entries: AsyncIterable<{ readonly body: AsyncIterable<Uint8Array> }>): Promise<void> {
  for await (const { body } of entries) for await (const _piece of body);
}

function tarOf(name: string, content: string): Uint8Array {
  const header = new Uint8Array(512);
  const put = (text: string, at: number) => header.set(bytesOf(text), at);
  put(name, 0);
  put('0000644\0', 100);
  put(`${content.length.toString(8).padStart(11, '0')}\0`, 124);
  put('        0', 148);
  put('ustar\x0000', 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  put(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return Uint8Array.from([
    ...header,
    ...padded(bytesOf(content), content === '' ? 0 : 512),
    ...new Uint8Array(1024),
  ]);
}

function padded(input: Uint8Array, size: number): Uint8Array {
  const bytes = new Uint8Array(size);
  bytes.set(input.subarray(0, size));
  return bytes;
}

/** Large costs have bounds and tests of their own; here they only take time. */
function cheap(text: string): string {
  return text.replace(/"(n|r|p)":\s*\d{2,}/g, '"$1":2');
}

function isYamlError(error: unknown): boolean {
  return error instanceof Error && (error.name.startsWith('YAML') || error instanceof ReferenceError);
}

function bytesOf(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text));
}

function textOf(input: Uint8Array): string {
  return Buffer.from(input).toString();
}
