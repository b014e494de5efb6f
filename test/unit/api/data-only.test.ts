import { describe, expect, test } from 'vitest';
import { ROUTES } from '../../../node/api/routes/table.ts';
import { startKit } from './kit.ts';

const nameOf = ({ method, path }: { method: string; path: string }) => `${method} ${path}`;
/** Variables are filled with something that matches. */
const urlOf = (path: string) => path.replaceAll(/\{[^}]+\}/g, 'ab');
const LEFT = ROUTES.filter(({ port, forProbes }) => port === 'main' || forProbes === true);
const GONE = ROUTES.filter(({ port, forProbes }) => port === 'both' && forProbes !== true);

describe.each(['svc', 'swarm'] as const)('an API that serves only data, %s', async (dialect) => {
  const { api } = await startKit({ dialect, dataOnly: true });
  const documented = async (port: 'main' | 'debug') => {
    const { paths } = (await api[port].inject({ url: '/openapi.json' })).json();
    return Object.entries(paths as Record<string, object>).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replace(/^\/bzz(?=\/)/, '/svc')}`),
    );
  };

  test('has all operations for data, and answers probes', async () => {
    const names = LEFT.map(nameOf);
    expect(names).toEqual(
      expect.arrayContaining(['POST /bytes', 'GET /tags', 'POST /pins/{reference}', 'GET /readiness']),
    );
    for (const { path } of LEFT) {
      const answer = await api.main.inject({ method: 'OPTIONS', url: urlOf(path) });
      expect(answer.statusCode, path).toBe(204);
    }
  });

  test('knows no operation of the debug API, whose own listener has all of them', async () => {
    expect(GONE.map(nameOf)).toEqual(
      expect.arrayContaining(['POST /stamps/{amount}/{depth}', 'GET /wallet', 'GET /metrics', 'GET /node']),
    );
    for (const { method, path } of GONE) {
      const url = urlOf(path);
      expect((await api.main.inject({ method, url })).statusCode, `${method} ${path}`).toBe(404);
      const kept = await api.debug.inject({ method: 'OPTIONS', url });
      expect(kept.headers.allow, path).toContain(method);
    }
  });

  test('each listener documents what it serves', async () => {
    expect((await documented('main')).map((name) => name.replace(' /bzz', ' /svc')).sort()).toEqual(
      LEFT.map(nameOf).sort(),
    );
    const debug = ROUTES.filter(({ port }) => port !== 'main').map(nameOf);
    expect((await documented('debug')).sort()).toEqual(debug.sort());
  });
});
