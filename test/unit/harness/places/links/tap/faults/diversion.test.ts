import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { MACHINE_CLOCK } from '../../../../../../../harness/base/machine/clock.ts';
import { Diversion } from '../../../../../../../harness/places/links/tap/faults/diversion.ts';
import type { MessageRule } from '../../../../../../../harness/places/links/tap/faults/rule.ts';
import { MessageRules } from '../../../../../../../harness/places/links/tap/faults/rules.ts';
import {
  YAMUX_FLAG,
  YAMUX_TYPE,
  YamuxFrames,
  yamuxHeader,
} from '../../../../../../../harness/places/links/tap/yamux-frames.ts';

const ENDS = ['node-0', 'node-1'] as const;
const RULE: MessageRule = {
  between: [['node-0'], ['node-1']],
  oneWay: false,
  protocol: 'hive',
  share: 1,
  seed: '7',
  actions: { drop: 'hang' },
};

test('a fault that begins within a frame, after an earlier one, loses nothing of the frame', () => {
  const rules = new MessageRules();
  const diversion = new Diversion({
    rules,
    clock: MACHINE_CLOCK,
    inject: () => undefined,
    replayed: () => undefined,
    cut: () => undefined,
  });
  diversion.between(...ENDS);
  const frames = new YamuxFrames({
    begun(frame, header) {
      if ((frame.flags & YAMUX_FLAG.syn) !== 0) diversion.open('up', frame, ENDS);
      diversion.begun('up', frame, header);
    },
    data: (_, bytes) => diversion.data('up', bytes),
    over: (frame) => void diversion.over('up', frame),
    unknown: (bytes) => diversion.unknown('up', bytes),
  });
  const pass = (bytes: Buffer) => diversion.pass('up', bytes, frames, () => frames.push(bytes));
  rules.begin('one', RULE);
  // The last frame while it is in force is of a stream that it concerns.
  for (const flags of [YAMUX_FLAG.syn, YAMUX_FLAG.rst])
    pass(yamuxHeader({ type: YAMUX_TYPE.windowUpdate, flags, id: 1, length: 0 }));
  rules.end('one');
  const header = yamuxHeader({ type: YAMUX_TYPE.data, flags: 0, id: 3, length: 1000 });
  const frame = Buffer.concat([header, randomBytes(1000)]);
  const first = pass(frame.subarray(0, 500));
  rules.begin('two', RULE);
  const next = yamuxHeader({ type: YAMUX_TYPE.ping, flags: YAMUX_FLAG.syn, id: 0, length: 9 });
  const rest = pass(Buffer.concat([frame.subarray(500), next]));
  expect(Buffer.concat([first, rest]).equals(Buffer.concat([frame, next]))).toBe(true);
});
