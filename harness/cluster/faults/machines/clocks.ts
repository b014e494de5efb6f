import { z } from 'zod';
import { formatMs } from '../../../base/format.ts';
import type { FaultKind } from '../fault.ts';
import { NODE_FIELD, nodeName } from '../fields.ts';
import { beginOnNode, effectOnNode, endOnNode } from './disks.ts';
import { signedDuration, whole } from './fields.ts';

const DRIFT_MAX_PPM = 1_000_000;

const clock = z
  .strictObject({
    node: nodeName,
    offset: signedDuration.default(0),
    drift: whole(-DRIFT_MAX_PPM, DRIFT_MAX_PPM, 'parts per million').default(0),
  })
  .refine(({ offset, drift }) => offset !== 0 || drift !== 0, {
    error: 'offset, drift or both: without them the clock is right',
  });

export const CLOCK: FaultKind<z.infer<typeof clock>> = {
  name: 'clock',
  layer: 'clock',
  about:
    'set the clock of a node forwards or back, make it run too fast or too slow, or both; it is right again when healed',
  capability: 'clock',
  schema: clock,
  fields: [
    NODE_FIELD,
    {
      field: 'offset',
      flag: '--offset <duration>',
      about: 'how far it is ahead, or behind with a minus sign: --offset=-10s',
    },
    {
      field: 'drift',
      flag: '--drift <ppm>',
      about: 'parts per million that it is too fast, or too slow: --drift=-500',
    },
  ],
  text: ({ node, offset, drift }) =>
    [
      ...(offset === 0
        ? []
        : [`sets the clock of ${node} ${formatMs(Math.abs(offset))} ${offset > 0 ? 'forwards' : 'back'}`]),
      ...(drift === 0
        ? []
        : [`lets the clock of ${node} run ${Math.abs(drift)} ppm too ${drift > 0 ? 'fast' : 'slow'}`]),
    ].join(', '),
  targets: ({ node }) => [node],
  begin(context, { node, offset, drift }, start) {
    const fault = { layer: 'clock', offsetMs: offset, driftPpm: drift, since: context.clock.now() } as const;
    return beginOnNode(context, node, fault, start);
  },
  effect: effectOnNode,
  end: endOnNode,
};
