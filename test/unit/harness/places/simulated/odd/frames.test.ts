import { expect, test } from 'vitest';
import { OddFrames, type Relay } from '../../../../../../harness/places/simulated/odd/frames.ts';
import type { MemoryFrame } from '../../../../../../node/p2p/memory-link.ts';

const MOST = 5;

function carrier(before?: Relay) {
  let turn = 0;
  let next: (() => void)[] = [];
  const arrived: (Pick<MemoryFrame, 'from' | 'kind'> & { readonly turn: number; readonly text: string })[] =
    [];
  const frames = new OddFrames({
    seed: '7',
    before,
    defer: (work) => void next.push(work),
    piecesOf: (peerId) => (peerId === 'odd' ? MOST : undefined),
  });
  const say = (from: string, kind: MemoryFrame['kind'], text = '') =>
    frames.pass({ kind, from, to: 'reader', protocolId: '', bytes: Buffer.from(text) }, (frame) =>
      arrived.push({ from, kind: frame.kind, turn, text: Buffer.from(frame.bytes).toString() }),
    );
  const rest = () => {
    while (next.length > 0) {
      const work = next;
      next = [];
      turn++;
      for (const run of work) run();
    }
  };
  return { frames, say, rest, arrived };
}

test('all bytes arrive in order, in pieces that come one per turn, and the end comes after them', () => {
  const { say, rest, arrived } = carrier();
  const texts = Array.from({ length: 200 }, (_, n) => `message ${n};`);
  for (const text of texts) say('odd', 'data', text);
  say('odd', 'end');
  rest();
  expect(arrived.map(({ text }) => text).join('')).toBe(texts.join(''));
  expect(arrived.at(-1)).toMatchObject({ kind: 'end', text: '' });
  expect(new Set(arrived.map(({ turn }) => turn)).size).toBe(arrived.length);
  const pieces = arrived.filter(({ kind }) => kind === 'data');
  expect(pieces.length).toBeGreaterThan(texts.length * 1.5);
  expect(pieces.length).toBeLessThanOrEqual(texts.length * MOST);
  expect(pieces.some(({ text }) => text.length === 1)).toBe(true);
});

test('a frame without bytes stays one, and what another node sends stays whole and waits for nothing', () => {
  const { say, rest, arrived } = carrier();
  say('odd', 'data', 'cut into pieces');
  say('other', 'data', 'stays whole');
  say('odd', 'reset');
  expect(arrived.filter(({ from }) => from === 'other')).toEqual([
    { from: 'other', kind: 'data', turn: 0, text: 'stays whole' },
  ]);
  rest();
  expect(arrived.filter(({ kind }) => kind === 'reset')).toHaveLength(1);
});

test('what is heard before is whole, and what is changed there arrives as changed', () => {
  const heard: string[] = [];
  const { frames, say, rest, arrived } = carrier({
    opened: () => void heard.push('opened'),
    closed: () => void heard.push('closed'),
    pass(frame, send) {
      heard.push(Buffer.from(frame.bytes).toString());
      send({ ...frame, bytes: Buffer.from('something else') });
    },
  });
  frames.opened({}, 'odd', 'reader');
  say('odd', 'data', 'one message');
  frames.closed({});
  rest();
  expect(heard).toEqual(['opened', 'one message', 'closed']);
  expect(arrived.map(({ text }) => text).join('')).toBe('something else');
});
