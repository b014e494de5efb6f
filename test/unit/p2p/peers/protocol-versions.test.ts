import { expect, test } from 'vitest';
import { servedFor } from '../../../../node/p2p/peers/protocol-versions.ts';

const SERVED = [
  '/swarm/status/1.1.3/status',
  '/swarm/retrieval/1.4.0/retrieval',
  '/swarm/pullsync/1.4.0/cursors',
];

test.each([
  ['/swarm/status/1.1.2/status', '/swarm/status/1.1.3/status'],
  ['/swarm/status/1.1.9/status', '/swarm/status/1.1.3/status'],
  ['/swarm/status/1.0.0/status', '/swarm/status/1.1.3/status'],
  ['/swarm/retrieval/1.4.77/retrieval', '/swarm/retrieval/1.4.0/retrieval'],
  ['/swarm/pullsync/1.3.0/cursors', '/swarm/pullsync/1.4.0/cursors'],
])('%s is served as %s: patches do not count, and a lower minor version is known', (proposed, served) => {
  expect(servedFor(proposed, SERVED)).toBe(served);
});

test.each([
  '/swarm/retrieval/1.5.0/retrieval',
  '/swarm/retrieval/2.4.0/retrieval',
  '/swarm/retrieval/01.4.0/retrieval',
  '/swarm/retrieval/1.4/retrieval',
  '/swarm/retrieval/1.4.0/other',
  '/swarm/pullsync/1.4.0/pullsync',
  '/swarm/retrieval/1.4.0/retrieval/more',
  '/swarm/retrieval/-1.4.0/retrieval',
  '/ipfs/retrieval/1.4.0/retrieval',
  '',
])('%s is not served', (proposed) => {
  expect(servedFor(proposed, SERVED)).toBeUndefined();
});
