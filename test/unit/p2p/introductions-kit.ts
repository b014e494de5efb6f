import { createSigner } from '../../../formats/crypto/signer.ts';
import { mintRecord, NO_CHEQUEBOOK } from '../../../node/p2p/address/record.ts';
import { encodeUnderlays } from '../../../node/p2p/address/underlay.ts';
import { encodeFrame } from '../../../node/p2p/codec/codec.ts';
import { ackMessage } from '../../../node/p2p/handshake/rules.ts';
import { Ack, HANDSHAKE_DIALECTS, Syn } from '../../../node/p2p/handshake/wire.ts';
import type { Generation } from '../../../node/p2p/host.ts';
import type { Link } from '../../../node/p2p/transport.ts';
import { ManualClock } from '../protocols/manual-clock.ts';
import { NETWORK_ID, testKey, ZERO_NONCE } from './memory-nodes.ts';
import {
  OWN_ID,
  type ScriptedNode,
  scriptedNode,
  scriptedStream,
  THEIR_ADDRESS,
  THEIR_ID,
} from './scripted-transport.ts';

export const never = new AbortController().signal;

export const GENERATIONS = ['15.0.0', '14.0.0'] as const;

export const [{ id: NEWER }] = HANDSHAKE_DIALECTS;

export const ECHO = '/swarm/echo/1.0.0/echo';

export const OTHER_ID = '12D3KooWJWoaqZhDaoEFshF7Rh1bpY9ohihFhzcW6d69Lr2NASuq';

export function idOf(generation: Generation): string {
  return HANDSHAKE_DIALECTS.find((dialect) => dialect.generation === generation)?.id ?? '';
}

export const observed = { observedUnderlay: encodeUnderlays([`/ip4/10.1.0.1/tcp/1634/p2p/${OWN_ID}`]) };

interface Introducing {
  readonly n?: number;
  readonly generation?: Generation;
  /** Proposed id; that of the generation when absent. */
  readonly proposed?: string;
  /** Identity that the record names. */
  readonly named?: string;
}

export function ackOf(
  clock: ManualClock,
  { n = 2, generation = '15.0.0', named = THEIR_ID }: Introducing = {},
) {
  const timestamp = generation === '15.0.0' ? BigInt(Math.floor(clock.now() / 1000)) : 0n;
  const underlay = encodeUnderlays([`${THEIR_ADDRESS}/p2p/${named}`]);
  const record = mintRecord(
    { underlay, nonce: ZERO_NONCE, timestamp, chequebook: NO_CHEQUEBOOK },
    { signer: createSigner(testKey(n)), networkId: NETWORK_ID },
  );
  return ackMessage({ record, networkId: NETWORK_ID, fullNode: true, welcomeMessage: 'hi' });
}

export async function introduce(
  node: ScriptedNode,
  link: Link,
  {
    clock,
    proposed,
    n = 2,
    generation = '15.0.0',
    named = link.remoteId,
  }: Introducing & {
    clock: ManualClock;
  },
) {
  const stream = scriptedStream();
  node.accept(link, proposed ?? idOf(generation), stream.raw);
  stream.inbox.push(encodeFrame(Syn, observed));
  stream.inbox.push(encodeFrame(Ack, ackOf(clock, { n, generation, named })));
  stream.inbox.end();
  await clock.settle();
  return stream;
}

export async function started() {
  const clock = new ManualClock();
  const node = await scriptedNode(clock);
  const connected: string[] = [];
  node.host.onConnected(({ generation }) => connected.push(generation));
  let served = 0;
  node.host.handle({ id: ECHO, inboundStreamsMax: 10 }, async () => void served++);
  const isServed = async (link: Link) => {
    const before = served;
    const stream = scriptedStream();
    node.accept(link, ECHO, stream.raw);
    stream.inbox.push(Uint8Array.of(0));
    stream.inbox.end();
    await clock.settle();
    return served > before;
  };
  return { clock, node, connected, isServed };
}

export const THEIR_OVERLAY = mintRecord(
  { underlay: new Uint8Array(1), nonce: ZERO_NONCE, timestamp: 0n, chequebook: NO_CHEQUEBOOK },
  { signer: createSigner(testKey(2)), networkId: NETWORK_ID },
).overlay;
