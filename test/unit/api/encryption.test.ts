import { pack } from 'tar-stream';
import { describe, expect, test } from 'vitest';
import { fromHex, toHex } from '../../../formats/crypto/hex.ts';
import { BATCH } from './fake-postage.ts';
import { type Kit, startKit } from './kit.ts';

const CONTENT = Buffer.from(Array.from({ length: 300_000 }, (_, i) => i % 251));
const ENCRYPTED = { 'svc-postage-batch-id': BATCH, 'svc-encrypt': 'true' };

async function stored(
  url: string,
  payload: Buffer,
  headers: Record<string, string> = {},
): Promise<Kit & { reference: string; headers: Record<string, unknown> }> {
  const kit = await startKit();
  const answer = await kit.api.main.post(url, payload, { ...ENCRYPTED, ...headers });
  expect(answer.statusCode).toBe(201);
  expect(answer.json().reference).toMatch(/^[0-9a-f]{128}$/);
  return { ...kit, reference: answer.json().reference, headers: answer.headers };
}

function wrongKey(reference: string, bit = 0): string {
  const bytes = fromHex(reference);
  bytes[63] = (bytes[63] as number) ^ (1 << bit);
  return toHex(bytes);
}

describe('encrypted bytes', () => {
  test.each([0, 1, 4096, 4097, 64 * 4096 + 1])('of length %i are read back as they were', async (size) => {
    const content = CONTENT.subarray(0, size);
    const { api, reference } = await stored('/bytes', content);
    const answer = await api.main.get(`/bytes/${reference}`);
    expect(answer.statusCode).toBe(200);
    expect(answer.headers['content-length']).toBe(String(size));
    expect(answer.headers.etag).toBe(`"${reference}"`);
    expect(answer.rawPayload.equals(content)).toBe(true);
  });

  test('are read in part, and in several parts', async () => {
    const { api, reference } = await stored('/bytes', CONTENT);
    const part = await api.main.get(`/bytes/${reference.toUpperCase()}`, { range: 'bytes=262140-262150' });
    expect(part.statusCode).toBe(206);
    expect(part.rawPayload.equals(CONTENT.subarray(262_140, 262_151))).toBe(true);
    const parts = await api.main.get(`/bytes/${reference}`, { range: 'bytes=0-1,9-9' });
    expect(parts.statusCode).toBe(206);
    expect(parts.headers['content-type']).toMatch(/^multipart\/byteranges/);
  });

  test('show their true size in the answer to HEAD', async () => {
    const { api, reference } = await stored('/bytes', CONTENT);
    const answer = await api.main.head(`/bytes/${reference}`);
    expect(answer.statusCode).toBe(200);
    expect(answer.headers['content-length']).toBe(String(CONTENT.length));
  });

  test('are stored as chunks of one size that nowhere contain the content', async () => {
    const text = 'a sentence that nobody should read ';
    const kit = await startKit();
    const headers = { ...ENCRYPTED, 'svc-deferred-upload': 'false' };
    const payload = text.repeat(500);
    const answer = await kit.api.main.post('/bytes', payload, headers);
    expect(answer.statusCode).toBe(201);
    expect(kit.knobs.pushed).toHaveLength(6);
    for (const { chunk } of kit.knobs.pushed) {
      expect(chunk.data).toHaveLength(4104);
      expect(Buffer.from(chunk.data).includes('sentence')).toBe(false);
    }
  });

  test('show the address of their root in the tag, without the key', async () => {
    const { services, reference } = await stored('/bytes', CONTENT);
    expect(toHex(services.store.tags.get(1)?.address ?? new Uint8Array())).toBe(reference.slice(0, 64));
  });

  test('have another reference at every upload', async () => {
    const first = await stored('/bytes', CONTENT);
    const second = await stored('/bytes', CONTENT);
    expect(first.reference).not.toBe(second.reference);
  });

  test('cannot be read with a wrong key', async () => {
    const { api, reference } = await stored('/bytes', CONTENT);
    const seen = new Set<number>();
    for (const bit of [0, 1, 2, 3, 4, 5, 6, 7]) {
      const answer = await api.main.get(`/bytes/${wrongKey(reference, bit)}`);
      seen.add(answer.statusCode);
      // By chance, one in sixteen opens something like references.
      const message =
        answer.statusCode === 500 ? 'joiner failed' : expect.stringMatching(/^malformed tree: /);
      expect(answer.json()).toEqual({ code: answer.statusCode === 500 ? 500 : 404, message });
    }
    expect(seen).toContain(404);
  });

  test('with a root that no node has are not found', async () => {
    const { api, reference } = await stored('/bytes', CONTENT);
    const absent = `${'ab'.repeat(32)}${reference.slice(64)}`;
    expect((await api.main.get(`/bytes/${absent}`)).statusCode).toBe(404);
  });

  test('are not served as a chunk: its address is the first half of the reference', async () => {
    const { api, reference } = await stored('/bytes', CONTENT);
    expect((await api.main.get(`/chunks/${reference}`)).statusCode).toBe(400);
    const chunk = await api.main.get(`/chunks/${reference.slice(0, 64)}`);
    expect(chunk.rawPayload).toHaveLength(4104);
  });

  test('are requested in the other dialect by its own header', async () => {
    const { api } = await startKit({ dialect: 'swarm' });
    const headers = { 'swarm-postage-batch-id': BATCH, 'swarm-encrypt': 'true' };
    const answer = await api.main.post('/bytes', 'hello', headers);
    expect(answer.json().reference).toHaveLength(128);
  });
});

describe('an encrypted file', () => {
  const TEXT = { 'content-type': 'text/plain' };

  test('is served by its name and as the content of the root', async () => {
    const { api, reference, headers } = await stored('/svc?name=a.txt', CONTENT, TEXT);
    expect(headers.etag).toBe(`"${reference}"`);
    for (const path of ['/', '/a.txt']) {
      const answer = await api.main.get(`/svc/${reference}${path}`);
      expect(answer.statusCode).toBe(200);
      expect(answer.headers['content-type']).toBe('text/plain');
      expect(answer.headers['content-disposition']).toBe('inline; filename="a.txt"');
      expect(answer.rawPayload.equals(CONTENT)).toBe(true);
      const head = await api.main.head(`/svc/${reference}${path}`);
      expect(head.headers['content-length']).toBe(String(CONTENT.length));
    }
  });

  test('without a name is named after its own reference, key included', async () => {
    const { api, reference } = await stored('/svc', CONTENT, TEXT);
    const answer = await api.main.get(`/svc/${reference}/`);
    expect(answer.rawPayload.equals(CONTENT)).toBe(true);
    expect(answer.headers['content-disposition']).toMatch(/^inline; filename="[0-9a-f]{128}"$/);
  });

  test('is not found with a wrong key', async () => {
    const { api, reference } = await stored('/svc?name=a.txt', CONTENT, TEXT);
    const url = `/svc/${wrongKey(reference)}/`;
    expect((await api.main.get(url)).json()).toEqual({
      code: 404,
      message: 'address not found or incorrect',
    });
  });
});

describe('an encrypted collection', () => {
  const FILES: Readonly<Record<string, string>> = {
    'index.html': '<html>home</html>',
    'error.html': '<html>error</html>',
    'docs/a name that is longer than one prefix of a fork.txt': 'long',
    'docs/readme.txt': 'read me',
  };

  async function site() {
    const archive = pack();
    for (const [name, text] of Object.entries(FILES)) archive.entry({ name }, text);
    archive.finalize();
    return stored('/svc', Buffer.concat(await Array.fromAsync(archive as AsyncIterable<Buffer>)), {
      'content-type': 'application/x-tar',
      'svc-collection': 'true',
      'svc-index-document': 'index.html',
      'svc-error-document': 'error.html',
    });
  }

  test('serves every path, its index and its error document', async () => {
    const { api, reference } = await site();
    const get = async (path: string) =>
      (await api.main.get(`/svc/${reference}/${encodeURIComponent(path).replaceAll('%2F', '/')}`)).payload;
    for (const [path, text] of Object.entries(FILES)) expect(await get(path)).toBe(text);
    expect(await get('')).toBe(FILES['index.html']);
    expect(await get('nowhere')).toBe(FILES['error.html']);
    const folder = await api.main.get(`/svc/${reference}/docs`);
    expect(folder.statusCode).toBe(308);
  });

  test('hides its paths: no stored chunk holds a name', async () => {
    const { services } = await site();
    const held = services.store.uploads.pending(0, 1000);
    expect(held.length).toBeGreaterThan(8);
    for (const { chunk } of held) expect(Buffer.from(chunk.data).includes('readme')).toBe(false);
  });
});
