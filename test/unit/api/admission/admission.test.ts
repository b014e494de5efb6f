import { describe, expect, test } from 'vitest';
import { effectOf } from '../../../../node/api/route/route.ts';
import { ROUTES } from '../../../../node/api/routes/table.ts';
import { BATCH } from '../fake-postage.ts';
import { type Kit, startKit } from '../kit.ts';

const DIALECTS = ['svc', 'swarm'] as const;
const TOKENS = { api: 'full-full-full-full', apiRead: 'read-read-read-read', debug: 'debug-debug-debug' };
const EFFECTS = ROUTES.filter((row) => effectOf(row) !== undefined);
const READS = ROUTES.filter((row) => effectOf(row) === undefined);
const FOREIGN: readonly [what: string, Record<string, string>][] = [
  ['a page of another site', { origin: 'http://evil.example', 'sec-fetch-site': 'cross-site' }],
  ['an older browser', { origin: 'http://evil.example' }],
  ['a page of another port', { origin: 'http://localhost:3000', 'sec-fetch-site': 'same-site' }],
  ['a page of content by host name', { origin: 'http://abc.svc.localhost:1633' }],
  ['a sandboxed page', { origin: 'null' }],
  ['a request without an origin', { 'sec-fetch-site': 'cross-site' }],
  ['a neighbour without an origin', { 'sec-fetch-site': 'same-site' }],
];
const OWN: readonly [what: string, Record<string, string>][] = [
  ['a program', {}],
  ['a page of the node', { origin: 'http://localhost:1633', 'sec-fetch-site': 'same-origin' }],
  ['the address bar', { 'sec-fetch-site': 'none' }],
  ['an accepted origin', { origin: 'http://app.example', 'sec-fetch-site': 'cross-site' }],
];
const HOST = 'localhost:1633';

/** With a value for every variable of its path. */
function requestOf({ method, path }: { method: string; path: string }, headers: Record<string, string> = {}) {
  const url = path.replaceAll(/\{[^}]+\}/g, '1');
  return { method: method as 'GET', url, headers: { host: HOST, ...headers } };
}

function deeds({ knobs }: Kit) {
  const { bought, paid, connected, messages, subscriptions, pushed } = knobs;
  return { bought, paid, connected, messages, subscriptions: [...subscriptions], pushed };
}
const NOTHING = { bought: [], paid: [], connected: [], messages: [], subscriptions: [], pushed: [] };

describe.each(DIALECTS)('a host name that resolves to this machine, in the dialect %s', (dialect) => {
  test('is refused by every operation of both ports, without a header that lets a page read it', async () => {
    const kit = await startKit({ dialect, corsAllowedOrigins: ['*'] });
    for (const row of ROUTES) {
      const request = requestOf(row, { host: 'evil.example:1633', origin: 'http://evil.example:1633' });
      for (const port of [kit.api.main, kit.api.debug]) {
        const { statusCode, headers, body } = await port.inject(request);
        expect(statusCode, request.url).toBe(403);
        expect(Object.keys(headers).filter((name) => name.startsWith('access-control-'))).toEqual([]);
        if (row.method !== 'HEAD') expect(JSON.parse(body)).toMatchObject({ code: 403 });
      }
    }
    expect(deeds(kit)).toEqual(NOTHING);
  });

  test('is refused even for preflight requests', async () => {
    const { api } = await startKit({ dialect, corsAllowedOrigins: ['*'] });
    const preflight = { method: 'OPTIONS', url: '/stamps/1/20', headers: { host: 'evil.example' } } as const;
    expect((await api.main.inject(preflight)).statusCode).toBe(403);
  });

  test('is accepted when it was configured', async () => {
    const { api } = await startKit({ dialect, allowedHosts: ['storage.example'] });
    const answer = await api.main.get('/wallet', { host: 'storage.example:1633' });
    expect(answer.statusCode).toBe(200);
  });
});

describe.each(DIALECTS)('a foreign page, in the dialect %s', (dialect) => {
  test.each(FOREIGN)('%s runs no operation that has an effect', async (_what, headers) => {
    const kit = await startKit({ dialect, corsAllowedOrigins: ['http://app.example'] });
    for (const row of EFFECTS) {
      const { statusCode, body } = await kit.api.main.inject(requestOf(row, headers));
      if (row.port === 'debug') continue;
      expect([statusCode, JSON.parse(body).message], row.path).toEqual([
        403,
        'origin not allowed: name it in the option cors-allowed-origins',
      ]);
    }
    expect(deeds(kit)).toEqual(NOTHING);
  });

  test.each(FOREIGN)('%s reads nothing', async (_what, headers) => {
    const { api } = await startKit({ dialect });
    for (const row of READS) {
      const answer = await api.main.inject(requestOf(row, headers));
      expect(answer.headers['access-control-allow-origin'], row.path).toBeUndefined();
    }
  });

  test.each(OWN)('%s is not foreign', async (_what, headers) => {
    const kit = await startKit({ dialect, corsAllowedOrigins: ['http://app.example'] });
    const withdrawal = { method: 'POST', url: '/chequebook/withdraw?amount=5' } as const;
    const answer = await kit.api.main.inject({ ...withdrawal, headers: { host: HOST, ...headers } });
    expect(answer.statusCode).toBe(dialect === 'svc' ? 201 : 200);
    expect(kit.knobs.paid).toHaveLength(1);
  });

  test('withdraws nothing from the chequebook', async () => {
    const kit = await startKit({ dialect });
    const headers = { host: HOST, origin: 'http://evil.example' };
    for (const url of ['/chequebook/withdraw?amount=5', '/stamps/100000000/20', '/v1/stamps/100000000/20']) {
      expect((await kit.api.main.inject({ method: 'POST', url, headers })).statusCode).toBe(403);
      expect((await kit.api.debug.inject({ method: 'POST', url, headers })).statusCode).toBe(403);
    }
    expect(deeds(kit)).toEqual(NOTHING);
  });
});

test('operations with an effect are all except plain reads, and these GET operations', () => {
  expect(EFFECTS.filter(({ method }) => method === 'GET').map(({ path, effect }) => [path, effect])).toEqual([
    ['/chunks/stream', 'changes'],
    ['/pss/subscribe/{topic}', 'subscribes'],
    ['/gsoc/subscribe/{address}', 'subscribes'],
    ['/pins/check', 'costs'],
    ['/stewardship/{reference}', 'costs'],
    ['/rchash/{depth}/{anchor1}/{anchor2}', 'costs'],
    ['/status/peers', 'costs'],
    ['/status/neighborhoods', 'costs'],
  ]);
  expect(READS.every(({ method }) => method === 'GET' || method === 'HEAD')).toBe(true);
});

describe('content under the host of the API', () => {
  test.each(DIALECTS)('is sandboxed in the dialect %s', async (dialect) => {
    const { api } = await startKit({ dialect });
    const requests = READS.filter(({ response }) => response === 'octets').map((row) => requestOf(row));
    const paths = new Set(requests.map(({ url }) => url));
    expect([...paths]).toEqual(['/bytes/1', '/chunks/1', '/svc/1', '/svc/1/1', '/soc/1/1', '/feeds/1/1']);
    const others = ['/v1/bytes/1', '/bzz/1/index.html'].map((url) => ({ method: 'GET' as const, url }));
    for (const { method, url } of [...requests, ...others]) {
      const { headers } = await api.main.inject({ method, url });
      const policy = String(headers['content-security-policy']);
      expect(policy, url).toMatch(/^sandbox /);
      expect(policy).not.toContain('allow-same-origin');
    }
  });

  test('a page of it is sandboxed when it exists', async () => {
    const { api } = await startKit();
    const uploaded = await api.main.post('/svc?name=index.html', '<script>fetch("/wallet")</script>', {
      'svc-postage-batch-id': BATCH,
      'content-type': 'text/html',
    });
    const page = await api.main.get(`/svc/${uploaded.json().reference}/`);
    expect([page.statusCode, page.headers['content-type']]).toEqual([200, 'text/html']);
    expect(page.headers['content-security-policy']).toMatch(/^sandbox /);
  });

  test('no answer has its type guessed', async () => {
    const { api } = await startKit();
    for (const url of ['/', '/health', '/bytes/1', '/nowhere', '/%zz', '/metrics', '/a//b']) {
      expect((await api.main.get(url)).headers['x-content-type-options'], url).toBe('nosniff');
    }
  });
});

describe.each(DIALECTS)('a token, in the dialect %s', (dialect) => {
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

  test('is required by everything except the answers to probes', async () => {
    const kit = await startKit({ dialect, tokens: TOKENS });
    const unknown = { method: 'GET', path: '/nowhere' };
    for (const row of [...ROUTES, unknown]) {
      for (const [port, listener] of Object.entries(kit.api)) {
        const { statusCode, headers } = await listener.inject(requestOf(row));
        const open = /^\/(health|readiness)$/.test(row.path);
        expect([statusCode === 401, headers['www-authenticate']], `${port} ${row.path}`).toEqual(
          open ? [false, undefined] : [true, 'Bearer realm="storage node"'],
        );
      }
    }
    expect(deeds(kit)).toEqual(NOTHING);
  });

  test('that is wrong is refused with 401, and never disclosed', async () => {
    const kit = await startKit({ dialect, tokens: TOKENS });
    const wrong = 'wrong-wrong-wrong-wrong';
    const answer = await kit.api.main.get('/wallet', bearer(wrong));
    expect(answer.statusCode).toBe(401);
    expect(answer.headers['www-authenticate']).toBe('Bearer realm="storage node", error="invalid_token"');
    const exposed = [answer.body, JSON.stringify(answer.headers), ...kit.knobs.logged].join('\n');
    for (const token of [wrong, ...Object.values(TOKENS)]) expect(exposed).not.toContain(token);
  });

  test('with full scope opens everything', async () => {
    const kit = await startKit({ dialect, tokens: TOKENS });
    for (const row of ROUTES) {
      const { statusCode } = await kit.api.main.inject(requestOf(row, bearer(TOKENS.api)));
      expect(statusCode, row.path).not.toBe(401);
    }
    const headers = { host: HOST, ...bearer(TOKENS.api) };
    await kit.api.main.inject({ method: 'POST', url: '/chequebook/withdraw?amount=5', headers });
    expect(kit.knobs.paid).toHaveLength(1);
  });

  test('that is read-only opens only reads', async () => {
    const kit = await startKit({ dialect, tokens: TOKENS });
    for (const row of ROUTES) {
      if (row.port === 'debug') continue;
      const { statusCode, headers } = await kit.api.main.inject(requestOf(row, bearer(TOKENS.apiRead)));
      if (EFFECTS.includes(row)) {
        expect(statusCode, row.path).toBe(403);
        expect(headers['www-authenticate']).toContain('error="insufficient_scope"');
      } else expect([401, 403], row.path).not.toContain(statusCode);
    }
    expect(deeds(kit)).toEqual(NOTHING);
  });

  test('of the debug API opens only the debug API', async () => {
    const { api } = await startKit({ dialect, tokens: TOKENS });
    const request = { url: '/wallet', headers: bearer(TOKENS.debug) };
    expect((await api.main.inject(request)).statusCode).toBe(401);
    expect((await api.debug.inject(request)).statusCode).toBe(200);
  });

  test('is required by content under a host name of its own', async () => {
    const { api } = await startKit({ dialect, tokens: TOKENS });
    const site = { url: '/', headers: { host: `${'0'.repeat(64)}.svc.localhost` } };
    expect((await api.main.inject(site)).statusCode).toBe(401);
    const opened = { ...site, headers: { ...site.headers, ...bearer(TOKENS.apiRead) } };
    expect((await api.main.inject(opened)).statusCode).toBe(404);
  });

  test('is not required for preflight requests', async () => {
    const { api } = await startKit({ dialect, tokens: TOKENS, corsAllowedOrigins: ['http://app.example'] });
    const headers = { origin: 'http://app.example', 'access-control-request-headers': 'authorization' };
    const answer = await api.main.inject({ method: 'OPTIONS', url: '/wallet', headers });
    expect(answer.statusCode).toBe(204);
    expect(answer.headers['access-control-allow-headers']).toContain('Authorization');
  });

  test('does not let a foreign page change anything', async () => {
    const kit = await startKit({ dialect, tokens: TOKENS });
    const headers = { host: HOST, origin: 'http://evil.example', ...bearer(TOKENS.api) };
    const request = { method: 'POST', url: '/chequebook/withdraw?amount=5', headers } as const;
    expect((await kit.api.main.inject(request)).statusCode).toBe(403);
    expect(kit.knobs.paid).toEqual([]);
  });
});

describe('the id of a request', () => {
  const idOf = async (kit: Kit, id?: string) => {
    const headers: Record<string, string> = id === undefined ? {} : { 'x-request-id': id };
    return String((await kit.api.main.get('/health', headers)).headers['x-request-id']);
  };

  test('is that of the client when it is well-formed', async () => {
    const kit = await startKit();
    for (const id of ['a', '4bf92f35-77b3.4d_a6:A+/=~', 'x'.repeat(128)])
      expect(await idOf(kit, id)).toBe(id);
  });

  test('is replaced when it is not', async () => {
    const kit = await startKit();
    for (const id of ['', 'a b', '"a"', 'a,b', 'ä', '<a>', 'x'.repeat(129)]) {
      expect(await idOf(kit, id)).toMatch(/^abababab-[0-9a-z]+-[0-9a-z]+$/);
    }
  });

  test('is different for every request, on both ports', async () => {
    const { api } = await startKit();
    const answers = await Promise.all(
      [api.main, api.main, api.debug].map((port) => port.inject({ url: '/nowhere' })),
    );
    expect(new Set(answers.map(({ headers }) => headers['x-request-id'])).size).toBe(3);
  });

  test('is in the log lines of the request', async () => {
    const kit = await startKit();
    kit.services.loggers.registered().forEach((logger) => {
      logger.setVerbosity('debug');
    });
    kit.knobs.failing.add('balances');
    await kit.api.main.get('/balances', { 'x-request-id': 'mine' });
    const lines = kit.knobs.logged.map((line) => JSON.parse(line) as { id?: string; msg: string });
    expect(lines.map(({ id, msg }) => [id, msg])).toEqual([
      ['mine', 'operation failed'],
      ['mine', 'request answered'],
    ]);
  });
});
