import { whole } from '../../cluster/plan/options/flag.ts';
import type { CommandOptions } from './spec.ts';
import { ONE_CLUSTER, reference } from './values.ts';

const CHUNKS_MAX = 10_000;

export const trace: CommandOptions = {
  arguments: [
    { help: 'address of a chunk, or reference of content: 64 or 128 hex digits', parse: reference },
  ],
  options: {
    ...ONE_CLUSTER,
    '--chunks <count>': {
      help: 'number of chunks to show routes for, starting at the root',
      parse: whole(1, CHUNKS_MAX),
      default: 1,
    },
    '--run <run>':
      'read the route from the messages that a run has kept, given its folder, its name, last, or its message file',
  },
  note: `
Every node is asked whether it stores the chunk; svc nodes also report its route if they record chunk events:
  svcnet up --trace
In a cluster with a tap, messages between nodes tell the route through the others, such as Bees:
  svcnet up -n 0 --with bee=4 --tap
  svcnet trace REFERENCE
A run on such a cluster keeps the messages:
  svcnet run lost-receipt
  svcnet trace ADDRESS --run last
Exits with 1 when no node stores a chunk, or no message of the run is about it.`,
};
