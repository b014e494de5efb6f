import { expect, test } from 'vitest';
import { SkipList } from '../../../node/protocols/skip-list.ts';
import { ManualClock } from './manual-clock.ts';

function skipList(durationMs = 1_000) {
  const clock = new ManualClock();
  const list = new SkipList({ durationMs }, { clock });
  return { clock, list, peers: (chunk: string) => [...list.peers(chunk)] };
}

test('a peer is skipped for the chunk for which it failed, for the given time', async () => {
  const { clock, list, peers } = skipList();
  list.add('aa', 'one');
  await clock.advance(400);
  list.add('aa', 'two');
  expect([peers('aa'), peers('bb')]).toEqual([['one', 'two'], []]);
  await clock.advance(600);
  expect(peers('aa')).toEqual(['two']);
  await clock.advance(400);
  expect(peers('aa')).toEqual([]);
});

test('a forgotten chunk has no peers to skip, and other chunks keep theirs', () => {
  const { list, peers } = skipList();
  for (const chunk of ['aa', 'bb']) for (const peer of ['one', 'two']) list.add(chunk, peer);
  list.forget('aa');
  list.forget('cc');
  expect([peers('aa'), peers('bb')]).toEqual([[], ['one', 'two']]);
  list.add('aa', 'three');
  expect(peers('aa')).toEqual(['three']);
});

test('the oldest chunk is forgotten when there are more than 10,000', () => {
  const { list, peers } = skipList();
  for (let n = 0; n <= 10_000; n++) list.add(String(n), 'one');
  expect(['0', '1', '10000'].map(peers)).toEqual([[], ['one'], ['one']]);
});

test('changes to a returned set do not affect the list', () => {
  const { list, peers } = skipList();
  list.add('aa', 'one');
  list.peers('aa').add('two');
  expect(peers('aa')).toEqual(['one']);
});
