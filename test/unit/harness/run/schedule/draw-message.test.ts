import { expect, test } from 'vitest';
import { seededRandom } from '../../../../../formats/random.ts';
import type { FaultRequest } from '../../../../../harness/cluster/faults/fault.ts';
import { MESSAGE } from '../../../../../harness/cluster/faults/links/message.ts';
import { expectKnown } from '../../../../../harness/places/links/tap/faults/rules.ts';
import { drawMessage } from '../../../../../harness/run/schedule/draw-message.ts';

const NODES = ['node-0', 'node-1', 'node-2'];
const ACTIONS = ['drop', 'delay', 'duplicate', 'reorder', 'replay', 'cut', 'corrupt', 'answer'];

function drawn(seed: string, count: number): FaultRequest[] {
  const random = seededRandom(seed, 'faults');
  return Array.from({ length: count }, () => drawMessage(NODES, random));
}

test('the same seed draws the same faults, a different one draws others', () => {
  expect(drawn('7', 20)).toEqual(drawn('7', 20));
  expect(drawn('7', 20)).not.toEqual(drawn('8', 20));
});

test('each is a request of its kind, for a message and a field that there are, and every action occurs', () => {
  const requests = drawn('7', 1000);
  const done = new Set<string>();
  for (const { kind, ...fields } of requests) {
    expect(kind).toBe(MESSAGE.name);
    const request = MESSAGE.schema.parse(fields);
    const { protocol, message, corrupt, replay: replayMs, answer } = request;
    const rule = { between: [NODES, NODES], oneWay: false, protocol, message, share: 1, seed: '7' } as const;
    expectKnown({ ...rule, actions: { corrupt, replayMs, answer } });
    for (const action of ACTIONS) if (fields[action] !== undefined) done.add(action);
  }
  expect([...done].toSorted()).toEqual(ACTIONS.toSorted());
});

test('a fault costs less than the credit of a link, and looks like fewer mistakes than a peer is forgiven', () => {
  for (const { protocol, first = Infinity, corrupt, ...fields } of drawn('7', 1000)) {
    const isPayment = protocol === 'swap' || protocol === 'pseudosettle';
    const isLost = fields['drop'] !== undefined || fields['replay'] !== undefined;
    const most =
      corrupt !== undefined ? 2 : !isLost || protocol === 'pullsync' ? Infinity : isPayment ? 1 : 20;
    expect(Number(first), JSON.stringify(fields)).toBeLessThanOrEqual(most);
  }
});
