import { describe, expect, test } from 'vitest';
import { ROUTES } from '../../../node/api/routes/table.ts';
import { startKit } from './kit.ts';

const STARTING = {
  code: 503,
  message: 'Node is syncing. This endpoint is unavailable. Try again later.',
};

/** Variables are filled with something that matches. */
function urlsOf(
  port: 'main' | 'debug',
): { path: string; url: string; methods: string[]; gates: readonly string[] }[] {
  const rows = ROUTES.filter((row) => row.port === 'both' || row.port === port);
  return [...Map.groupBy(rows, ({ path }) => path)].map(([path, group]) => ({
    path,
    url: path.replaceAll(/\{[^}]+\}/g, 'ab'),
    methods: group.map(({ method }) => method).sort(),
    gates: group[0]?.gates ?? [],
  }));
}

const { api } = await startKit();

describe('methods', () => {
  test.each(urlsOf('main'))('OPTIONS $path answers 204 with its methods', async ({ url, methods }) => {
    const answer = await api.main.inject({ method: 'OPTIONS', url });
    expect(answer.statusCode).toBe(204);
    expect(answer.headers.allow).toBe(methods.join(', '));
    expect(answer.body).toBe('');
  });

  test.each(urlsOf('main'))('a method that $path does not know answers 405', async ({ url, methods }) => {
    const method = methods.includes('PUT') ? 'DELETE' : 'PUT';
    const answer = await api.main.inject({ method, url });
    expect(answer.statusCode).toBe(405);
    expect(answer.headers.allow).toBe(methods.join(', '));
    expect(answer.json()).toEqual({ code: 405, message: 'Method Not Allowed' });
  });

  test.each(['PROPFIND', 'TRACE', 'QUERY'])('%s is refused like any other method', async (method) => {
    const known = await api.main.inject({ method, url: '/stamps/1/20' });
    expect([known.statusCode, known.headers.allow]).toEqual([405, 'POST']);
    expect((await api.main.inject({ method, url: '/nowhere' })).statusCode).toBe(404);
  });

  test('HEAD is served only where it is listed', async () => {
    expect((await api.main.head('/tags')).statusCode).toBe(405);
    expect((await api.main.head('/health')).statusCode).toBe(200);
  });

  test('the debug port lists its own methods', async () => {
    expect((await api.debug.inject({ method: 'OPTIONS', url: '/chunks/ab' })).headers.allow).toBe('GET');
    expect((await api.main.inject({ method: 'OPTIONS', url: '/chunks/ab' })).headers.allow).toBe('GET, HEAD');
  });
});

describe('paths', () => {
  test.each([
    '/nowhere',
    '/bytes/',
    '/tags/',
    '/health/',
    '/connect/',
    '/v1',
    '/v2/health',
    '/stamps/1/20/30',
  ])('%s is unknown', async (url) => {
    for (const method of ['GET', 'POST', 'OPTIONS'] as const) {
      const answer = await api.main.inject({ method, url });
      expect(answer.statusCode).toBe(404);
      expect(answer.json()).toEqual({ code: 404, message: 'Not Found' });
    }
  });

  test.each(['GET', 'POST', 'DELETE'] as const)('%s of an unclean path is redirected', async (method) => {
    const answer = await api.main.inject({ method, url: '/v1//connect/./ip4?x=%20' });
    expect(answer.statusCode).toBe(301);
    expect(answer.headers.location).toBe('/v1/connect/ip4?x=%20');
    expect(answer.body).toBe('');
  });

  test('OPTIONS * asks about the server and is answered without a body, as by Bee 2.8.1', async () => {
    for (const listener of [api.main, api.debug]) {
      const answer = await listener.inject({ method: 'OPTIONS', url: '*' });
      expect([answer.statusCode, answer.headers['content-length'], answer.body]).toEqual([200, '0', '']);
    }
    expect((await api.main.inject({ method: 'POST', url: '*' })).statusCode).toBe(301);
  });

  test('a path with invalid percent-encoding is a bad request', async () => {
    const answer = await api.main.get('/bytes/%zz');
    expect(answer.statusCode).toBe(400);
    expect(answer.json()).toEqual({ code: 400, message: 'Bad Request' });
  });

  test('every path is served with and without its version', async () => {
    for (const { url } of urlsOf('main')) {
      for (const prefix of ['', '/v1']) {
        const answer = await api.main.inject({ method: 'OPTIONS', url: prefix + url });
        expect(answer.statusCode, prefix + url).toBe(204);
      }
    }
  });

  test('the debug port serves only what is marked for both ports', async () => {
    const debug = new Set(urlsOf('debug').map(({ path }) => path));
    for (const { path, url } of urlsOf('main')) {
      const answer = await api.debug.inject({ method: 'OPTIONS', url });
      // The debug port takes `stream` for an address.
      const isServed = debug.has(path) || path === '/chunks/stream';
      expect(answer.statusCode, path).toBe(isServed ? 204 : 404);
    }
  });

  test('a variable may be longer than the router expects by default', async () => {
    const answer = await api.main.get(`/bytes/${'ab'.repeat(2000)}`);
    expect(answer.json().reasons).toEqual(['address: want len:32 or 64']);
  });
});

describe('HEAD answers', () => {
  test.each([
    '/bytes/zz',
    `/bytes/${'0'.repeat(64)}`,
    '/chunks/abbbbb',
    '/chunks/zz',
    '/svc/zz',
    '/nowhere',
    '/tags',
  ])('HEAD %s has no body', async (url) => {
    const answer = await (await startKit()).api.main.head(url);
    expect(answer.statusCode).toBeGreaterThanOrEqual(400);
    expect(answer.rawPayload).toHaveLength(0);
  });
});

describe('before the node has started', () => {
  test.each(urlsOf('main'))('$path', async ({ url, methods, gates }) => {
    const { api, knobs } = await startKit();
    knobs.state = 'starting';
    for (const method of [...methods, 'OPTIONS', 'PUT']) {
      if (method === 'HEAD') continue;
      const answer = await api.main.inject({ method, url });
      if (gates.includes('started')) expect(answer.json(), method).toEqual(STARTING);
      else expect(answer.statusCode, method).not.toBe(503);
      expect(answer.headers['cache-control']).toBe('no-cache, no-store, must-revalidate');
      expect(answer.headers.pragma).toBe('no-cache');
      expect(answer.headers.expires).toBe('0');
    }
  });

  test('only the technical routes answer', () => {
    const technical = new Set(
      ROUTES.filter(({ gates }) => !gates.includes('started')).map(({ path }) => path),
    );
    expect([...technical].sort()).toEqual(
      [
        '/',
        '/addresses',
        '/chainstate',
        '/debugstore',
        '/health',
        '/loggers',
        '/loggers/{exp}',
        '/loggers/{exp}/{verbosity}',
        '/metrics',
        '/node',
        '/openapi.json',
        '/readiness',
        '/robots.txt',
      ].sort(),
    );
  });
});

describe('caching', () => {
  test('the main port sets no caching headers, the debug port forbids caching', async () => {
    const { api } = await startKit();
    expect((await api.main.get('/health')).headers['cache-control']).toBeUndefined();
    expect((await api.debug.get('/health')).headers['cache-control']).toBe(
      'no-cache, no-store, must-revalidate',
    );
  });
});

describe('gates', () => {
  test.each(['/stamps', `/stamps/${'ab'.repeat(32)}`, `/stamps/${'ab'.repeat(32)}/buckets`, '/stamps/1/20'])(
    '%s waits for the first look at the chain, whatever the method',
    async (url) => {
      const { api, knobs } = await startKit();
      for (const [state, message] of [
        ['running', 'syncing in progress'],
        ['failed', 'syncing failed'],
      ] as const) {
        knobs.syncState = state;
        for (const method of ['GET', 'POST', 'PUT', 'OPTIONS'] as const) {
          const answer = await api.main.inject({ method, url });
          expect(answer.json(), method).toEqual({ code: 503, message });
        }
      }
    },
  );

  test.each(['/stamps', `/stamps/${'ab'.repeat(32)}`, '/stamps/1/20', '/wallet'])(
    '%s is refused without a chain, before the method is checked',
    async (url) => {
      const { api, knobs } = await startKit();
      knobs.mode = 'ultra-light';
      for (const method of ['GET', 'PUT'] as const) {
        const answer = await api.main.inject({ method, url });
        expect(answer.json()).toEqual({
          code: 403,
          message: 'Chain is disabled. This endpoint is unavailable.',
        });
      }
    },
  );

  test('gas headers are read before the method is checked', async () => {
    const { api } = await startKit();
    const headers = { 'gas-price': 'x', 'gas-limit': '-1' };
    const answer = await api.main.get('/stamps/1/20', headers);
    expect(answer.json()).toEqual({
      code: 400,
      message: 'invalid header params',
      reasons: ['Gas-Price: invalid value', 'Gas-Limit: invalid syntax'],
    });
  });

  test('a gas limit above 2^64 - 1 is out of range', async () => {
    const headers = { 'gas-limit': '18446744073709551616' };
    const answer = await (await startKit()).api.main.inject({ method: 'POST', url: '/stamps/1/20', headers });
    expect(answer.json().reasons).toEqual(['Gas-Limit: value out of range']);
  });

  test('of two simultaneous purchases, over both ports, one is refused; afterwards the slot is free', async () => {
    const { api, knobs } = await startKit();
    const held = Promise.withResolvers<void>();
    knobs.buying = held.promise;
    const first = api.main.post('/stamps/1000/20');
    await new Promise(setImmediate);
    const second = await api.debug.post('/stamps/1000/20');
    expect(second.json()).toEqual({ code: 429, message: 'simultaneous on-chain operations not supported' });
    held.resolve();
    expect((await first).statusCode).toBe(201);
    expect((await api.main.post('/stamps/1000/20')).statusCode).toBe(201);
  });

  test('a purchase that fails frees its slot', async () => {
    const { api, knobs } = await startKit();
    knobs.buyError = new Error('reverted');
    expect((await api.main.post('/stamps/1000/20')).statusCode).toBe(500);
    expect((await api.main.get('/stamps/1/20')).statusCode).toBe(405);
    expect((await api.main.post('/stamps/1000/16')).statusCode).toBe(400);
    knobs.buyError = undefined;
    expect((await api.main.post('/stamps/1000/20')).statusCode).toBe(201);
  });
});

describe('body limits', () => {
  test.each([
    ['POST', '/chunks', 4201],
    ['POST', '/tags', 1024],
    ['PATCH', '/tags/1', 1024],
    ['POST', '/welcome-message', 512],
  ] as const)('%s %s accepts at most %i bytes', async (method, url, limit) => {
    const { api } = await startKit();
    const over = await api.main.inject({ method, url, payload: Buffer.alloc(limit + 1) });
    expect(over.json()).toEqual({ code: 413, message: 'Request Entity Too Large' });
    const within = await api.main.inject({ method, url, payload: Buffer.alloc(limit) });
    expect(within.statusCode).not.toBe(413);
  });
});

describe('cross-origin requests', () => {
  const origin = 'http://app.example';

  test('an allowed origin gets the headers, compared case-insensitively', async () => {
    const { api } = await startKit({ corsAllowedOrigins: ['HTTP://APP.example'] });
    const { headers } = await api.main.get('/health', { origin });
    expect(headers['access-control-allow-origin']).toBe(origin);
    expect(headers['access-control-allow-credentials']).toBe('true');
    expect(headers['access-control-allow-methods']).toBe('GET, HEAD, OPTIONS, POST, PUT, DELETE');
    expect(headers['access-control-max-age']).toBe('3600');
    const allowed = String(headers['access-control-allow-headers']).split(', ');
    for (const name of ['Content-Type', 'Gas-Price', 'Immutable', 'svc-postage-batch-id', 'svc-cache']) {
      expect(allowed).toContain(name);
    }
    // A page may use either family, as the node does.
    for (const name of allowed.filter((one) => one.startsWith('svc-')))
      expect(allowed).toContain(name.replace('svc-', 'swarm-'));
    expect(new Set(allowed).size).toBe(allowed.length);
  });

  test('a star allows every origin', async () => {
    const { api } = await startKit({ corsAllowedOrigins: ['*'] });
    const { headers } = await api.main.get('/health', { origin });
    expect(headers['access-control-allow-origin']).toBe(origin);
  });

  test.each(['http', 'https'])('the own host is always allowed over %s', async (scheme) => {
    const { api } = await startKit({ allowedHosts: ['node.local'] });
    const own = `${scheme}://Node.local:1633`;
    const { headers } = await api.main.get('/health', { origin: own, host: 'node.local:1633' });
    expect(headers['access-control-allow-origin']).toBe(own);
  });

  test('another origin gets no such header, but its answer', async () => {
    const answer = await (await startKit()).api.main.get('/health', { origin });
    expect(answer.statusCode).toBe(200);
    expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control-'))).toEqual([]);
  });

  test('the list of methods is sent in the header that a browser reads', async () => {
    const { api } = await startKit({ corsAllowedOrigins: ['*'] });
    for (const method of ['OPTIONS', 'PUT'] as const) {
      const { headers } = await api.main.inject({ method, url: '/tags/1', headers: { origin } });
      expect(headers['access-control-allow-methods']).toBe('DELETE, GET, PATCH');
      expect(headers.allow).toBeUndefined();
    }
  });

  test('errors carry them too, so that a browser may read them', async () => {
    const { api } = await startKit({ corsAllowedOrigins: ['*'] });
    for (const url of ['/nowhere', '/bytes/zz', '/%zz']) {
      const { headers } = await api.main.get(url, { origin });
      expect(headers['access-control-allow-origin'], url).toBe(origin);
    }
  });
});

describe('headers sent twice', () => {
  test('only the first value counts', async () => {
    const { api } = await startKit();
    const headers = { 'svc-deferred-upload': ['x', 'true'], 'svc-postage-batch-id': 'ab' };
    const answer = await api.main.inject({ method: 'POST', url: '/bytes', headers });
    expect(answer.json().reasons).toEqual(['Svc-Deferred-Upload: invalid syntax']);
  });
});

describe('metrics', () => {
  test('requests and answers are counted by status and method', async () => {
    const { api } = await startKit();
    await api.main.get('/nowhere');
    await api.debug.get('/health');
    const { body } = await api.main.get('/metrics');
    expect(body).toMatch(/^svc_api_request_count 3$/m);
    expect(body).toMatch(/^svc_api_response_code_count\{code="404",method="GET"\} 1$/m);
    expect(body).toMatch(/^svc_api_response_code_count\{code="200",method="GET"\} 1$/m);
    expect(body).toMatch(/^svc_api_response_duration_seconds_count 2$/m);
  });
});
