/** A node stores encoded bodies as they come, so only the dialect of a Bee takes them. */
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { ROUTES } from '../../../node/api/routes/table.ts';
import { BATCH } from './fake-postage.ts';
import { type Kit, startKit } from './kit.ts';

const WITH_BODY = ROUTES.filter(({ body, port }) => body !== undefined && port !== 'debug');
const urlOf = (path: string) => path.replaceAll(/\{[^}]+\}/g, 'ab');
const upload = ({ api, dialect }: Kit, coding?: string) =>
  api.main.post('/bytes', gzipSync('hello'), {
    [dialect.headers.postageBatchId.active]: BATCH,
    'content-type': 'application/octet-stream',
    ...(coding === undefined ? {} : { 'content-encoding': coding }),
  });

describe('in the svc dialect', () => {
  test.each(WITH_BODY)('$method $path refuses one', async ({ method, path }) => {
    const { api } = await startKit();
    const headers = { 'content-encoding': 'gzip', 'svc-postage-batch-id': BATCH };
    const answer = await api.main.inject({ method, url: urlOf(path), headers, payload: gzipSync('{}') });
    expect(answer.json()).toEqual({
      code: 400,
      message: 'invalid header params',
      reasons: ['content-encoding: want identity, got gzip: send the body as it is to be stored'],
    });
  });

  test.each(['', 'identity', 'Identity'])('%j is no encoding', async (coding) => {
    const kit = await startKit();
    expect((await upload(kit, coding)).json()).toEqual((await upload(kit)).json());
  });
});

test('in the swarm dialect one is stored as it came, as a Bee does', async () => {
  const kit = await startKit({ dialect: 'swarm' });
  const plain = await upload(kit);
  expect(plain.statusCode).toBe(201);
  for (const coding of ['gzip', 'br', 'nonsense'])
    expect((await upload(kit, coding)).json()).toEqual(plain.json());
});
