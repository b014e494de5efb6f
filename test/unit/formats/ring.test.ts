import { expect, test } from 'vitest';
import { RingEntry } from '../../../formats/ring.ts';

class Named extends RingEntry {
  readonly name: string;

  constructor(name: string) {
    super();
    this.name = name;
  }
}

function namesOf(head: RingEntry): string[] {
  const names: string[] = [];
  for (let { after } = head; after !== head; { after } = after) names.push((after as Named).name);
  return names;
}

function ringOf(...names: string[]): { head: RingEntry; entries: Named[] } {
  const head = new RingEntry();
  const entries = names.map((name) => new Named(name));
  for (const entry of entries) entry.join(head);
  return { head, entries };
}

test('a ring keeps its entries in the order in which they joined', () => {
  expect(namesOf(ringOf('a', 'b', 'c').head)).toEqual(['a', 'b', 'c']);
});

test('an entry that leaves takes no other with it, and holds none', () => {
  const { head, entries } = ringOf('a', 'b', 'c');
  entries[1]?.leave();
  expect(namesOf(head)).toEqual(['a', 'c']);
  expect(entries[1]?.after).toBe(entries[1]);
});

test('an entry may leave twice, and when its neighbours have left', () => {
  const { head, entries } = ringOf('a', 'b');
  for (const entry of [...entries, ...entries]) entry.leave();
  expect(namesOf(head)).toEqual([]);
});
