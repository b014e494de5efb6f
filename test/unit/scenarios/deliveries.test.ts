import type { TapEvent } from 'svcnet';
import type { AlwaysCondition } from 'svcnet/scenario';
import { expect, test } from 'vitest';
import { watchDeliveries } from '../../../scenarios/steps/storm/deliveries.ts';
import type { StormContext } from '../../../scenarios/steps/storm/parameters.ts';

const ADDRESS = '3f'.repeat(32);

function delivery(from: string, fields: TapEvent['fields']): TapEvent {
  const ends = { from, to: 'node-9', stream: 'c0/1', protocol: 'retrieval', id: '/retrieval' };
  return {
    at: 0,
    ...ends,
    kind: 'message',
    name: 'delivery',
    fields: { address: ADDRESS, ...fields },
    bytes: 1,
  };
}

async function saidOf(events: readonly TapEvent[]): Promise<unknown> {
  let condition: AlwaysCondition | undefined;
  const nodes = [
    { name: 'node-0', flavour: 'svc' },
    { name: 'node-1', flavour: 'dishonest' },
  ];
  const tap = async function* () {
    yield* events;
  };
  const cluster = { nodes, capabilities: new Set(['tap']), tap };
  const context = {
    cluster,
    unchecked: () => undefined,
    always: (given: AlwaysCondition) => (condition = given),
  };
  await using _watched = watchDeliveries(context as unknown as StormContext);
  await new Promise((resolve) => setImmediate(resolve));
  return await condition?.check(new AbortController().signal);
}

test.each([
  [
    'an honest node says what is not the chunk',
    'node-0',
    { invalid: true },
    [expect.stringContaining('node-0')],
  ],
  ['a dishonest node does', 'node-1', { invalid: true }, []],
  ['a fault answers in the name of an honest one', 'node-0', { invalid: true, fault: 'made up' }, []],
  [
    'a fault delays what an honest one says',
    'node-0',
    { invalid: true, fault: 'delayed' },
    [expect.anything()],
  ],
  ['an honest one says the chunk', 'node-0', {}, []],
] as const)('%s', async (_name, from, fields, expected) => {
  expect(await saidOf([delivery(from, fields)])).toEqual(expected);
});

test('nothing is held of a storm in which nobody delivers', async () => {
  expect(await saidOf([])).toBeUndefined();
});
