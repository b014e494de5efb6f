import { expect, test } from 'vitest';
import { createRouter, type PathRoutes } from '../../../node/api/routing.ts';

const paths: readonly PathRoutes[] = [
  '/',
  '/tags',
  '/tags/{uid}',
  '/stamps/{batch_id}',
  '/stamps/{batch_id}/buckets',
  '/stamps/{amount}/{depth}',
  '/connect/{multiAddress}',
  '/svc/{reference}',
  '/svc/{reference}/{path}',
].map((path) => ({ path, byMethod: new Map() }));
const router = createRouter(paths);

test.each([
  ['/', '/', {}],
  ['/tags', '/tags', {}],
  ['/tags/7', '/tags/{uid}', { uid: '7' }],
  ['/stamps/ab', '/stamps/{batch_id}', { batch_id: 'ab' }],
  ['/stamps/ab/buckets', '/stamps/{batch_id}/buckets', { batch_id: 'ab' }],
  ['/stamps/1/20', '/stamps/{amount}/{depth}', { amount: '1', depth: '20' }],
  ['/connect/ip4/1.2.3.4/tcp/5', '/connect/{multiAddress}', { multiAddress: 'ip4/1.2.3.4/tcp/5' }],
  ['/svc/ab', '/svc/{reference}', { reference: 'ab' }],
  ['/svc/ab/', '/svc/{reference}/{path}', { reference: 'ab', path: '' }],
  ['/svc/ab/c/d', '/svc/{reference}/{path}', { reference: 'ab', path: 'c/d' }],
  ['/svc/a%2Fb/50%25/%E2%82%AC', '/svc/{reference}/{path}', { reference: 'a/b', path: '50%/€' }],
])('%s is %s', (path, expected, params) => {
  const match = router(path);
  expect(match?.routes.path).toBe(expected);
  expect(Object.fromEntries(match?.params ?? [])).toEqual(params);
});

test.each([
  '/nowhere',
  '/tags/',
  '/tags/7/8',
  '/Tags',
  '/stamps/1/20/30',
  '/stamps//20',
  '/connect/',
  '/svc/',
])('%s is unknown', (path) => {
  expect(router(path)).toBeUndefined();
});
