import { fc, test as property } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import { targetOf } from '../../../node/api/paths.ts';
import { startKit } from './kit.ts';

const { api } = await startKit();

describe('a request target', () => {
  test.each([
    ['/bytes', '/bytes'],
    ['/v1/bytes?x=1', '/bytes?x=1'],
    ['/bzz/ab/', '/svc/ab/'],
    ['/v1/bzz', '/svc'],
    ['/svc/ab/c', '/svc/ab/c'],
    ['/bzzz', '/bzzz'],
    ['/v1', '/v1'],
    ['/v1/', '/'],
    ['http://localhost:1633/health?a', '/health?a'],
    ['/svc/ab/a%20b', '/svc/ab/a%20b'],
    ['/svc/ab/a%2Fb', '/svc/ab/a/b'],
    ['/svc/ab/%61', '/svc/ab/a'],
    ['/svc/ab/50%25', '/svc/ab/50%25'],
    ['/svc/ab/%E2%82%AC', '/svc/ab/%E2%82%AC'],
    ['/svc/ab/%e9/%c3%a9%ff', '/svc/ab/%E9/%C3%A9%FF'],
    ['/svc/ab/\xe9\xc3\xa9', '/svc/ab/%E9%C3%A9'],
  ])('%s is routed as %s', (target, url) => {
    const [path, query = ''] = url.split('?');
    expect(targetOf(target)).toMatchObject({ kind: 'route', path, query });
  });

  test.each([
    ['', '/'],
    ['/connect//ip4/127.0.0.1', '/connect/ip4/127.0.0.1'],
    ['//', '/'],
    ['/a/./b?q', '/a/b?q'],
    ['/a/../b/', '/b/'],
    ['/../..', '/'],
    ['/svc/ab/%2E%2E/c', '/svc/c'],
    ['/svc/ab/a%2F%2Fb', '/svc/ab/a/b'],
    ['/v1//bytes', '/v1/bytes'],
  ])('%s is redirected to %s', (target, location) => {
    expect(targetOf(target)).toEqual({ kind: 'redirect', location });
  });

  test.each(['/%', '/%zz', '/%f'])('%s is malformed', (target) => {
    expect(targetOf(target)).toEqual({ kind: 'malformed' });
  });

  property.prop([fc.array(fc.string({ unit: 'grapheme', minLength: 1 }), { minLength: 1 })])(
    'a redirect leads to a target that is clean',
    (segments) => {
      const target = targetOf(`/${segments.map(encodeURIComponent).join('//')}`);
      if (target.kind === 'redirect') expect(targetOf(target.location).kind).toBe('route');
    },
  );

  property.prop([fc.string({ unit: 'grapheme' }).filter((name) => !/[./]/.test(name))])(
    'a percent-encoded path variable arrives as it was before encoding',
    async (rest) => {
      const name = `g${rest}`;
      const answer = await api.main.get(`/bytes/${encodeURIComponent(name)}`);
      expect(answer.json().reasons[0]).toContain(`failed parsing CID ${name} err `);
    },
  );
});
