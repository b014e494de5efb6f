/** Memory of containers. */
import { z } from 'zod';
import type { FaultKind } from '../fault.ts';
import { NODE_FIELD, nodeName, size } from '../fields.ts';
import { START } from './restarts.ts';

const memory = z.strictObject({ node: nodeName, limit: size });

export const MEMORY: FaultKind<z.infer<typeof memory>> = {
  name: 'memory',
  layer: 'memory',
  about:
    'limit the memory of a node in a container; the engine kills a node that exceeds it, and it starts again on its data when healed',
  capability: 'memory',
  schema: memory,
  fields: [NODE_FIELD, { field: 'limit', flag: '<limit>', about: 'memory that is left, such as 128MiB' }],
  text: ({ node, limit }) => `limits the memory of ${node} to ${limit} bytes`,
  targets: ({ node }) => [node],
  // Healing one of two would end the other's limit.
  sets: ({ node }) => `the memory of ${node}`,
  startsNodes: true,
  async begin(context, { node, limit }) {
    const before = await context.node(node).limitMemory(limit);
    return { node, before, limited: Number(before !== limit) };
  },
  async effect(context, { node, limited }) {
    const { state, exit } = await context.node(String(node)).observe();
    return {
      'limits changed': Number(limited),
      'nodes ended for want of memory': Number(state === 'crashed' && exit?.outOfMemory === true),
    };
  },
  async end(context, { node, before }) {
    const limited = context.node(String(node));
    // First: the container keeps its limit for the next start.
    await limited.limitMemory(Number(before));
    if ((await limited.observe()).state === 'crashed') await limited.start(START);
  },
};
