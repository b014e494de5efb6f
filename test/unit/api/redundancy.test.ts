import { describe, expect, test } from 'vitest';
import type { Chunk } from '../../../formats/chunk/chunk.ts';
import { fromHex, toHex } from '../../../formats/crypto/hex.ts';
import vectors from '../../vectors/redundancy.json' with { type: 'json' };
import { ChunkMap, generate } from '../files/chunk-map.ts';
import { groupsOf } from '../files/damage.ts';
import { BATCH } from './fake-postage.ts';
import { type Kit, startKit } from './kit.ts';

const CONTENT = Buffer.from(generate('i mod 251', 300_000));

/** Uploads on one node and gives its chunks to the network of another, which has nothing yet. */
async function uploaded(
  headers: Record<string, string>,
  url = '/bytes',
): Promise<{ reader: Kit; reference: string; chunks: ChunkMap; replicas: string[] }> {
  const uploader = await startKit();
  const answer = await uploader.api.main.post(url, CONTENT, {
    'svc-postage-batch-id': BATCH,
    'svc-deferred-upload': 'false',
    ...headers,
  });
  expect(answer.statusCode).toBe(201);
  const chunks = new ChunkMap();
  for (const { chunk } of uploader.knobs.pushed) await chunks.put(chunk);
  const reader = await startKit();
  reader.knobs.network = new Map(chunks.chunks);
  const replicas = [...chunks.chunks.values()].filter(isReplica).map(({ address }) => toHex(address));
  return { reader, reference: answer.json().reference, chunks, replicas };
}

function isReplica({ kind }: Chunk): boolean {
  return kind === 'soc';
}

/** Takes the first ones of the first group: as many as it has parities, and `beyond` more. */
function lose(
  { reader, reference, chunks }: { reader: Kit; reference: string; chunks: ChunkMap },
  beyond: number,
): string[] {
  const [group] = groupsOf(fromHex(reference), chunks);
  const lost = [...group!.data, ...group!.parities].slice(0, group!.parities.length + beyond);
  for (const address of lost) reader.knobs.network.delete(address);
  return lost.filter((address) => group!.data.includes(address));
}

function get(
  { reader, reference }: { reader: Kit; reference: string },
  headers: Record<string, string> = {},
) {
  return reader.api.main.get(`/bytes/${reference}`, headers);
}

describe('an upload with redundancy', () => {
  const cases = (
    vectors.cases as unknown as {
      name: string;
      input: { length: number; level: number };
      expected: { reference: string; dataAndIntermediateChunks: number; parityChunks: number };
    }[]
  ).filter(({ name, input }) => name.startsWith('level') && input.length === 100_000);

  test.each(cases)(
    '$name has its reference, and its parities and replicas count',
    async ({ input, expected }) => {
      const kit = await startKit();
      const headers = { 'svc-postage-batch-id': BATCH, 'svc-redundancy-level': String(input.level) };
      const payload = Buffer.from(generate('i mod 251', input.length));
      const answer = await kit.api.main.post('/bytes', payload, headers);
      expect(answer.json().reference).toBe(expected.reference);
      const split = expected.dataAndIntermediateChunks + expected.parityChunks + 2 ** input.level;
      expect(kit.services.store.tags.get(1)?.split).toBe(split);
      const head = await kit.api.main.head(`/bytes/${expected.reference}`);
      expect(head.headers['content-length']).toBe(String(input.length));
    },
  );

  test('of one chunk has the same reference as without', async () => {
    const references = new Set<string>();
    for (const level of ['0', '1', '4']) {
      const kit = await startKit();
      const headers = { 'svc-postage-batch-id': BATCH, 'svc-redundancy-level': level };
      const answer = await kit.api.main.post('/bytes', 'short', headers);
      references.add(answer.json().reference);
    }
    expect(references.size).toBe(1);
  });
});

describe('lost chunks', () => {
  test.each([
    { level: '1', encrypt: 'false' },
    { level: '2', encrypt: 'true' },
    { level: '3', encrypt: 'false' },
    { level: '4', encrypt: 'true' },
  ])('are recovered at level $level (encrypted: $encrypt), and cached', async ({ level, encrypt }) => {
    const file = await uploaded({ 'svc-redundancy-level': level, 'svc-encrypt': encrypt });
    const lost = lose(file, 0);
    expect(lost.length).toBeGreaterThan(0);
    const answer = await get(file, { 'svc-cache': 'false' });
    expect(answer.statusCode).toBe(200);
    expect(answer.rawPayload.equals(CONTENT)).toBe(true);
    for (const address of lost) expect(file.reader.services.store.chunks.has(fromHex(address))).toBe(true);
  });

  test('beyond what can be recovered are an error, not a body that breaks off', async () => {
    for (const [level, encrypt] of [
      ['1', 'false'],
      ['2', 'false'],
      ['3', 'false'],
    ] as const) {
      const file = await uploaded({ 'svc-redundancy-level': level, 'svc-encrypt': encrypt });
      lose(file, 1);
      expect((await get(file)).json()).toEqual({ code: 500, message: 'joiner failed' });
    }
  });

  test.each([
    [{ 'svc-redundancy-strategy': '0', 'svc-redundancy-fallback-mode': 'false' }, 500],
    [{ 'svc-redundancy-strategy': '0' }, 200],
    [{ 'svc-redundancy-strategy': '1', 'svc-redundancy-fallback-mode': 'false' }, 500],
    [{ 'svc-redundancy-strategy': '1', 'svc-redundancy-fallback-mode': 'true' }, 200],
    [{ 'svc-redundancy-strategy': '2', 'svc-redundancy-fallback-mode': 'false' }, 500],
    [{ 'svc-redundancy-strategy': '2' }, 200],
    [{ 'svc-redundancy-strategy': '3', 'svc-redundancy-fallback-mode': 'false' }, 200],
    [{ 'svc-chunk-retrieval-timeout': '5s' }, 200],
  ] as [Record<string, string>, number][])('with headers %j answer %i', async (headers, status) => {
    const file = await uploaded({ 'svc-redundancy-level': '2' });
    lose(file, 0);
    const answer = await get(file, headers);
    expect(answer.statusCode).toBe(status);
    if (status === 200) expect(answer.rawPayload.equals(CONTENT)).toBe(true);
  });

  test.each([
    [{ 'svc-redundancy-strategy': '4' }, 'invalid header params'],
    [{ 'svc-redundancy-level': '5' }, 'invalid header params'],
    [{ 'svc-redundancy-fallback-mode': 'perhaps' }, 'invalid header params'],
    [{ 'svc-chunk-retrieval-timeout': 'soon' }, 'could not parse headers'],
  ] as [Record<string, string>, string][])('are not looked for with headers %j', async (headers, message) => {
    const file = await uploaded({ 'svc-redundancy-level': '1' });
    expect((await get(file, headers)).json()).toMatchObject({ code: 400, message });
  });
});

describe('a lost root', () => {
  test('is replaced by a replica, for GET and HEAD, and cached', async () => {
    const file = await uploaded({ 'svc-redundancy-level': '2', 'svc-encrypt': 'true' });
    const root = file.reference.slice(0, 64);
    file.reader.knobs.network.delete(root);
    for (const replica of file.replicas.slice(1)) file.reader.knobs.network.delete(replica);
    const url = `/bytes/${file.reference}`;
    const head = await file.reader.api.main.head(url);
    expect(head.headers['content-length']).toBe(String(CONTENT.length));
    expect((await get(file)).rawPayload.equals(CONTENT)).toBe(true);
    expect(file.reader.services.store.chunks.has(fromHex(root))).toBe(true);
  });

  test('is not found when the request looks for no replicas, or none is left', async () => {
    const file = await uploaded({ 'svc-redundancy-level': '1' });
    file.reader.knobs.network.delete(file.reference);
    expect((await get(file, { 'svc-redundancy-level': '0' })).statusCode).toBe(404);
    for (const replica of file.replicas) file.reader.knobs.network.delete(replica);
    expect((await get(file)).statusCode).toBe(404);
  });

  test('of a manifest, and of the file in it, is replaced alike', async () => {
    const file = await uploaded(
      { 'svc-redundancy-level': '1', 'content-type': 'text/plain' },
      '/svc?name=a.txt',
    );
    const plain = [...file.reader.knobs.network.values()].filter((chunk) => !isReplica(chunk));
    const roots = new Set(
      plain.filter((chunk) => chunk.data.length < 1000).map(({ address }) => toHex(address)),
    );
    expect(roots.size).toBeGreaterThan(2);
    for (const root of roots) file.reader.knobs.network.delete(root);
    const answer = await file.reader.api.main.get(`/svc/${file.reference}/a.txt`);
    expect(answer.statusCode).toBe(200);
    expect(answer.rawPayload.equals(CONTENT)).toBe(true);
  });
});
