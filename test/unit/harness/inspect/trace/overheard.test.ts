import { expect, test } from 'vitest';
import { overheard } from '../../../../../harness/inspect/trace/overheard.ts';
import type { TapEvent } from '../../../../../harness/places/links/tap/events.ts';

const ADDRESS = 'ff'.repeat(32);
const NODES = [
  { name: 'a', overlay: '00'.repeat(32) },
  { name: 'b', overlay: '80'.repeat(32) },
];

async function* push(fault: string): AsyncGenerator<TapEvent> {
  const ends = { from: 'a', to: 'b', stream: 'c0/1', protocol: 'pushsync', id: '/swarm/pushsync' };
  const fields = { address: ADDRESS, ...(fault === '' ? {} : { fault }) };
  yield { at: 1, ...ends, kind: 'message', name: 'delivery', fields, bytes: 4104 };
}

test.each([
  ['', ['received']],
  ['delayed, duplicated', ['received']],
  ['dropped', []],
  ['answered', []],
  ['corrupted, delayed, dropped', []],
])('a chunk that faults have %s reaches the other node: %j', async (fault, kinds) => {
  const [sender, receiver] = await overheard(push(fault), NODES, undefined);
  expect(sender?.events.map(({ kind }) => kind)).toEqual(['pushing', 'push']);
  expect(receiver?.events.map(({ kind }) => kind)).toEqual(kinds);
});
