import { expect, test } from 'vitest';
import { expectLoopback } from '../../../../../harness/base/machine/ports.ts';

const ADDRESS = { netmask: '', mac: '', cidr: null, family: 'IPv4' as const };

test('a machine without loopback is refused before anything is asked', () => {
  const outside = { eth0: [{ ...ADDRESS, address: '10.0.0.2', internal: false }] };
  const down = expect.objectContaining({ message: expect.stringContaining('loopback') as string }) as Error;
  expect(() => expectLoopback(outside)).toThrow(down);
  expect(() => expectLoopback({})).toThrow(down);
  const loopback = { lo: [{ ...ADDRESS, address: '127.0.0.1', internal: true }] };
  expect(() => expectLoopback(loopback)).not.toThrow();
});
