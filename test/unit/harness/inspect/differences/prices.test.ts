import { expect, test } from 'vitest';
import { systemClock } from '../../../../../formats/clock.ts';
import { priceFacts } from '../../../../../harness/inspect/differences/prices.ts';

test.each(['embedded', 'simulated'] as const)(
  'with the %s driver no network has prices, whatever its nodes are: another has none either',
  async (driver) => {
    const node = { name: 'node-0', flavour: 'bee', running: true, mode: 'full' };
    const network = { nodes: [node], chain: { networkId: 1 }, clock: systemClock, driver };
    const given = network as unknown as Parameters<typeof priceFacts>[0];
    expect(await priceFacts(given, new AbortController().signal)).toEqual([]);
  },
);
