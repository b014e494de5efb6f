import { expect, test } from 'vitest';
import { makeCac } from '../../../formats/chunk/cac.ts';
import type { Chunk } from '../../../formats/chunk/chunk.ts';
import { parseSoc, signSoc } from '../../../formats/chunk/soc.ts';
import { fromHex } from '../../../formats/crypto/hex.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import { createGsoc, type Gsoc } from '../../../node/pss/gsoc.ts';
import vectors from '../../vectors/messaging.json' with { type: 'json' };

interface Case {
  readonly name: string;
  readonly expected: { socAddress: string; chunkData: string; deliveredPayloadUtf8: string };
}

const cases = (vectors.cases as unknown as Case[]).filter(({ name }) => name.startsWith('GSOC'));
const owner = createSigner(new Uint8Array(32).fill(9));
const id = new Uint8Array(32).fill(1);

function socOf(text: string, under = id): Chunk {
  const payload = Buffer.from(text);
  return signSoc(under, makeCac(BigInt(payload.length), payload).data, owner);
}

function node(monotonic = () => 0): Gsoc {
  return createGsoc({ clock: { monotonic } });
}

function listen(gsoc: Gsoc, address: Uint8Array): string[] {
  const heard: string[] = [];
  gsoc.subscribe(address, (payload) => void heard.push(Buffer.from(payload).toString()));
  return heard;
}

test.each(cases)('$name: its payload is delivered', ({ expected }) => {
  const address = fromHex(expected.socAddress);
  const chunk = parseSoc(address, fromHex(expected.chunkData));
  const gsoc = node();
  const heard = listen(gsoc, address);
  gsoc.offer(chunk!);
  expect(heard).toEqual([expected.deliveredPayloadUtf8]);
});

test('every payload under an address is delivered, each once', () => {
  const gsoc = node();
  const { address } = socOf('');
  const heard = listen(gsoc, address);
  for (const text of ['one', 'two', 'one', '', 'two']) gsoc.offer(socOf(text));
  expect(heard).toEqual(['one', 'two', '']);
});

test('the same payload under two addresses is two messages', () => {
  const gsoc = node();
  const other = new Uint8Array(32).fill(2);
  const [here, there] = [listen(gsoc, socOf('').address), listen(gsoc, socOf('', other).address)];
  gsoc.offer(socOf('same'));
  gsoc.offer(socOf('same', other));
  expect([here, there]).toEqual([['same'], ['same']]);
});

test('a content-addressed chunk is not a message', () => {
  const gsoc = node();
  const chunk = makeCac(1n, Uint8Array.of(1));
  const heard = listen(gsoc, chunk.address);
  gsoc.offer(chunk);
  expect(heard).toEqual([]);
});

test('a delivered payload stays unchanged when the buffer it came in is reused', () => {
  const gsoc = node();
  const heard: Uint8Array[] = [];
  const chunk = socOf('kept');
  gsoc.subscribe(chunk.address, (payload) => void heard.push(payload));
  gsoc.offer(chunk);
  chunk.data.fill(0);
  expect(Buffer.from(heard[0]!).toString()).toBe('kept');
});

test('a payload reaches everyone who subscribes up to 1.5 s after it came, once, however many copies follow', () => {
  let nowMs = 0;
  const gsoc = node(() => nowMs);
  const { address } = socOf('');
  const early = listen(gsoc, address);
  gsoc.offer(socOf('one'));
  gsoc.offer(socOf('elsewhere', new Uint8Array(32).fill(2)));
  const heard = [0, 900, 1_499, 1_500, 2_400].map((ms) => {
    nowMs = ms;
    if (ms === 900) gsoc.offer(socOf('two'));
    return listen(gsoc, address);
  });
  expect([early, ...heard]).toEqual([
    ['one', 'two'],
    ['one', 'two'],
    ['one', 'two'],
    ['one', 'two'],
    ['two'],
    [],
  ]);
  for (const text of ['one', 'two']) gsoc.offer(socOf(text));
  expect([early, ...heard.slice(0, 3)].flat()).toHaveLength(8);
});

test('without a subscriber the first of two copies counts', () => {
  let nowMs = 0;
  const gsoc = node(() => nowMs);
  gsoc.offer(socOf('copied'));
  nowMs = 1_000;
  gsoc.offer(socOf('copied'));
  const first = listen(gsoc, socOf('').address);
  gsoc.offer(socOf('copied'));
  nowMs = 1_500;
  expect([first, listen(gsoc, socOf('').address)]).toEqual([['copied'], []]);
});
