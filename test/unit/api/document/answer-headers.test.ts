import type { InjectOptions } from 'light-my-request';
import { expect, test } from 'vitest';
import { updateId } from '../../../../node/feeds/feed.ts';
import { BATCH } from '../fake-postage.ts';
import { startKit } from '../kit.ts';
import { socOf } from '../soc-kit.ts';
import { OPERATIONS } from './compare.ts';

const kit = await startKit();
const PAID = { 'svc-postage-batch-id': BATCH };
const SECRET = { ...PAID, 'svc-act': 'true' };
const send = async (request: InjectOptions) => {
  const answer = await kit.api.main.inject(request);
  expect(answer.statusCode, answer.body).toBeLessThan(300);
  return answer;
};
const tagged = async (headers: Record<string, string>) => ({
  ...headers,
  'svc-tag': String((await send({ method: 'POST', url: '/tags' })).json().uid),
});

const TOPIC = 'ab'.repeat(32);
const update = socOf('first', updateId(Buffer.from(TOPIC, 'hex'), 0n));
const other = socOf('other', new Uint8Array(32).fill(2));
const [, , owner] = other.url.split('/');
const octets = { 'content-type': 'application/octet-stream' };
const soc = ({ url, wrapped }: typeof update, headers: Record<string, string>) =>
  send({ method: 'POST', url, headers: { ...octets, ...headers }, payload: wrapped });

const CALLS: Readonly<Record<string, () => ReturnType<typeof send>>> = {
  'POST /bytes': () =>
    send({ method: 'POST', url: '/bytes', headers: { ...octets, ...PAID }, payload: 'bytes' }),
  'HEAD /bytes/{reference}': async () => {
    const { reference } = (await CALLS['POST /bytes']!()).json();
    return send({ method: 'HEAD', url: `/bytes/${reference}` });
  },
  'POST /chunks': async () => {
    const payload = Buffer.concat([Buffer.from([5, 0, 0, 0, 0, 0, 0, 0]), Buffer.from('chunk')]);
    return send({
      method: 'POST',
      url: '/chunks',
      headers: { ...octets, ...(await tagged(SECRET)) },
      payload,
    });
  },
  'POST /svc': () =>
    send({ method: 'POST', url: '/svc', headers: { ...octets, ...SECRET }, payload: 'file' }),
  'POST /soc/{owner}/{id}': () => soc(other, SECRET),
  'GET /soc/{owner}/{id}': async () => {
    await soc(update, await tagged(PAID));
    return send({ url: update.url.replace(/\?.*/, '') });
  },
  'POST /feeds/{owner}/{topic}': () =>
    send({ method: 'POST', url: `/feeds/${owner}/${TOPIC}`, headers: SECRET }),
  'GET /feeds/{owner}/{topic}': async () => {
    await soc(update, await tagged(PAID));
    return send({ url: `/feeds/${owner}/${TOPIC}` });
  },
};

const shown = OPERATIONS.filter(({ answerHeaders }) => answerHeaders !== undefined);

test.each(shown)('$method $path', async ({ method, path, answerHeaders }) => {
  const call = CALLS[`${method} ${path}`];
  expect(call, 'a call that gets all of its headers').toBeDefined();
  expect(Object.keys((await call?.())?.headers ?? {})).toEqual(
    expect.arrayContaining([...(answerHeaders ?? [])]),
  );
});
