import { fc, test as property } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import { toHex } from '../../../formats/crypto/hex.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import { systemRandom } from '../../../formats/random.ts';
import { type AccessControl, createAccessControl } from '../../../node/act/access-control.ts';
import { decodeGrantees, encodeGrantees, withoutRevoked } from '../../../node/act/grantees.ts';
import { History } from '../../../node/act/history.ts';
import { KeyValues } from '../../../node/act/key-values.ts';
import { saveManifest } from '../../../node/files/manifest-store.ts';
import { split } from '../../../node/files/splitter.ts';
import { Manifest } from '../../../node/manifest/manifest.ts';
import { ChunkMap, inParts } from '../files/chunk-map.ts';
import { VirtualClock } from '../onchain/virtual-clock.ts';

const random = systemRandom();
const PLAIN = new Uint8Array(32).fill(0x77);

interface Person {
  readonly key: Uint8Array;
  readonly access: AccessControl;
}

/** One store; people have nothing but their keys. */
class World {
  readonly clock = new VirtualClock();
  readonly store = new ChunkMap();
  readonly io = { getter: this.store, putter: this.store, signal: new AbortController().signal };
  readonly publisher = this.person(1);

  person(n: number): Person {
    const secret = new Uint8Array(32).fill(n);
    return {
      key: createSigner(secret).publicKey,
      access: createAccessControl(secret, { clock: this.clock, random }),
    };
  }

  seconds(): number {
    return Math.floor(this.clock.now() / 1000);
  }

  /** The plain reference or an error code. */
  async read(
    reader: Person,
    reference: Uint8Array,
    history: Uint8Array,
    timestamp?: number,
  ): Promise<string> {
    const request = { reference, publisher: this.publisher.key, history, timestamp };
    return reader.access.reveal(request, this.io).then(toHex, (error: { code: string }) => error.code);
  }
}

describe('a reference that is protected', () => {
  test.each([32, 64])('of %i bytes keeps its length, and only its publisher reads it', async (size) => {
    const world = new World();
    const plain = random.bytes(size);
    const { reference, history } = await world.publisher.access.protect(plain, undefined, world.io);
    expect([reference.length, history.length]).toEqual([size, 32]);
    expect(toHex(reference)).not.toBe(toHex(plain));
    expect(await world.read(world.publisher, reference, history)).toBe(toHex(plain));
    expect(await world.read(world.person(2), reference, history)).toBe('ENTRY_NOT_FOUND');
  });

  test('with a history has the key of that history, which does not change', async () => {
    const world = new World();
    const { access } = world.publisher;
    const first = await access.protect(PLAIN, undefined, world.io);
    await world.clock.sleep(60_000);
    const chunks = world.store.chunks.size;
    expect(await access.protect(PLAIN, first.history, world.io)).toEqual(first);
    expect(world.store.chunks.size).toBe(chunks);
    expect(toHex((await access.protect(PLAIN, undefined, world.io)).reference)).not.toBe(
      toHex(first.reference),
    );
  });

  test("with another publisher's history is refused", async () => {
    const world = new World();
    const { history } = await world.publisher.access.protect(PLAIN, undefined, world.io);
    const { access } = world.person(2);
    await expect(access.protect(PLAIN, history, world.io)).rejects.toMatchObject({ code: 'ENTRY_NOT_FOUND' });
    await expect(access.change({ history, add: [world.person(3).key] }, world.io)).rejects.toMatchObject({
      code: 'ENTRY_NOT_FOUND',
    });
  });

  test('with the wrong publisher cannot be read', async () => {
    const world = new World();
    const { reference, history } = await world.publisher.access.protect(PLAIN, undefined, world.io);
    const request = { reference, history, publisher: world.person(2).key, timestamp: undefined };
    await expect(world.publisher.access.reveal(request, world.io)).rejects.toMatchObject({
      code: 'ENTRY_NOT_FOUND',
    });
  });
});

describe('a list of grantees', () => {
  test('can be read only by its publisher, and has each key once', async () => {
    const world = new World();
    const { access, key } = world.publisher;
    const [a, b] = [world.person(2).key, world.person(3).key];
    const made = await access.change({ history: undefined, add: [a, b, a] }, world.io);
    expect([made.grantees.length, made.stored.length, made.history.length]).toEqual([64, 64, 32]);
    expect((await access.grantees(made.grantees, world.io)).map(toHex)).toEqual([a, b].map(toHex));
    await expect(world.person(2).access.grantees(made.grantees, world.io)).rejects.toMatchObject({
      code: 'GRANTEES_UNAVAILABLE',
    });
    const own = { history: made.history, grantees: made.grantees, add: [key, b] };
    const more = await access.change(own, world.io);
    expect((await access.grantees(more.grantees, world.io)).map(toHex)).toEqual([a, b, key].map(toHex));
    const { reference } = await access.protect(PLAIN, more.history, world.io);
    for (const reader of [world.publisher, world.person(2), world.person(3)])
      expect(await world.read(reader, reference, more.history)).toBe(toHex(PLAIN));
  });

  test('that is empty has no grantee to revoke', async () => {
    const world = new World();
    const { access } = world.publisher;
    const made = await access.change({ history: undefined, add: [] }, world.io);
    expect(await access.grantees(made.grantees, world.io)).toEqual([]);
    const { history, grantees } = made;
    const change = { history, grantees, add: [], revoke: [world.person(2).key] };
    await expect(access.change(change, world.io)).rejects.toMatchObject({ code: 'GRANTEES_EMPTY' });
  });

  test('puts the last key in the place of a revoked one', async () => {
    const world = new World();
    const { access } = world.publisher;
    const people = [2, 3, 4, 5].map((n) => world.person(n).key);
    const [a, b, c, d] = people as [Uint8Array, Uint8Array, Uint8Array, Uint8Array];
    const { history, grantees } = await access.change({ history: undefined, add: people }, world.io);
    const left = await access.change(
      { history, grantees, add: [], revoke: [a, world.person(9).key] },
      world.io,
    );
    expect((await access.grantees(left.grantees, world.io)).map(toHex)).toEqual([d, b, c].map(toHex));
  });

  test('with any keys revoked keeps the others, each moved at most once into a gap', () => {
    const key = fc.integer({ min: 1, max: 40 }).map((n) => new Uint8Array(33).fill(n));
    const list = fc.uniqueArray(key, { minLength: 1, selector: (bytes) => bytes[0] });
    fc.assert(
      fc.property(list, fc.array(key), (present, revoked) => {
        const left: Uint8Array[] = [...present];
        for (const gone of revoked) {
          const at = left.findIndex((other) => other[0] === gone[0]);
          if (at === -1) continue;
          const last = left.pop() as Uint8Array;
          if (at < left.length) left[at] = last;
        }
        expect(withoutRevoked(present, revoked)).toEqual(left);
      }),
    );
  });

  test('with a key that is not on the curve counts as empty', () => {
    const good = encodeGrantees([new World().person(2).key]);
    expect(decodeGrantees(good)).toHaveLength(1);
    expect(decodeGrantees(Buffer.concat([good, new Uint8Array(65).fill(4)]))).toEqual([]);
  });

  test('that is too long is refused', () => {
    const { key } = new World().person(2);
    const many = Array.from({ length: 8193 }, () => key);
    expect(() => encodeGrantees(many)).toThrow(expect.objectContaining({ code: 'GRANTEES_TOO_MANY' }));
  });
});

describe('a second change within one second', () => {
  test('waits for the next second, and both entries stay', async () => {
    const world = new World();
    const { access } = world.publisher;
    const [a, b] = [world.person(2), world.person(3)];
    const first = await access.change({ history: undefined, add: [a.key] }, world.io);
    const at = world.seconds();
    const protectedFirst = await access.protect(PLAIN, first.history, world.io);
    const { history, grantees } = first;
    const second = await access.change({ history, grantees, add: [b.key], revoke: [a.key] }, world.io);
    expect(world.seconds()).toBe(at + 1);
    const protectedSecond = await access.protect(PLAIN, second.history, world.io);
    const read = (who: Person, reference: Uint8Array, timestamp?: number) =>
      world.read(who, reference, second.history, timestamp);
    expect(await read(a, protectedFirst.reference, at)).toBe(toHex(PLAIN));
    expect(await read(a, protectedSecond.reference)).toBe('ENTRY_NOT_FOUND');
    expect(await read(b, protectedSecond.reference)).toBe(toHex(PLAIN));
    expect(await read(b, protectedFirst.reference, at)).toBe('ENTRY_NOT_FOUND');
  });

  test('is given up when time does not advance', async () => {
    const world = new World();
    const { access } = world.publisher;
    const { history } = await access.change({ history: undefined, add: [] }, world.io);
    world.clock.sleep = async () => undefined;
    await expect(access.change({ history, add: [] }, world.io)).rejects.toMatchObject({
      code: 'HISTORY_BUSY',
    });
  });

  test('ends when its request does', async () => {
    const world = new World();
    const { access } = world.publisher;
    const { history } = await access.change({ history: undefined, add: [] }, world.io);
    const io = { ...world.io, signal: AbortSignal.abort(new Error('gone')) };
    await expect(access.change({ history, add: [] }, io)).rejects.toThrow('gone');
  });
});

describe('an invalid history', () => {
  const anyone = (world: World, history: Uint8Array) => world.read(world.publisher, PLAIN, history);

  test('is distinguished from one that no node has', async () => {
    const world = new World();
    const text = await split(inParts(Buffer.from('no manifest'.repeat(10)), 100), world.store);
    expect(await anyone(world, text.reference)).toBe('HISTORY_MALFORMED');
    expect(await anyone(world, new Uint8Array(32).fill(1))).toBe('CHUNK_NOT_FOUND');
    expect(await anyone(world, new Uint8Array(20))).toBe('HISTORY_MALFORMED');
    expect(await anyone(world, await History.create().save(world.store))).toBe('ENTRY_NOT_FOUND');
  });

  test('because its paths are not times is refused, even for a change', async () => {
    const world = new World();
    const manifest = Manifest.create();
    await manifest.add('index.html', PLAIN);
    const history = await saveManifest(manifest, world.store);
    expect(await anyone(world, history)).toBe('HISTORY_MALFORMED');
    const change = { history, add: [world.person(2).key] };
    await expect(world.publisher.access.change(change, world.io)).rejects.toMatchObject({
      code: 'HISTORY_MALFORMED',
    });
  });

  test('because its access list is invalid is refused', async () => {
    const world = new World();
    for (const [text, code] of [
      ['{', 'ACT_MALFORMED'],
      ['[]', 'ACT_MALFORMED'],
      ['{"entries":[]}', 'ACT_MALFORMED'],
      ['{"entries":{"aa":{"reference":"x"}}}', 'ACT_MALFORMED'],
      ['{"entries":{"aa":null}}', 'ACT_MALFORMED'],
      ['{}', 'ENTRY_NOT_FOUND'],
    ] as const) {
      const list = await split(inParts(Buffer.from(text), 100), world.store);
      const history = History.create();
      await history.add(world.seconds(), list.reference);
      expect(`${text} ${await anyone(world, await history.save(world.store))}`).toBe(`${text} ${code}`);
    }
  });

  test('an access list without entries is an empty object', () => {
    expect(Buffer.from(new KeyValues().encode()).toString()).toBe('{}');
  });
});

const PEOPLE = 4;
interface Step {
  readonly add: readonly number[];
  readonly revoke: readonly number[];
  readonly pauseSeconds: number;
}
const people = fc.uniqueArray(fc.integer({ min: 0, max: PEOPLE - 1 }), { maxLength: PEOPLE });
const step: fc.Arbitrary<Step> = fc.record({
  add: people,
  revoke: people,
  pauseSeconds: fc.integer({ min: 0, max: 3 }),
});

property.prop([fc.array(step, { minLength: 1, maxLength: 5 })], { numRuns: 40 })(
  'whatever is granted and revoked when: exactly the grantees listed at a time can read what was protected then',
  async (steps) => {
    const world = new World();
    const { access } = world.publisher;
    const readers = Array.from({ length: PEOPLE }, (_, n) => world.person(n + 2));
    const keys = (numbers: readonly number[]) => numbers.map((n) => (readers[n] as Person).key);
    let { history, grantees } = await access.change({ history: undefined, add: [] }, world.io);
    let listed: ReadonlySet<number> = new Set();
    const uploads: { at: number; reference: Uint8Array; plain: Uint8Array; listed: ReadonlySet<number> }[] =
      [];
    for (const { add, revoke, pauseSeconds } of steps) {
      await world.clock.sleep(pauseSeconds * 1000);
      const next = new Set([...listed, ...add]);
      const revoked = next.size === 0 ? [] : revoke;
      for (const n of revoked) next.delete(n);
      const change = { history, grantees, add: keys(add), revoke: keys(revoked) };
      ({ history, grantees } = await access.change(change, world.io));
      listed = next;
      const seen = (await access.grantees(grantees, world.io)).map(toHex).toSorted();
      expect(seen).toEqual(
        keys([...listed])
          .map(toHex)
          .toSorted(),
      );
      const plain = random.bytes(32);
      const { reference } = await access.protect(plain, history, world.io);
      uploads.push({ at: world.seconds(), reference, plain, listed });
    }
    // The newest history has all that came before.
    for (const { at, reference, plain, listed: then } of uploads) {
      expect(await world.read(world.publisher, reference, history, at)).toBe(toHex(plain));
      for (const [n, reader] of readers.entries()) {
        const seen = await world.read(reader, reference, history, at);
        if (then.has(n)) expect(seen).toBe(toHex(plain));
        else expect(seen).not.toBe(toHex(plain));
      }
    }
  },
);
