import { describe, expect, test } from 'vitest';
import { toHex } from '../../../formats/crypto/hex.ts';
import { split } from '../../../node/files/splitter.ts';
import { RetrievalError } from '../../../node/protocols/retrieval/rules.ts';
import { ChunkMap, inParts } from '../files/chunk-map.ts';
import { BATCH, BATCH_ID, EXPIRED_BATCH_ID, NO_BATCH, YOUNG_BATCH_ID } from './fake-postage.ts';
import { type Kit, startKit } from './kit.ts';

async function file(): Promise<{ reference: string; url: string; store: ChunkMap }> {
  const store = new ChunkMap();
  const bytes = Buffer.alloc(2 * 4096).map((_, i) => i >> 12);
  const reference = toHex((await split(inParts(bytes, 4096), store)).reference);
  return { reference, url: `/stewardship/${reference}`, store };
}

function onNetwork({ knobs }: Kit, { chunks }: ChunkMap): void {
  for (const [address, chunk] of chunks) knobs.network.set(address, chunk);
}

async function locally({ services }: Kit, reference: string, { chunks }: ChunkMap): Promise<void> {
  const session = services.store.pins.openSession();
  for (const chunk of chunks.values()) await session.put(chunk);
  await session.done(Buffer.from(reference, 'hex'));
}

describe('GET /stewardship/{reference}', () => {
  test('is true when the network has every chunk', async () => {
    const kit = await startKit();
    const { url, store } = await file();
    onNetwork(kit, store);
    expect((await kit.api.main.get(url)).json()).toEqual({ isRetrievable: true });
  });

  test('is false for what only this node has, in whole or in part', async () => {
    const kit = await startKit();
    const { url, reference, store } = await file();
    await locally(kit, reference, store);
    expect((await kit.api.main.get(url)).json()).toEqual({ isRetrievable: false });
    onNetwork(kit, store);
    kit.knobs.network.delete([...store.chunks.keys()][1]!);
    expect((await kit.api.main.get(url)).json()).toEqual({ isRetrievable: false });
  });

  test('is false when there is no peer to ask', async () => {
    const kit = await startKit();
    kit.knobs.networkError = () => new RetrievalError('NO_PEER', 'no peer found');
    const { url } = await file();
    expect((await kit.api.main.get(url)).json()).toEqual({ isRetrievable: false });
  });

  test('any other failure is reported', async () => {
    const kit = await startKit();
    kit.knobs.networkError = () => new Error('broken');
    const { url } = await file();
    for (const asked of [url, `/stewardship/${'ab'.repeat(32)}`])
      expect((await kit.api.main.get(asked)).json()).toEqual({
        code: 500,
        message: 'is retrievable check failed',
      });
  });
});

describe('PUT /stewardship/{reference}', () => {
  const put = ({ api }: Kit, url: string, headers: Record<string, string> = {}) =>
    api.main.inject({ method: 'PUT', url, headers });
  const paid = { 'svc-postage-batch-id': BATCH };

  test('pushes every chunk with the given batch, from here or from the network', async () => {
    for (const bring of [onNetwork, (kit: Kit, store: ChunkMap, at: string) => locally(kit, at, store)]) {
      const kit = await startKit();
      const { url, reference, store } = await file();
      await bring(kit, store, reference);
      const answer = await put(kit, url, paid);
      expect([answer.statusCode, answer.json()]).toEqual([200, { code: 200, message: 'OK' }]);
      expect(new Set(kit.knobs.pushed.map(({ chunk }) => toHex(chunk.address)))).toEqual(
        new Set(store.chunks.keys()),
      );
      expect(new Set(kit.knobs.pushed.map(({ batchId }) => batchId))).toEqual(new Set([BATCH]));
    }
  });

  test('svc: without a batch that of the last upload is used, and 404 is returned when none is known', async () => {
    const kit = await startKit();
    const payload = Buffer.alloc(2 * 4096).map((_, i) => i >> 12);
    const { url } = await file();
    expect((await put(kit, url)).json()).toEqual({
      code: 404,
      message: 'unable to find old batch for reference, provide new batch id',
    });
    await kit.api.main.post('/bytes', payload, paid);
    expect((await put(kit, url)).statusCode).toBe(200);
    expect(kit.knobs.pushed.map(({ batchId }) => batchId)).toEqual([BATCH, BATCH, BATCH]);
  });

  test('swarm: a batch is required', async () => {
    const kit = await startKit({ dialect: 'swarm' });
    const { url } = await file();
    expect((await put(kit, url)).json()).toEqual({
      code: 400,
      message: 'invalid header params',
      reasons: [{ field: 'swarm-postage-batch-id', error: 'want required:' }],
    });
  });

  test.each([
    [NO_BATCH, 404, 'batch with id not found'],
    [toHex(YOUNG_BATCH_ID), 422, 'batch not usable yet or does not exist'],
    [toHex(EXPIRED_BATCH_ID), 422, 'batch not usable yet or does not exist'],
    [toHex(BATCH_ID), 500, 're-upload failed'],
  ])('batch %s: %i %s', async (batch, code, message) => {
    const { url } = await file();
    const answer = await put(await startKit(), url, { 'svc-postage-batch-id': batch });
    expect(answer.json()).toEqual({ code, message });
  });

  test.each([
    [{ stampsLeft: 1 }, 're-upload failed'],
    [{ pushError: new Error('refused') }, 're-upload failed'],
    [{ failing: new Set(['saved']) }, 'unable to save stamper data'],
  ] as const)('%o: 500 %s', async (spoilt, message) => {
    const kit = await startKit();
    const { url, store } = await file();
    onNetwork(kit, store);
    Object.assign(kit.knobs, spoilt);
    expect((await put(kit, url, paid)).json()).toEqual({ code: 500, message });
  });
});
