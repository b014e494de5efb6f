import { expect, test } from 'vitest';
import { makeCac } from '../../../formats/chunk/cac.ts';
import type { Chunk } from '../../../formats/chunk/chunk.ts';
import type { Stamp } from '../../../formats/chunk/stamp.ts';
import { ephemeralKey, publicKeyOf } from '../../../formats/crypto/ecdh.ts';
import { seededRandom } from '../../../formats/random.ts';
import { silentLogger } from '../../../node/env/logger.ts';
import { createMetrics } from '../../../node/env/metrics.ts';
import { PushsyncError } from '../../../node/protocols/pushsync/rules.ts';
import { createPss, type Message, type Pss } from '../../../node/pss/pss.ts';
import { randomSecret, seal, topicOf } from '../../../node/pss/trojan.ts';
import { someStamp } from '../protocols/exchange-nodes.ts';
import { ManualClock } from '../protocols/manual-clock.ts';

// By chance, a target of three bytes is hit once in some hundred runs: seeded.
const random = seededRandom('pss');
const never = new AbortController().signal;
const key = ephemeralKey(random);
const topic = topicOf('topic');

interface Wire {
  readonly pushed: Chunk[];
  readonly reserved: Chunk[];
  saved: number;
  /** Outcomes of the next pushes. */
  outcomes: (Error | 'synced' | 'want-self')[];
}

interface Node {
  readonly pss: Pss;
  readonly clock: ManualClock;
  readonly wire: Wire;
}

function nodeOf(privateKey = key): Node {
  const clock = new ManualClock();
  const wire: Wire = { pushed: [], reserved: [], saved: 0, outcomes: [] };
  const pss = createPss(
    { privateKey },
    {
      pushsync: {
        async push(chunk) {
          expect(wire.saved).toBeGreaterThan(0);
          wire.pushed.push(chunk);
          const outcome = wire.outcomes.shift() ?? 'synced';
          if (outcome instanceof Error) throw outcome;
          return outcome === 'want-self' ? { outcome } : { outcome, receipt: {} as never, storerPO: 0 };
        },
      },
      reserve: { put: async (chunk) => void wire.reserved.push(chunk) },
      postage: { saved: async () => void wire.saved++ },
      clock,
      random,
      log: silentLogger(),
      metrics: createMetrics({ prefix: 'svc' }),
    },
  );
  return { pss, clock, wire };
}

function messageTo(text: string, over: Partial<Message> = {}): Message {
  const stamper = { batchId: new Uint8Array(32), stamp: (): Stamp => someStamp() };
  const payload = Buffer.from(text);
  return { topic, payload, recipient: undefined, targets: [Uint8Array.of(7)], stamper, ...over };
}

/** Only the turns that mining and trying give away. */
async function pass<T>({ clock }: Node, work: Promise<T>): Promise<T> {
  const state = { ended: false };
  const ended = () => {
    state.ended = true;
  };
  work.then(ended, ended);
  await clock.settle();
  while (!state.ended) await clock.advance(1);
  return await work;
}

function listen({ pss }: Node, text = 'topic'): { heard: string[]; end: () => void } {
  const heard: string[] = [];
  const end = pss.subscribe(topicOf(text), (message) => void heard.push(Buffer.from(message).toString()));
  return { heard, end };
}

function letter(text: string, over: Partial<Parameters<typeof seal>[0]> = {}): Chunk {
  const data = seal(
    { topic, message: Buffer.from(text), recipient: undefined, ...over },
    randomSecret(random),
  );
  return makeCac(new DataView(data.buffer).getBigUint64(0, true), data.subarray(8));
}

test('a sent message is pushed in a chunk below its target, and the node that gets the chunk can read it', async () => {
  const [sender, receiver] = [nodeOf(ephemeralKey(random)), nodeOf()];
  const { heard } = listen(receiver);
  await pass(sender, sender.pss.send(messageTo('hello', { recipient: publicKeyOf(key) }), never));
  const [chunk] = sender.wire.pushed;
  expect(chunk!.address[0]).toBe(7);
  receiver.pss.offer(chunk!);
  expect(heard).toEqual([]);
  await receiver.clock.advance(10);
  expect(heard).toEqual(['hello']);
});

test('the stamp is on disk before its chunk leaves', async () => {
  const node = nodeOf();
  await pass(node, node.pss.send(messageTo('x'), never));
  expect([node.wire.saved, node.wire.pushed.length]).toEqual([1, 1]);
});

test('a message whose only storer is this node counts as sent, and is kept for others', async () => {
  const node = nodeOf();
  node.wire.outcomes = ['want-self'];
  await pass(node, node.pss.send(messageTo('x'), never));
  expect(node.wire.reserved).toEqual(node.wire.pushed);
});

test('a shallow receipt makes it ask another storer, six times at most', async () => {
  const shallow = new PushsyncError('SHALLOW_RECEIPT', 'shallow receipt');
  const node = nodeOf();
  node.wire.outcomes = [shallow, shallow];
  await pass(node, node.pss.send(messageTo('x'), never));
  expect(node.wire.pushed).toHaveLength(3);
  node.wire.outcomes = Array.from({ length: 9 }, () => shallow);
  await pass(node, node.pss.send(messageTo('x'), never));
  expect(node.wire.pushed).toHaveLength(9);
});

test('a failed push means a message that was not sent', async () => {
  const node = nodeOf();
  node.wire.outcomes = [new PushsyncError('NO_PEER', 'no peer found')];
  await expect(pass(node, node.pss.send(messageTo('x'), never))).rejects.toThrow('no peer found');
});

test.each([
  ['of 4001 bytes', { payload: new Uint8Array(4001) }, 'MESSAGE_TOO_LONG'],
  ['without a target', { targets: [] }, 'TARGETS_EMPTY'],
  ['with targets of two lengths', { targets: [new Uint8Array(1), new Uint8Array(2)] }, 'TARGETS_UNEQUAL'],
])('a message %s is refused before anything is stamped', async (_what, over, code) => {
  const node = nodeOf();
  await expect(pass(node, node.pss.send(messageTo('x', over), never))).rejects.toMatchObject({ code });
  expect(node.wire.saved).toBe(0);
});

test('mining ends when the sender leaves, and when the node stops', async () => {
  const targets = [new Uint8Array(3)];
  const node = nodeOf();
  const leaving = new AbortController();
  const left = node.pss.send(messageTo('x', { targets }), leaving.signal);
  const stopped = node.pss.send(messageTo('x', { targets }), never);
  const outcomes = Promise.allSettled([left, stopped]);
  leaving.abort(new Error('gone'));
  await node.pss.stop();
  const reasons = (await outcomes).map((outcome) => outcome.status === 'rejected' && String(outcome.reason));
  expect(reasons).toEqual(['Error: gone', 'AbortError: messaging stops']);
  expect(node.wire.pushed).toEqual([]);
});

test('eight messages are mined at once, the others wait', async () => {
  const node = nodeOf();
  const leaving = new AbortController();
  const targets = [new Uint8Array(3)];
  const hard = Array.from({ length: 8 }, () => node.pss.send(messageTo('x', { targets }), leaving.signal));
  const outcomes = Promise.allSettled(hard);
  await node.clock.settle();
  const ninth = node.pss.send(messageTo('last'), never);
  await node.clock.settle();
  expect(node.wire.pushed).toEqual([]);
  leaving.abort(new Error('gone'));
  await outcomes;
  await pass(node, ninth);
  expect(node.wire.pushed).toHaveLength(1);
});

test('messages for another key or topic, and other chunks, are not delivered', async () => {
  const node = nodeOf();
  const { heard } = listen(node);
  const another = publicKeyOf(ephemeralKey(random));
  node.pss.offer(letter('another key', { recipient: another }));
  node.pss.offer(letter('another topic', { topic: topicOf('other') }));
  node.pss.offer(makeCac(4096n, new Uint8Array(4096).fill(3)));
  node.pss.offer(makeCac(1n, Uint8Array.of(1)));
  node.pss.offer({ ...letter('a soc'), kind: 'soc' });
  await node.clock.advance(100);
  expect(heard).toEqual([]);
  node.pss.offer(letter('mine', { recipient: publicKeyOf(key) }));
  await node.clock.advance(100);
  expect(heard).toEqual(['mine']);
});

test('a chunk that arrives again is not delivered again', async () => {
  const node = nodeOf();
  const { heard } = listen(node);
  const chunk = letter('once');
  node.pss.offer(chunk);
  node.pss.offer(chunk);
  await node.clock.advance(10);
  node.pss.offer(chunk);
  await node.clock.advance(10);
  expect(heard).toEqual(['once']);
});

test('up to 256 chunks wait, and any further one is tried at once', async () => {
  const node = nodeOf();
  const { heard } = listen(node);
  // The first one is already being tried.
  for (let n = 0; n < 257; n++) node.pss.offer(letter(`${n}`));
  expect(heard).toEqual([]);
  node.pss.offer(letter('beyond'));
  expect(heard).toEqual(['beyond']);
  await node.clock.advance(1000);
  expect(heard).toHaveLength(258);
});

test('many topics are tried a few at a time', async () => {
  const node = nodeOf();
  for (let n = 0; n < 40; n++) listen(node, `topic ${n}`);
  const { heard } = listen(node);
  node.pss.offer(letter('x'));
  await node.clock.settle();
  expect(heard).toEqual([]);
  await node.clock.advance(10);
  expect(heard).toEqual(['x']);
});

test('without subscribers nothing waits, and a stopped node tries nothing', async () => {
  const node = nodeOf();
  node.pss.offer(letter('unheard'));
  expect(node.clock.running).toBe(0);
  const { heard } = listen(node);
  node.pss.offer(letter('too late'));
  await node.pss.stop();
  await node.clock.advance(100);
  expect(heard).toEqual([]);
});
