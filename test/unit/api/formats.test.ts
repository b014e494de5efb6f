import { describe, expect, test } from 'vitest';
import { BATCH } from './fake-postage.ts';
import { startKit } from './kit.ts';

const SHORT = 'ab'.repeat(31);
const WITH_KEY = 'ab'.repeat(64);
const ID = '01'.repeat(32);
const OCTETS = { 'content-type': 'application/octet-stream' };

type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
type Request = [Method, string, Record<string, string>?];

const hashesIn = (hash: string): Request[] => [
  ['GET', `/chunks/${hash}`],
  ['GET', `/gsoc/subscribe/${hash}`],
  ['DELETE', `/peers/${hash}`],
  ['POST', `/pingpong/${hash}`],
  ['GET', `/balances/${hash}`],
  ['GET', `/consumed/${hash}`],
  ['GET', `/settlements/${hash}`],
  ['GET', `/chequebook/cheque/${hash}`],
  ['GET', `/chequebook/cashout/${hash}`],
  ['POST', `/chequebook/cashout/${hash}`],
  ['POST', `/envelope/${hash}`],
  ['GET', `/stamps/${hash}`],
  ['GET', `/batches/${hash}`],
];
const paidBy = (batch: string): Request[] =>
  (
    [
      ['POST', '/bytes'],
      ['POST', '/chunks'],
      ['POST', '/svc', OCTETS],
      ['POST', `/soc/${'ab'.repeat(20)}/${ID}?sig=aa`],
      ['POST', `/feeds/${'ab'.repeat(20)}/${ID}`],
      ['POST', '/grantee'],
      ['POST', '/pss/send/topic/aa'],
      ['POST', `/envelope/${ID}`],
      ['PUT', `/stewardship/${ID}`],
      ['GET', '/chunks/stream'],
    ] as const
  ).map(([method, url, headers]) => [method, url, { ...headers, 'svc-postage-batch-id': batch }]);

describe('svc: a hash that is not 64 hex digits is refused by its name', () => {
  test.each<Request>([
    ...[SHORT, WITH_KEY].flatMap(hashesIn),
    ...[SHORT, WITH_KEY].flatMap(paidBy),
    ...(['GET', 'HEAD'] as const).map((method): Request => [method, `/bytes/${SHORT}`]),
  ])('%s %s', async (method, url, given = {}) => {
    const { api } = await startKit();
    const headers = url.startsWith('/envelope') ? { 'svc-postage-batch-id': BATCH, ...given } : given;
    const answer = await api.main.inject({ method, url, headers, payload: method === 'POST' ? '{}' : '' });
    expect(answer.statusCode).toBe(400);
    if (method !== 'HEAD') expect(answer.json().reasons).toEqual([expect.stringMatching(/: want len:32/)]);
  });
});

test.each(['beef', 'ab'.repeat(19), 'ab'.repeat(21)])(
  'svc: the owner %s is 401, whatever is asked of it',
  async (owner) => {
    const { api } = await startKit();
    const headers = { 'svc-postage-batch-id': BATCH };
    for (const [method, url] of [
      ['GET', `/soc/${owner}/${ID}`],
      ['POST', `/soc/${owner}/${ID}?sig=aa`],
      ['GET', `/feeds/${owner}/${ID}`],
      ['POST', `/feeds/${owner}/${ID}`],
    ] as const) {
      const answer = await api.main.inject({ method, url, headers, payload: '12345678' });
      expect(answer.json(), `${method} ${url}`).toEqual({ code: 401, message: 'invalid address' });
    }
    const swarm = (await startKit({ dialect: 'swarm' })).api;
    expect((await swarm.main.get(`/soc/${owner}/${ID}`)).statusCode).toBe(404);
  },
);
