import type { Response } from 'light-my-request';
import { describe, expect, test, vi } from 'vitest';
import { httpDate } from '../../../../node/api/values/http-date.ts';
import { BATCH } from '../fake-postage.ts';
import { NOW_MS, startKit } from '../kit.ts';

const body = Buffer.from(Array.from({ length: 50_000 }, (_, i) => i % 251));
const { api, knobs, services } = await startKit();
const uploaded = await api.main.post('/svc?name=dir/a%20%22b%22.bin', body, {
  'svc-postage-batch-id': BATCH,
  'content-type': 'text/x-own; a=b',
});
const bytes = await api.main.post('/bytes', body, { 'svc-postage-batch-id': BATCH });
const content: string = bytes.json().reference;
/** Conditions and ranges of both routes are one code. */
const URLS = [`/bytes/${content}`, `/svc/${uploaded.json().reference}/`, `/svc/${uploaded.json().reference}`];

function get(url: string, headers: Record<string, string> = {}) {
  return api.main.get(url, headers);
}

describe.each(URLS)('GET %s', (url) => {
  test('the whole content and its headers', async () => {
    const { statusCode, headers, rawPayload } = await get(url);
    expect(statusCode).toBe(200);
    expect(rawPayload.equals(body)).toBe(true);
    expect(headers).toMatchObject({
      'content-length': '50000',
      'accept-ranges': 'bytes',
      etag: `"${content}"`,
      'last-modified': httpDate(NOW_MS),
      'access-control-expose-headers': 'content-disposition',
    });
    expect(headers['cache-control']).toBeUndefined();
  });

  test('one range', async () => {
    const { statusCode, headers, rawPayload } = await get(url, { range: 'bytes=4090-4099' });
    expect(statusCode).toBe(206);
    expect(headers['content-range']).toBe('bytes 4090-4099/50000');
    expect(headers['content-length']).toBe('10');
    expect(headers.etag).toBe(`"${content}"`);
    expect(rawPayload.equals(body.subarray(4090, 4100))).toBe(true);
  });

  test('the last bytes', async () => {
    const { headers, rawPayload } = await get(url, { range: 'bytes=-3' });
    expect(headers['content-range']).toBe('bytes 49997-49999/50000');
    expect(rawPayload.equals(body.subarray(-3))).toBe(true);
  });

  test('several ranges are sent as parts, each with its position and type', async () => {
    const { statusCode, headers, rawPayload } = await get(url, { range: 'bytes=0-1, 49998-' });
    expect(statusCode).toBe(206);
    const boundary = /^multipart\/byteranges; boundary=([0-9a-f]+)$/.exec(
      String(headers['content-type']),
    )?.[1];
    const type = url.startsWith('/bytes') ? 'application/octet-stream' : 'text/x-own; a=b';
    expect(rawPayload.toString('latin1')).toBe(
      [
        `--${boundary}\r\nContent-Range: bytes 0-1/50000\r\nContent-Type: ${type}\r\n\r\n${body.toString('latin1', 0, 2)}`,
        `--${boundary}\r\nContent-Range: bytes 49998-49999/50000\r\nContent-Type: ${type}\r\n\r\n${body.toString('latin1', 49_998)}`,
        `--${boundary}--\r\n`,
      ].join('\r\n'),
    );
    expect(headers['content-length']).toBe(String(rawPayload.length));
  });

  test('an invalid range', async () => {
    const { statusCode, headers, body: text } = await get(url, { range: 'bytes=5-2' });
    expect([statusCode, text]).toEqual([416, 'invalid range\n']);
    expect(headers).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'content-length': '14',
    });
    for (const name of ['etag', 'last-modified', 'content-range']) expect(headers[name]).toBeUndefined();
  });

  test('a range beyond the end', async () => {
    const { statusCode, headers, body: text } = await get(url, { range: 'bytes=50000-' });
    expect([statusCode, text]).toEqual([416, 'invalid range: failed to overlap\n']);
    expect(headers['content-range']).toBe('bytes */50000');
  });

  test('content that the client has', async () => {
    const { statusCode, headers, rawPayload } = await get(url, { 'if-none-match': `W/"${content}"` });
    expect([statusCode, rawPayload.length]).toEqual([304, 0]);
    expect(headers.etag).toBe(`"${content}"`);
    for (const name of ['content-type', 'content-length', 'last-modified'])
      expect(headers[name]).toBeUndefined();
  });

  test('content that does not match the condition', async () => {
    const { statusCode, headers, rawPayload } = await get(url, { 'if-match': '"x"' });
    expect([statusCode, rawPayload.length, headers['content-length']]).toEqual([412, 0, '0']);
    expect(headers['last-modified']).toBe(httpDate(NOW_MS));
  });
});

describe('HEAD is GET without a body', () => {
  const facts = ({ statusCode, headers }: Response) => {
    const { 'x-request-id': _id, connection: _connection, ...others } = headers;
    return { statusCode, headers: others };
  };

  describe.each([...URLS, `/svc/${uploaded.json().reference}/nowhere`, `/bytes/${'0'.repeat(64)}`])(
    '%s',
    (url) => {
      test.each([
        {},
        { range: 'bytes=4090-4099' },
        { range: 'bytes=0-1, 49998-' },
        { range: 'bytes=5-2' },
        { range: 'bytes=50000-' },
        { range: 'bytes=0-1', 'if-range': '"another"' },
        { range: 'bytes=0-1', 'if-range': `"${content}"` },
        { 'if-none-match': `W/"${content}"` },
        { 'if-none-match': '*' },
        { 'if-match': '"x"' },
        { 'if-modified-since': httpDate(NOW_MS) },
        { 'if-unmodified-since': httpDate(0) },
        { 'svc-chunk-retrieval-timeout': 'soon' },
        { 'svc-redundancy-level': '5' },
        { accept: 'text/html' },
      ] as const)('%j', async (headers) => {
        for (const dialect of ['svc', 'swarm'] as const) {
          const kit = await startKit({ dialect });
          kit.services.netstore.getter = (wishes) => services.netstore.getter(wishes);
          const [got, head] = [await kit.api.main.get(url, headers), await kit.api.main.head(url, headers)];
          expect(facts(head)).toEqual(facts(got));
          expect(head.rawPayload).toHaveLength(0);
        }
      });
    },
  );

  test('and reads no more than the root chunk of the file', async () => {
    const other = await startKit();
    const root = services.store.chunks.get(Buffer.from(content, 'hex'));
    if (root !== undefined) other.knobs.network.set(content, root);
    const head = await other.api.main.head(`/bytes/${content}`);
    expect([head.statusCode, head.headers['content-length']]).toEqual([200, '50000']);
  });
});

describe('failures', () => {
  test('a chunk that is missing before the first byte is an error, a later one breaks the body', async () => {
    const other = await startKit();
    const root = services.store.chunks.get(Buffer.from(content, 'hex'));
    if (root !== undefined) other.knobs.network.set(content, root);
    const answer = await other.api.main.get(`/bytes/${content}`);
    expect(answer.json()).toEqual({ code: 500, message: 'joiner failed' });
    const first = Buffer.from(root?.data ?? []).subarray(8, 40);
    const leaf = services.store.chunks.get(first);
    if (leaf !== undefined) other.knobs.network.set(first.toString('hex'), leaf);
    await expect(other.api.main.get(`/bytes/${content}`)).rejects.toThrow();
  });

  test('a chunk that takes longer than the request allows counts as missing', async () => {
    const slow = await startKit();
    let aborted = false;
    slow.services.netstore.getter = () => ({
      get: (_address, signal) =>
        new Promise((_resolve, reject) => {
          signal?.addEventListener('abort', () => {
            aborted = true;
            reject(signal.reason as Error);
          });
        }),
    });
    const headers = { 'svc-chunk-retrieval-timeout': '1ms' };
    const answer = await slow.api.main.get(`/bytes/${content}`, headers);
    expect(answer.json()).toEqual({ code: 404, message: 'Not Found' });
    expect(aborted).toBe(true);
  });

  test('the speed of a finished download is measured', async () => {
    knobs.nowMs = NOW_MS;
    const { body: text } = await get('/metrics');
    expect(text).toMatch(/^svc_api_download_speed_count\{endpoint="bytes"\} [1-9]/m);
    expect(text).toMatch(/^svc_api_download_speed_count\{endpoint="svc"\} [1-9]/m);
  });
});

test('a long answer repeatedly yields a turn to other work', async () => {
  const payload = Buffer.alloc(13 * 2 ** 20, 7);
  const headers = { 'svc-postage-batch-id': BATCH };
  const answer = await api.main.post('/bytes', payload, headers);
  const turn = vi.spyOn(services.clock, 'turn');
  const { rawPayload } = await get(`/bytes/${answer.json().reference}`);
  expect(rawPayload.equals(payload)).toBe(true);
  expect(turn.mock.calls.length).toBeGreaterThanOrEqual(payload.length / 2 ** 22 - 1);
  turn.mockRestore();
});
