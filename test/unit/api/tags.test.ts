import { describe, expect, test } from 'vitest';
import { startKit } from './kit.ts';

const REFERENCE = 'ab'.repeat(32);

describe('tags', () => {
  test('are created, shown, listed and deleted', async () => {
    const { api } = await startKit();
    const made = await api.main.post('/tags', 'ignored, no JSON');
    const tag = {
      split: 0,
      seen: 0,
      stored: 0,
      sent: 0,
      synced: 0,
      uid: 1,
      address: '',
      startedAt: '2026-01-02T03:04:05.678Z',
    };
    expect([made.statusCode, made.json()]).toEqual([201, tag]);
    const got = await api.main.get('/tags/1');
    expect([got.statusCode, got.json()]).toEqual([200, tag]);
    for (const { headers } of [made, got])
      expect(headers['cache-control']).toBe('no-cache, private, max-age=0');
    expect((await api.main.get('/tags')).json()).toEqual({ tags: [tag] });
    const gone = await api.main.delete('/tags/1');
    expect([gone.statusCode, gone.body]).toEqual([204, '']);
    expect((await api.main.get('/tags')).json()).toEqual({ tags: [] });
  });

  test('an even second is written without a fraction', async () => {
    const { api, knobs } = await startKit();
    knobs.nowMs = Date.UTC(2026, 0, 2, 3, 4, 5);
    expect((await api.main.post('/tags')).json().startedAt).toBe('2026-01-02T03:04:05Z');
    knobs.nowMs += 500;
    expect((await api.main.post('/tags')).json().startedAt).toBe('2026-01-02T03:04:05.5Z');
  });

  test('pages are counted from the oldest', async () => {
    const { api } = await startKit();
    for (let i = 0; i < 5; i++) await api.main.post('/tags');
    const { tags } = (await api.main.get('/tags?offset=1&limit=2')).json();
    expect(tags.map(({ uid }: { uid: number }) => uid)).toEqual([2, 3]);
    expect((await api.main.get('/tags?offset=9223372036854775807')).json()).toEqual({ tags: [] });
  });

  test.each([
    ['svc', 'offset=-1', 'offset: want min:0'],
    ['svc', 'limit=0', 'limit: want min:1'],
    ['svc', 'limit=-1', 'limit: want min:1'],
    ['svc', 'limit=1001', 'limit: want max:1000'],
    ['svc', 'limit=x', 'limit: invalid syntax'],
    ['svc', 'limit=', 'limit: invalid syntax'],
    ['swarm', 'limit=-1', { field: 'limit', error: 'want min:0' }],
  ] as const)('%s: ?%s is refused', async (dialect, query, reason) => {
    const { api } = await startKit({ dialect });
    const answer = await api.main.get(`/tags?${query}`);
    expect(answer.json()).toEqual({ code: 400, message: 'invalid query params', reasons: [reason] });
  });

  test('swarm: no limit returns none, a large one is capped', async () => {
    const { api } = await startKit({ dialect: 'swarm' });
    await api.main.post('/tags');
    expect((await api.main.get('/tags?limit=0')).json()).toEqual({ tags: [] });
    expect((await api.main.get('/tags?limit=5000')).json().tags).toHaveLength(1);
  });

  test('swarm: deleting a tag that does not exist is not an error', async () => {
    const { api } = await startKit({ dialect: 'swarm' });
    expect((await api.main.delete('/tags/7')).statusCode).toBe(204);
    expect((await api.main.get('/tags/7')).statusCode).toBe(404);
  });

  test.each(['GET', 'DELETE', 'PATCH'] as const)('%s of a tag that does not exist', async (method) => {
    const { api, knobs } = await startKit();
    const answerOf = async (uid: string) => (await api.main.inject({ method, url: `/tags/${uid}` })).json();
    expect(await answerOf('7')).toEqual({ code: 404, message: 'tag not present' });
    expect(await answerOf('0')).toEqual({
      code: 400,
      message: 'invalid path params',
      reasons: ['id: want required:'],
    });
    expect(await answerOf('x')).toEqual({
      code: 400,
      message: 'invalid path params',
      reasons: ['id: invalid syntax'],
    });
    expect((await answerOf('18446744073709551616')).reasons).toEqual(['id: value out of range']);
    expect(await answerOf('18446744073709551615')).toEqual({ code: 404, message: 'tag not present' });
    knobs.failing.add('tag get');
    expect(await answerOf('7')).toEqual({ code: 500, message: 'cannot get tag' });
  });

  test.each([
    ['POST', 'tag create', { code: 500, message: 'cannot create tag' }],
    ['GET', 'tag list', { code: 500, message: 'tag list is broken' }],
  ] as const)('%s with a broken store (%s)', async (method, failing, body) => {
    const { api, knobs } = await startKit();
    knobs.failing.add(failing);
    expect((await api.main.inject({ method, url: '/tags' })).json()).toEqual(body);
  });

  test.each(['address', 'reference'])('PATCH gives the tag its %s and changes no counter', async (name) => {
    const { api } = await startKit();
    await api.main.post('/tags');
    const answer = await api.main.patch('/tags/1', { [name]: REFERENCE });
    expect([answer.statusCode, answer.json()]).toEqual([200, { code: 200, message: 'ok' }]);
    expect((await api.main.get('/tags/1')).json()).toMatchObject({
      address: REFERENCE,
      split: 0,
      seen: 0,
    });
  });

  test.each([REFERENCE, { bytes: { 0: 171 }, length: 32 }])(
    'swarm: PATCH ignores the reference that bee-js sends, as Bee does: %o',
    async (reference) => {
      const { api } = await startKit({ dialect: 'swarm' });
      await api.main.post('/tags');
      const answer = await api.main.patch('/tags/1', { reference });
      expect([answer.statusCode, answer.json()]).toEqual([200, { code: 200, message: 'ok' }]);
      expect((await api.main.get('/tags/1')).json().address).toBe('');
    },
  );

  test('PATCH without a body is fine', async () => {
    const { api } = await startKit();
    await api.main.post('/tags');
    expect((await api.main.patch('/tags/1')).statusCode).toBe(200);
    expect((await api.main.patch('/tags/1', {})).statusCode).toBe(200);
  });

  test.each([
    ['{', 'no JSON'],
    ['[]', 'want an object'],
    ['{"address":5}', 'want a text as address'],
    ['{"address":"xyz"}', 'hex of odd length 3: xyz'],
    ['{"address":"abc"}', 'hex of odd length 3: abc'],
  ])('PATCH with %s is refused, before the tag is looked up', async (payload, reason) => {
    const asked = { method: 'PATCH', url: '/tags/99', payload } as const;
    const answer = await (await startKit()).api.main.inject(asked);
    expect(answer.json()).toEqual({
      code: 400,
      message: 'invalid body params',
      reasons: [`body: ${reason}`],
    });
    const swarm = await (await startKit({ dialect: 'swarm' })).api.main.inject(asked);
    expect(swarm.json()).toEqual({ code: 500, message: 'error unmarshaling metadata' });
  });

  test('PATCH that cannot close', async () => {
    const { api, knobs } = await startKit();
    await api.main.post('/tags');
    knobs.doneError = new Error('disk full');
    expect((await api.main.patch('/tags/1')).json()).toEqual({
      code: 500,
      message: 'done split: failed',
    });
  });
});
