import { describe, expect, test } from 'vitest';
import { ROUTES } from '../../../node/api/routes/table.ts';
import { BATCH } from './fake-postage.ts';
import { type Kit, startKit } from './kit.ts';

const SITE = {
  'index.html': '<html>home</html>',
  'error.html': '<html>error</html>',
  'docs/index.html': '<html>docs</html>',
  'v1/notes.txt': 'notes',
  'bzz/a.txt': 'a',
  'bytes/b.txt': 'b',
  'robots.txt': 'User-agent: robot',
  'openapi.json': '{"of":"the site"}',
  health: 'of the site',
};
const BOUNDARY = 'cut';

async function site(kit: Kit): Promise<string> {
  const parts = Object.entries(SITE).map(
    ([name, text]) =>
      `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\nContent-Type: text/html\r\n\r\n${text}\r\n`,
  );
  const answer = await kit.api.main.post('/svc', `${parts.join('')}--${BOUNDARY}--\r\n`, {
    'svc-postage-batch-id': BATCH,
    'content-type': `multipart/form-data; boundary=${BOUNDARY}`,
    'svc-index-document': 'index.html',
    'svc-error-document': 'error.html',
  });
  expect(answer.statusCode).toBe(201);
  return answer.json().reference;
}

function cidOf(reference: string): string {
  const bits = [1, 0xfa, 0x01, 0x1b, 0x20, ...Buffer.from(reference, 'hex')]
    .map((byte) => byte.toString(2).padStart(8, '0'))
    .join('');
  const digits = bits.match(/.{1,5}/g) ?? [];
  const text = digits.map(
    (five) => 'abcdefghijklmnopqrstuvwxyz234567'[Number.parseInt(five.padEnd(5, '0'), 2)],
  );
  return `b${text.join('')}`;
}

const kit = await startKit();
const reference = await site(kit);
const cid = cidOf(reference);
const host = `${cid}.svc.localhost`;

function get(url: string, headers: Record<string, string> = { host }, from = kit) {
  return from.api.main.get(url, headers);
}

describe('content by host name', () => {
  test('a CID fits into the label of a host name', () => {
    expect(cid.length).toBeLessThanOrEqual(63);
  });

  test.each([
    ['/', SITE['index.html']],
    ['/index.html', SITE['index.html']],
    ['/docs/', SITE['docs/index.html']],
    ['/v1/notes.txt', SITE['v1/notes.txt']],
    ['/bzz/a.txt', SITE['bzz/a.txt']],
    ['/bytes/b.txt', SITE['bytes/b.txt']],
    ['/robots.txt', SITE['robots.txt']],
    ['/openapi.json', SITE['openapi.json']],
    ['/v1%2Fnotes.txt?q=1', SITE['v1/notes.txt']],
    ['/nowhere', SITE['error.html']],
  ])('%s serves the file of that path', async (path, text) => {
    const answer = await get(path);
    expect([answer.statusCode, answer.body]).toEqual([200, text]);
    expect(answer.headers['content-type']).toBe('text/html');
  });

  test.each([
    `${reference}.svc.localhost`,
    `${reference}.swarm.localhost`,
    `${cid.toUpperCase()}.SVC.LocalHost`,
    `${cid}.svc.localhost:1633`,
    `${cid}.svc.localhost:`,
  ])('%s names the site', async (name) => {
    expect((await get('/', { host: name })).body).toBe(SITE['index.html']);
  });

  test('both suffixes work in the swarm dialect', async () => {
    const swarm = await startKit({ dialect: 'swarm' });
    const root = await site(swarm);
    for (const suffix of ['svc', 'swarm']) {
      const answer = await get('/docs/', { host: `${root}.${suffix}.localhost` }, swarm);
      expect(answer.body, suffix).toBe(SITE['docs/index.html']);
    }
  });

  test('a folder is redirected to the path with a slash, an unclean path to the clean one', async () => {
    const folder = await get('/docs?x=1');
    expect([folder.statusCode, folder.headers.location]).toEqual([308, '/docs/?x=1']);
    const twice = await get('/docs//');
    expect([twice.statusCode, twice.headers.location]).toEqual([301, '/docs/']);
  });

  test('ranges and conditions work as for every download', async () => {
    const part = await get('/index.html', { host, range: 'bytes=1-4' });
    expect([part.statusCode, part.body]).toEqual([206, 'html']);
    const { etag } = (await get('/index.html')).headers;
    expect((await get('/index.html', { host, 'if-none-match': String(etag) })).statusCode).toBe(304);
  });

  test.each(['/health', '/v1/health', '/readiness'])(
    'probes at %s are answered by the node on any host',
    async (path) => {
      const [here, there] = [await get(path), await get(path, { host: 'localhost' })];
      expect(here.statusCode).toBe(200);
      expect(here.json()).toEqual(there.json());
    },
  );

  test.each(ROUTES.filter(({ forProbes }) => forProbes !== true).map(({ method, path }) => [method, path]))(
    '%s %s of the node is not served',
    async (method, path) => {
      const request = { method: method as 'GET', url: path.replaceAll(/\{[^}]+\}/g, '1'), headers: { host } };
      const answer = await kit.api.main.inject(request);
      if (method === 'GET') expect(Object.values(SITE)).toContain(answer.body);
      else expect(answer.statusCode).toBe(405);
      expect((await kit.api.debug.inject(request)).statusCode).toBe(404);
    },
  );

  test('the debug listener serves no content', async () => {
    expect((await kit.api.debug.get('/index.html', { host })).statusCode).toBe(404);
  });

  test('a site is not sandboxed: its pages have an origin of their own', async () => {
    const { headers } = await get('/index.html');
    expect(headers['content-security-policy']).toBeUndefined();
    expect(headers['x-content-type-options']).toBe('nosniff');
  });

  test.each(['svc.localhost', 'localhost', 'notsvc.localhost'])(
    '%s is the host of the node itself',
    async (name) => {
      expect((await get('/', { host: name })).body).toBe('svc node\n');
    },
  );

  test('GET is the only method', async () => {
    for (const method of ['HEAD', 'POST', 'DELETE'] as const) {
      const refused = await kit.api.main.inject({ method, url: '/index.html', headers: { host } });
      expect([refused.statusCode, refused.headers.allow], method).toEqual([405, 'GET']);
    }
    const options = await kit.api.main.inject({ method: 'OPTIONS', url: '/', headers: { host } });
    expect([options.statusCode, options.headers.allow]).toEqual([204, 'GET']);
  });

  test('headers of access control are ignored', async () => {
    const act = { 'svc-act-publisher': 'no key', 'svc-act-history-address': 'no history' };
    expect((await get('/index.html', { host, ...act })).statusCode).toBe(200);
  });

  test('is served while the node is still starting', async () => {
    const starting = await startKit();
    const root = await site(starting);
    starting.knobs.state = 'starting';
    expect((await get('/', { host: `${root}.svc.localhost` }, starting)).statusCode).toBe(200);
    expect((await get(`/svc/${root}/`, { host: 'localhost' }, starting)).statusCode).toBe(503);
  });

  test.each([
    [
      'name',
      400,
      'invalid path params',
      'subdomain: invalid name or svc address: failed parsing CID name err',
    ],
    ['', 400, 'invalid path params', 'subdomain: want required:'],
    ['name.eth', 503, 'service unavailable', 'subdomain: ENS service is not available'],
    ['abcd', 404, 'address not found or incorrect', ''],
    ['0'.repeat(64), 404, 'address not found or incorrect', ''],
  ])('the name "%s" is refused with %i', async (name, status, message, reason) => {
    const answer = await get('/', { host: `${name}.svc.localhost` });
    expect([answer.statusCode, answer.json().message]).toEqual([status, message]);
    expect(String(answer.json().reasons ?? '')).toContain(reason);
  });
});
