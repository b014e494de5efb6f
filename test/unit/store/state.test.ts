import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BACKENDS } from './stores.ts';

const keys = fc.string({ unit: fc.constantFrom('a', 'b', '\0', 'é', '😀'), maxLength: 4 });
const values = fc.uint8Array({ maxLength: 5 });
const changes = fc.array(fc.oneof(fc.record({ put: keys, value: values }), fc.record({ remove: keys })), {
  maxLength: 30,
});

const bytewise = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));

describe.each(BACKENDS)('state %s', (_name, open) => {
  test('holds what was put last, and lists it bytewise under any prefix', async () => {
    await using bench = await open();
    let run = 0;
    await fc.assert(
      fc.asyncProperty(changes, keys, async (batch, prefix) => {
        run += 1;
        const state = bench.store.state(`subsystem${run}`);
        const expected = new Map<string, Uint8Array>();
        for (const change of batch) {
          if ('put' in change) expected.set(change.put, change.value);
          else expected.delete(change.remove);
        }
        await state.batch(batch);
        for (const [key, value] of expected) expect(state.get(key)).toEqual(value);
        const wanted = [...expected]
          .filter(([key]) => key.startsWith(prefix))
          .sort(([a], [b]) => bytewise(a, b));
        expect([...state.entries(prefix)]).toEqual(wanted);
      }),
      { numRuns: 60 },
    );
  });

  test('lists more entries than are read at once', async () => {
    await using bench = await open();
    const state = bench.store.state('many');
    const all = Array.from({ length: 1000 }, (_, i) => `key-${String(i).padStart(4, '0')}`);
    await state.batch(all.map((key) => ({ put: key, value: new Uint8Array(1) })));
    expect([...state.entries('key-')].map(([key]) => key)).toEqual(all);
    expect([...state.entries('key-099')].map(([key]) => key)).toEqual(all.slice(990));
  });

  test('of one subsystem is not visible to another, even if one name is a prefix of the other', async () => {
    await using bench = await open();
    const { store } = bench;
    await store.state('ab').put('c', Uint8Array.of(1));
    await store.state('a').put('c', Uint8Array.of(2));
    expect([...store.state('a').entries('')].map(([key]) => key)).toEqual(['c']);
    await store.state('a').remove('c');
    expect(store.state('a').get('c')).toBeUndefined();
    expect(store.state('ab').get('c')).toEqual(Uint8Array.of(1));
  });
});
