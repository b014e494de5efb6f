import { z } from 'zod';
import type { LinkConditions } from '../../../places/links/conditions.ts';
import { ALL } from '../../../places/links/rules.ts';
import type { FaultKind } from '../fault.ts';
import { type FaultField, NODE_FIELD, nodeName, parseNames } from '../fields.ts';
import { ruleFault } from './rule-fault.ts';

const MODES = ['drop', 'reset'] as const;
const mode = z.enum(MODES, { error: `one of ${MODES.join(', ')}` }).default('drop');
const CONDITIONS: Readonly<Record<(typeof MODES)[number], LinkConditions>> = {
  drop: { stall: true },
  reset: { reset: true, refuse: true },
};
const MODE_FIELD: FaultField = {
  field: 'mode',
  flag: '--mode <mode>',
  about: 'drop: nobody is told, as when a cable is cut; reset: connections break at once (default: drop)',
};

const GROUPS_EXPECTED = 'at least two groups of nodes, such as node-0,node-1 / node-2,node-3';
const partition = z.strictObject({
  groups: z
    .array(z.array(nodeName).min(1, { error: GROUPS_EXPECTED }), { error: GROUPS_EXPECTED })
    .min(2, { error: GROUPS_EXPECTED })
    .refine((groups) => new Set(groups.flat()).size === groups.flat().length, {
      error: 'groups that have no node in common',
    }),
  oneWay: z.literal(true, { error: 'true, or nothing' }).optional(),
  mode,
});
/** Nodes of different groups cannot reach each other; nodes in no group reach all. */
export type PartitionRequest = z.output<typeof partition>;

export const PARTITION: FaultKind<PartitionRequest> = {
  ...ruleFault(({ groups, oneWay, mode: how }) => ({
    between: groups.flatMap((one, index) => groups.slice(index + 1).map((other) => [one, other] as const)),
    oneWay: oneWay === true,
    share: 1,
    conditions: CONDITIONS[how],
  })),
  name: 'partition',
  about: 'separate groups of nodes; a node that is in none of them reaches all',
  schema: partition,
  fields: [
    {
      field: 'groups',
      flag: '<groups...>',
      about: 'groups with / between, such as node-0,node-1 / node-2,node-3',
      parse: (text) => text.split('/').map(parseNames),
    },
    MODE_FIELD,
    {
      field: 'oneWay',
      flag: '--one-way',
      about: 'only what goes from an earlier group to a later one is held back',
    },
  ],
  text: ({ groups, oneWay }) => {
    const sides = groups.map((group) => group.join(', '));
    return oneWay === true
      ? `nothing passes from ${sides.join(' to ')}`
      : `separates ${sides.join(' from ')}`;
  },
  targets: ({ groups }) => groups.flat(),
};

const isolate = z.strictObject({ node: nodeName, mode });
export type IsolateRequest = z.output<typeof isolate>;

export const ISOLATE: FaultKind<IsolateRequest> = {
  ...ruleFault(({ node, mode: how }) => ({
    between: [[[node], [ALL]]],
    oneWay: false,
    share: 1,
    conditions: CONDITIONS[how],
  })),
  name: 'isolate',
  about: 'separate a node from all others',
  schema: isolate,
  fields: [NODE_FIELD, MODE_FIELD],
  text: ({ node }) => `isolates ${node}`,
  targets: ({ node }) => [node],
};
