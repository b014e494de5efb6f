import { expect, test } from 'vitest';
import { BATCH, startKit } from './kit.ts';

test('bytes uploaded are the bytes downloaded', async () => {
  const { api } = await startKit();
  const payload = Buffer.alloc(100_000, 'abcdefg');
  const up = await api.main.inject({
    method: 'POST',
    url: '/bytes',
    headers: { 'svc-postage-batch-id': BATCH },
    payload,
  });
  expect(up.json()).toEqual({ reference: expect.stringMatching(/^[a-f0-9]{64}$/) });
  expect(up.statusCode).toBe(201);
  expect(up.headers['svc-tag']).toBe('1');
  const down = await api.main.inject({ url: `/v1/bytes/${up.json().reference}` });
  expect(down.statusCode).toBe(200);
  expect(down.rawPayload.equals(payload)).toBe(true);
});
