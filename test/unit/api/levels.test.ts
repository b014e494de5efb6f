import { describe, expect, test } from 'vitest';
import type { Chunk } from '../../../formats/chunk/chunk.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import type { DialectName } from '../../../node/api/dialect.ts';
import { split } from '../../../node/files/splitter.ts';
import vectors from '../../vectors/redundancy.json' with { type: 'json' };
import { ChunkMap, generate, inParts } from '../files/chunk-map.ts';
import { BATCH } from './fake-postage.ts';
import { type Kit, startKit } from './kit.ts';

const OWNER = 'ab'.repeat(20);

async function post(
  kit: Kit,
  url: string,
  { payload = '', ...headers }: { payload?: string | Buffer; [header: string]: string | Buffer } = {},
) {
  const prefix = kit.dialect.headers.postageBatchId.active;
  const answer = await kit.api.main.post(url, payload, {
    [prefix]: BATCH,
    ...(headers as Record<string, string>),
  });
  expect(answer.statusCode, answer.body).toBe(201);
  const tag = Number(answer.headers[kit.dialect.headers.tag.active] ?? 1);
  return { ...answer.json(), split: kit.services.store.tags.get(tag)?.split };
}

const bytes = (length: number) => Buffer.from(generate('i mod 251', length));

describe('an upload without a level', () => {
  // References and counts that Bee 2.8.1 gives.
  test.each([
    [1, 'fe60ba40b87599ddfb9e8947c1c872a4a1a5b56f7d1b80f0a646005b38db52a5', 3],
    [4097, '1453ee1ef38aa7b3a18373295abd8bedc96cb8c4c6e71aec155f523279f946ef', 8],
    [200_000, 'd94519bf8d772b2852535e7f2bad3c87f7ec1553612fc5f114356ee0f707e180', 59],
  ])(
    'swarm: of %i bytes has the reference and the count of the network',
    async (length, reference, count) => {
      const kit = await startKit({ dialect: 'swarm' });
      expect(await post(kit, '/bytes', { payload: bytes(length) })).toEqual({ reference, split: count });
    },
  );

  test('swarm: of a file likewise, with its manifest', async () => {
    const kit = await startKit({ dialect: 'swarm' });
    const file = { payload: bytes(5000), 'content-type': 'text/plain' };
    expect(await post(kit, '/bzz?name=a.txt', file)).toEqual({
      reference: '276a5078734797ef04497a928634d165da650ee55fbf170c09c871f07b487f66',
      split: 17,
    });
  });

  const levels = vectors.cases as unknown as {
    name: string;
    input: { length: number; level: number };
    expected: { reference: string };
  }[];
  const referenceAt = (level: number) =>
    levels.find(
      ({ name, input }) => name.startsWith('level') && input.level === level && input.length === 100_000,
    )?.expected.reference;

  test('svc: has none', async () => {
    const kit = await startKit();
    const { reference } = await post(kit, '/bytes', { payload: bytes(100_000) });
    const explicit = await post(kit, '/bytes', { payload: bytes(100_000), 'svc-redundancy-level': '0' });
    expect(reference).toBe(explicit.reference);
  });

  test.each([1, 2, 3, 4])('swarm: with level %i it has that level', async (level) => {
    const kit = await startKit({ dialect: 'swarm' });
    const sent = { payload: bytes(100_000), 'swarm-redundancy-level': String(level) };
    expect((await post(kit, '/bytes', sent)).reference).toBe(referenceAt(level));
  });

  test('swarm: with level 0 it has no redundancy', async () => {
    const kit = await startKit({ dialect: 'swarm' });
    const plain = await post(await startKit(), '/bytes', { payload: bytes(100_000) });
    const sent = { payload: bytes(100_000), 'swarm-redundancy-level': '0' };
    expect(await post(kit, '/bytes', sent)).toEqual(plain);
  });

  test.each([
    ['svc', {}, 2],
    ['svc', { 'svc-redundancy-level': '4' }, 2],
    ['swarm', {}, 6],
    ['swarm', { 'swarm-redundancy-level': '0' }, 2],
    ['swarm', { 'swarm-redundancy-level': '4' }, 34],
  ] as const)('%s: a feed manifest with headers %j is %i chunks', async (dialect, headers, count) => {
    const kit = await startKit({ dialect });
    expect((await post(kit, `/feeds/${OWNER}/${'cd'.repeat(32)}`, headers)).split).toBe(count);
  });

  test.each([
    ['svc', 4],
    ['swarm', 6],
  ] as const)('%s: what protects it has no redundancy: %i chunks for one', async (dialect, count) => {
    const kit = await startKit({ dialect });
    const sent = { payload: 'x', [`${dialect}-act`]: 'true' };
    expect((await post(kit, '/bytes', sent)).split).toBe(count);
  });
});

/** Routes that read it in the swarm dialect only. */
const ELSEWHERE = [
  ['POST', `/feeds/${OWNER}/aa`],
  ['POST', `/pins/${OWNER}`],
  ['GET', `/stewardship/${OWNER}`],
  ['PUT', `/stewardship/${OWNER}`],
  ['POST', '/grantee'],
  ['PATCH', `/grantee/${OWNER}`],
  ['GET', `/grantee/${OWNER}`],
  ['GET', `/chunks/${OWNER}`],
  ['HEAD', `/chunks/${OWNER}`],
] as const;

describe.each(ELSEWHERE)('%s %s', (method, url) => {
  const ask = async (dialect: DialectName, level: string) => {
    const { api } = await startKit({ dialect });
    const headers = {
      [`${dialect}-postage-batch-id`]: BATCH,
      [`${dialect}-act-history-address`]: 'ab'.repeat(32),
      [`${dialect}-redundancy-level`]: level,
    };
    return api.main.inject({ method, url, headers, ...(method.startsWith('P') ? { payload: '{}' } : {}) });
  };

  test.each([
    ['5', 'swarm-redundancy-level', 'want redundancy level to be between 0 and 4'],
    ['x', 'Swarm-Redundancy-Level', 'invalid syntax'],
    ['256', 'Swarm-Redundancy-Level', 'value out of range'],
  ])('swarm: level %s is refused', async (level, field, error) => {
    const answer = await ask('swarm', level);
    expect(answer.statusCode).toBe(400);
    if (method !== 'HEAD')
      expect(answer.json()).toEqual({
        code: 400,
        message: 'invalid header params',
        reasons: [{ field, error }],
      });
  });

  test('svc: the level is ignored', async () => {
    const { statusCode, body } = await ask('svc', 'x');
    expect([statusCode, body]).toEqual([(await ask('svc', '0')).statusCode, (await ask('svc', '0')).body]);
    expect(body).not.toContain('level');
  });
});

test('the document states the level where the dialect reads it, with its default', async () => {
  for (const dialect of ['svc', 'swarm'] as const) {
    const { api } = await startKit({ dialect });
    const { paths } = (await api.main.get('/openapi.json')).json();
    const levelOf = (path: string, method: string) =>
      paths[path][method].parameters.find(({ name }: { name: string }) => name.endsWith('redundancy-level'))
        ?.schema.default;
    const isSwarm = dialect === 'swarm';
    expect(levelOf('/bytes', 'post')).toBe(isSwarm ? 1 : 0);
    expect(levelOf('/bytes/{reference}', 'get')).toBe(4);
    expect(levelOf('/feeds/{owner}/{topic}', 'post')).toBe(isSwarm ? 1 : undefined);
    expect(levelOf('/stewardship/{reference}', 'put')).toBe(isSwarm ? 1 : undefined);
    expect(levelOf('/pins/{reference}', 'post')).toBe(isSwarm ? 4 : undefined);
  }
});

describe('content whose root is lost except for its replicas', () => {
  async function withoutRoot(dialect: DialectName) {
    const kit = await startKit({ dialect });
    const store = new ChunkMap();
    const { reference } = await split(inParts(bytes(9000), 4096), store, { level: 2 });
    const chunks = [...store.chunks.values()];
    const replicas = chunks.filter(({ kind }: Chunk) => kind === 'soc').length;
    expect(replicas).toBe(4);
    for (const [address, chunk] of store.chunks) kit.knobs.network.set(address, chunk);
    kit.knobs.network.delete(toHex(reference));
    return { kit, reference: toHex(reference) };
  }

  test.each([
    ['swarm', {}, 201],
    ['swarm', { 'swarm-redundancy-level': '0' }, 404],
    ['svc', {}, 201],
    ['svc', { 'svc-redundancy-level': '0' }, 201],
  ] as const)('%s: a pin with headers %j is %i', async (dialect, headers, status) => {
    const { kit, reference } = await withoutRoot(dialect);
    const answer = await kit.api.main.inject({ method: 'POST', url: `/pins/${reference}`, headers });
    expect(answer.statusCode).toBe(status);
  });

  test.each([
    ['swarm', { 'swarm-redundancy-level': '4' }, 200],
    ['swarm', { 'swarm-redundancy-level': '0' }, 500],
    ['svc', { 'svc-redundancy-level': '0' }, 200],
  ] as const)('%s: a re-upload with headers %j is %i', async (dialect, headers, status) => {
    const { kit, reference } = await withoutRoot(dialect);
    const answer = await kit.api.main.inject({
      method: 'PUT',
      url: `/stewardship/${reference}`,
      headers: { [`${dialect}-postage-batch-id`]: BATCH, ...headers },
    });
    expect(answer.statusCode).toBe(status);
    const isPushed = kit.knobs.pushed.some(({ chunk }) => toHex(chunk.address) === reference);
    expect(isPushed).toBe(status === 200);
  });

  test.each([
    ['0', 404],
    ['4', 200],
  ])('swarm: the size of bytes with level %s is %i', async (level, status) => {
    const { kit, reference } = await withoutRoot('swarm');
    const answer = await kit.api.main.head(`/bytes/${reference}`, { 'swarm-redundancy-level': level });
    expect(answer.statusCode).toBe(status);
  });
});
