import { expect, test, vi } from 'vitest';
import { ChainFaults } from '../../../../harness/chain/faults.ts';
import { chainFaultsOf, faultsOf } from '../../../../harness/run/faults.ts';

test('a fault lasts until the node runs again, or has no end; what was done before is not of this scenario', () => {
  const nodes = [
    {
      name: 'node-0',
      deeds: [
        { state: 'killed', at: 5 },
        { state: 'running', at: 10 },
        { state: 'paused', at: 20 },
        { state: 'running', at: 30 },
      ],
    },
    {
      name: 'node-1',
      deeds: [
        { state: 'running', at: 1 },
        { state: 'killed', at: 25 },
      ],
    },
  ] as const;
  expect(faultsOf(nodes, 8)).toEqual([
    { kind: 'fault', at: 20, endAt: 30, part: 'node-0', text: 'node-0 was paused' },
    { kind: 'fault', at: 25, part: 'node-1', text: 'node-1 was killed' },
  ]);
});

test('what is done to the chain lasts until it is over, and each thing by itself', () => {
  vi.useFakeTimers({ toFake: ['Date'] });
  try {
    const faults = new ChainFaults();
    const at = (ms: number, done: () => void) => {
      vi.setSystemTime(ms);
      done();
    };
    at(5, () => faults.begin('too early', 'blocks'));
    at(10, () => faults.begin('the chain was paused', 'blocks'));
    at(20, () => faults.begin('blocks were replaced'));
    at(30, () => faults.begin('the endpoint failed', 'endpoint'));
    at(40, () => faults.end('blocks'));
    at(50, () => faults.end('nothing'));
    expect(chainFaultsOf(faults.list, 8)).toEqual([
      { kind: 'fault', part: 'chain', text: 'the chain was paused', at: 10, endAt: 40 },
      { kind: 'fault', part: 'chain', text: 'blocks were replaced', at: 20 },
      { kind: 'fault', part: 'chain', text: 'the endpoint failed', at: 30 },
    ]);
    expect(faults.list[0]).toEqual({ text: 'too early', at: 5, endAt: 10 });
  } finally {
    vi.useRealTimers();
  }
});
