import { describe, expect, test } from 'vitest';
import { makeCac } from '../../../formats/chunk/cac.ts';
import { type Chunk, type ChunkGetter, ChunkNotFoundError } from '../../../formats/chunk/chunk.ts';
import { signSoc } from '../../../formats/chunk/soc.ts';
import { systemClock } from '../../../formats/clock.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import { resolveUpdate } from '../../../node/feeds/update.ts';
import vectors from '../../vectors/feeds.json' with { type: 'json' };
import { ChunkMap } from '../files/chunk-map.ts';
import { ManualClock } from '../protocols/manual-clock.ts';

const clock = systemClock();
const signal = new AbortController().signal;
const content = makeCac(7n, Buffer.from('content'));
const owner = createSigner(new Uint8Array(32).fill(4));

/** Its span is the payload's own length. */
function updateOf(payload: Uint8Array): { update: Chunk; wrapped: Chunk } {
  const wrapped = makeCac(BigInt(payload.length), payload);
  return { update: signSoc(new Uint8Array(32), wrapped.data, owner), wrapped };
}

function pointer(reference: Uint8Array): Buffer {
  return Buffer.concat([Buffer.alloc(8), reference]);
}

describe('an update', () => {
  const lengths = vectors.cases.find(({ name }) => name.startsWith('payload layout by')) as unknown as {
    input: { lengths: number[] };
    expected: { versions: string[] };
  };
  test.each(lengths.input.lengths.map((length, i) => [length, lengths.expected.versions[i]]))(
    'of %i bytes may be %s',
    async (length, versions) => {
      const payload = Buffer.alloc(length);
      const address = payload.subarray(8, 40);
      const getter = { get: async () => ({ ...content, address }) };
      const { version } = await resolveUpdate(updateOf(payload).update, { getter, clock, signal });
      expect(version).toBe(versions === 'v1 or v2' ? 'v1' : 'v2');
    },
  );

  test('that points to available content is a reference', async () => {
    const getter = new ChunkMap();
    await getter.put(content);
    const { update } = updateOf(pointer(content.address));
    const resolved = await resolveUpdate(update, { getter, clock, signal });
    expect(resolved).toEqual({ version: 'v1', reference: content.address, root: content });
  });

  test('that points to encrypted content keeps the key in the reference', async () => {
    const getter = new ChunkMap();
    await getter.put(content);
    const reference = Buffer.concat([content.address, Buffer.alloc(32, 9)]);
    const resolved = await resolveUpdate(updateOf(pointer(reference)).update, { getter, clock, signal });
    expect([resolved.version, Buffer.from(resolved.reference)]).toEqual(['v1', reference]);
    expect(resolved.root).toEqual(content);
  });

  test.each([
    ['nobody has', new ChunkNotFoundError('')],
    ['nobody can be asked for', new Error('no peer found')],
  ])('that points to what %s is content itself', async (_what, error) => {
    const getter: ChunkGetter = { get: () => Promise.reject(error) };
    const { update, wrapped } = updateOf(pointer(content.address));
    const resolved = await resolveUpdate(update, { getter, clock, signal });
    expect(resolved).toEqual({ version: 'v2', reference: wrapped.address, root: wrapped });
  });

  test('is not taken for content while the network is silent', async () => {
    const manual = new ManualClock();
    const getter: ChunkGetter = {
      get: (_address, ending) =>
        new Promise((_resolve, reject) => {
          ending?.addEventListener('abort', () => reject(ending.reason as Error), { once: true });
        }),
    };
    const { update } = updateOf(pointer(content.address));
    const refused = expect(resolveUpdate(update, { getter, clock: manual, signal })).rejects.toMatchObject({
      code: 'TIMEOUT',
      afterMs: 10_000,
    });
    await manual.advance(10_000);
    await refused;
  });
});
