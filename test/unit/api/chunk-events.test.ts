import { expect, test } from 'vitest';
import { ChunkEvents } from '../../../node/env/chunk-events.ts';
import { startKit } from './kit.ts';

const ADDRESS = new Uint8Array(32).fill(0xaa);

async function kit(dialect: 'svc' | 'swarm' = 'svc') {
  const { api, knobs } = await startKit({ dialect });
  return {
    knobs,
    get: (query: string) => api.debug.get(`/chunk-events${query}`),
    main: api.main,
  };
}

test('a node that keeps no events says so', async () => {
  const { get, main } = await kit();
  const { statusCode, body } = await get('');
  expect(statusCode).toBe(200);
  expect(JSON.parse(body)).toEqual({ events: [], last: 0, lost: 0, capacity: 0 });
  expect((await main.get('/chunk-events')).statusCode).toBe(404);
});

test.each(['svc', 'swarm'] as const)(
  '%s: events are read by address, position and number',
  async (dialect) => {
    const { knobs, get } = await kit(dialect);
    const events = new ChunkEvents(5, { now: () => 1000, monotonic: () => 0 });
    knobs.chunkEvents = events;
    for (let n = 0; n < 4; n++) events.add('queued', ADDRESS);
    for (let n = 0; n < 3; n++) events.add('pushing', new Uint8Array(32));
    const all = JSON.parse((await get('')).body);
    expect(all).toMatchObject({ last: 7, lost: 2, capacity: 5 });
    expect(all.events).toHaveLength(5);
    const some = JSON.parse((await get(`?address=${'AA'.repeat(32)}&after=3&limit=1`)).body);
    expect(some).toEqual({
      events: [{ seq: 4, at: 1000, address: 'aa'.repeat(32), kind: 'queued' }],
      last: 4,
      lost: 0,
      capacity: 5,
    });
  },
);

test.each([
  ['?address=abc', 'address', 'odd length hex string'],
  ['?address=zz', 'address', "invalid hex byte: U+007A 'z'"],
  [`?address=${'aa'.repeat(64)}`, 'address', 'want len:32'],
  ['?after=-1', 'after', 'invalid syntax'],
  ['?limit=0', 'limit', 'want min:1'],
  ['?limit=10001', 'limit', 'want max:10000'],
])('%s is refused with its reason', async (query, field, error) => {
  const { get } = await kit();
  const { statusCode, body } = await get(query);
  expect(statusCode).toBe(400);
  expect(JSON.parse(body)).toMatchObject({ reasons: [`${field}: ${error}`] });
});
