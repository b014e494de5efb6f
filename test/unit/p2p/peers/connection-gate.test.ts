import { expect, test } from 'vitest';
import {
  ConnectionGate,
  SOURCE_BURST,
  SOURCE_CONNECTIONS_MAX,
} from '../../../../node/p2p/peers/connection-gate.ts';

const A = '/ip4/8.8.8.8/tcp/1';
const entered = (gate: ConnectionGate, remote: string, count: number, nowMs: number) =>
  Array.from({ length: count }, () => gate.enter(remote, nowMs)).filter(Boolean).length;

test('an address may open forty connections at once and ten more every second', () => {
  const gate = new ConnectionGate();
  expect(entered(gate, A, SOURCE_BURST + 5, 0)).toBe(SOURCE_BURST);
  expect(entered(gate, A, 5, 99)).toBe(0);
  expect(entered(gate, A, 5, 100)).toBe(1);
  expect(entered(gate, A, 50, 1_100)).toBe(10);
});

test('an address may have two hundred connections, and each that ends makes room', () => {
  const gate = new ConnectionGate();
  let open = 0;
  for (let second = 0; second < 60; second += 5) open += entered(gate, A, SOURCE_BURST, second * 1_000);
  expect(open).toBe(SOURCE_CONNECTIONS_MAX);
  expect(gate.enter(A, 100_000)).toBe(false);
  gate.left(A);
  expect(entered(gate, A, 2, 100_000)).toBe(1);
});

test('other addresses are not affected, and the port does not matter', () => {
  const gate = new ConnectionGate();
  entered(gate, A, SOURCE_BURST, 0);
  expect(gate.enter('/ip4/8.8.8.8/tcp/2', 0)).toBe(false);
  expect(gate.enter('/ip4/8.8.4.4/tcp/1', 0)).toBe(true);
});

test.each(['/ip4/127.0.0.1/tcp/1', '/ip4/127.9.9.9/tcp/1', '/ip6/::1/tcp/1'])(
  'our own machine, %s, is not limited',
  (remote) => {
    const gate = new ConnectionGate();
    expect(entered(gate, remote, 1_000, 0)).toBe(1_000);
    gate.left(remote);
  },
);

test.each([
  ['/ip6/2001:db8:1:200::1/tcp/1', '/ip6/2001:db8:1:2ff:8:9:a:b/tcp/1', false],
  ['/ip6/2001:db8:1:200::1/tcp/1', '/ip6/2001:db8:1:300::1/tcp/1', true],
  ['/ip6/2001::1/tcp/1', '/ip6/2001:0:0:ff::2/tcp/1', false],
])('IPv6 addresses count by their first 56 bits: %s and %s', (one, other, free) => {
  const gate = new ConnectionGate();
  entered(gate, one, SOURCE_BURST, 0);
  expect(gate.enter(other, 0)).toBe(free);
});

test('sources beyond those that can be remembered are refused until others are forgotten', () => {
  const gate = new ConnectionGate();
  const source = (i: number) => `/ip4/8.${i >> 16}.${(i >> 8) & 0xff}.${i & 0xff}/tcp/1`;
  for (let i = 0; i < 10_000; i++) {
    expect(gate.enter(source(i), 0)).toBe(true);
    if (i > 0) gate.left(source(i));
  }
  expect(gate.enter(source(10_000), 0)).toBe(false);
  expect(gate.enter(source(10_000), 1_000)).toBe(true);
  expect(entered(gate, source(0), SOURCE_BURST + 1, 1_000)).toBe(SOURCE_BURST);
});
