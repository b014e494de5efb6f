import { z } from 'zod';
import { plural } from '../../base/format.ts';
import { BEHAVIOUR_NAMES } from '../../flavours/dishonest/names.ts';
import type { FaultKind } from './fault.ts';
import { NODE_FIELD, parseNames } from './fields.ts';
import { flag, type OneNode, oneNode, whole } from './machines/fields.ts';

const ADDED_MAX = 100;
const BITS = 'the first bits of an overlay, such as 0110';
const BEHAVIOURS = `behaviours of dishonest nodes: ${BEHAVIOUR_NAMES.join(', ')}`;

const arrival = z.strictObject({
  count: whole(1, ADDED_MAX, 'nodes').default(1),
  neighbourhood: z
    .string({ error: BITS })
    .regex(/^[01]+$/, { error: BITS })
    .optional(),
  dishonest: z
    .array(z.enum(BEHAVIOUR_NAMES, { error: BEHAVIOURS }), { error: BEHAVIOURS })
    .min(1, { error: BEHAVIOURS })
    .optional(),
  stay: flag,
});

export const ADD: FaultKind<z.infer<typeof arrival>> = {
  name: 'add',
  layer: 'members',
  about: 'let new nodes join; they leave for good when it is healed, unless they stay',
  schema: arrival,
  fields: [
    { field: 'count', flag: '--count <count>', about: 'number of new nodes (default: 1)' },
    {
      field: 'neighbourhood',
      flag: '--neighbourhood <bits>',
      about: 'first bits of their overlays (default: anywhere)',
    },
    {
      field: 'dishonest',
      flag: '--dishonest <behaviours>',
      about: 'what they do to the others, comma-separated (default: they are honest)',
      parse: parseNames,
    },
    { field: 'stay', flag: '--stay', about: 'keep them when it is healed' },
  ],
  text: ({ count, neighbourhood, dishonest, stay }) =>
    `adds ${plural(count, dishonest === undefined ? 'node' : 'dishonest node')}${dishonest === undefined ? '' : ` (${dishonest.join(', ')})`}${neighbourhood === undefined ? '' : ` in ${neighbourhood}`}${stay ? ' for good' : ''}`,
  targets: () => [],
  async begin({ members }, { count, neighbourhood, dishonest, stay }, { signal }) {
    const where = neighbourhood === undefined ? {} : { neighbourhoods: neighbourhood };
    const role = dishonest === undefined ? {} : ({ dishonest, batches: false } as const);
    const added = await members.add({ count, ...where, ...role }, { signal });
    return { nodes: added.map(({ name }) => name).join(), stay: Number(stay) };
  },
  effect(context, { nodes }) {
    const joined = String(nodes).split(',');
    const left = joined.filter((name) => !context.nodes.some((node) => node.name === name));
    return Promise.resolve({ 'nodes that joined': joined.length, 'nodes that left for good': left.length });
  },
  async end({ members, nodes: there }, { nodes, stay }) {
    if (stay === 1) return;
    const joined = String(nodes).split(',');
    for (const { name } of there.filter((node) => joined.includes(node.name))) {
      await members.remove(name, { forGood: true });
    }
  },
};

export const REMOVE: FaultKind<OneNode> = {
  name: 'remove',
  layer: 'members',
  about: 'let a node leave for good, with its data',
  schema: oneNode,
  fields: [NODE_FIELD],
  momentary: true,
  text: ({ node }) => `removes ${node} for good`,
  targets: ({ node }) => [node],
  async begin({ members }, { node }) {
    await members.remove(node, { forGood: true });
    return { left: 1 };
  },
  effect: (_context, { left }) => Promise.resolve({ 'nodes that left for good': Number(left) }),
  end: () => Promise.resolve(),
};
