import { whole } from '../../cluster/plan/options/flag.ts';
import type { CommandOptions } from './spec.ts';
import { ONE_CLUSTER } from './values.ts';

const PORT = { min: 1024, max: 65_535 } as const;

export const ui: CommandOptions = {
  options: {
    ...ONE_CLUSTER,
    '--port <port>': {
      help: 'port of the page (default: a free port)',
      parse: whole(PORT.min, PORT.max),
    },
    '--open': 'open the page in the browser',
    '--run <run>': "play the record of a run that has ended: its folder, its name, or 'last'",
  },
  note: `
The page is served on loopback until Ctrl-C or the end of the cluster. Its URL includes a token: anyone who has the URL
can view the page. It never changes the cluster, and queries the nodes only while a page is open. To see individual
chunks, let the nodes record chunk events:
  svcnet up --trace
  svcnet ui --open

Only the process of a simulation reaches its nodes, so a run in virtual time serves its page itself:
  svcnet run storm --driver simulated --ui

The record of a run needs no nodes: the page plays it, pauses, and goes to any moment, such as the first failure:
  svcnet ui --run last --open`,
};
