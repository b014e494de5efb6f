import { describe, expect, test } from 'vitest';
import { makeCac } from '../../../formats/chunk/cac.ts';
import { BATCH } from './fake-postage.ts';
import { startKit } from './kit.ts';

const content = makeCac(5n, Buffer.from('hello'));

describe.each(['svc', 'swarm'] as const)('with names of the %s dialect', (dialect) => {
  const reason =
    dialect === 'svc'
      ? 'disk: the disk is full, the node only reads until there is space again'
      : { field: 'disk', error: 'the disk is full, the node only reads until there is space again' };

  async function fullKit() {
    const kit = await startKit({ dialect });
    kit.knobs.disk.availableBytes = 0;
    kit.knobs.network.set(Buffer.from(content.address).toString('hex'), content);
    return kit;
  }

  test.each([
    ['/bytes', { payload: 'hello' }],
    [
      `/${dialect === 'svc' ? 'svc' : 'bzz'}?name=a.txt`,
      { payload: 'hello', headers: { 'content-type': 'text/plain' } },
    ],
    [`/pins/${Buffer.from(content.address).toString('hex')}`, {}],
    ['/tags', {}],
    [`/feeds/${'ab'.repeat(20)}/${'00'.repeat(32)}`, {}],
  ])('POST %s is refused with 507 and the reason', async (url, request) => {
    const { api } = await fullKit();
    const headers = {
      [`${dialect === 'svc' ? 'svc' : 'swarm'}-postage-batch-id`]: BATCH,
      'content-type': 'application/octet-stream',
      ...('headers' in request ? request.headers : {}),
    };
    const answer = await api.main.inject({ method: 'POST', url, ...request, headers });
    expect(answer.json()).toEqual({ code: 507, message: 'insufficient storage', reasons: [reason] });
    expect(answer.statusCode).toBe(507);
  });

  test('reads continue, and its health is nok', async () => {
    const { api } = await fullKit();
    const url = `/chunks/${Buffer.from(content.address).toString('hex')}`;
    const answer = await api.main.get(url);
    expect(answer.rawPayload.equals(Buffer.from(content.data))).toBe(true);
    expect((await api.main.get('/health')).json()).toMatchObject({ status: 'nok' });
    expect((await api.debug.get('/status/backlog')).json()).toMatchObject({
      disk: { full: true },
    });
  });
});

test('a disk that fills up during an upload also ends it with 507', async () => {
  const { api, knobs } = await startKit();
  knobs.putError = Object.assign(new Error('the disk is full'), { code: 'STORE_FULL' });
  const headers = { 'svc-postage-batch-id': BATCH };
  const answer = await api.main.post('/bytes', Buffer.alloc(9000), headers);
  expect(answer.statusCode).toBe(507);
});
