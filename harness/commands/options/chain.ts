import { whole } from '../../cluster/plan/options/flag.ts';
import type { CommandOptions } from './spec.ts';
import { big, duration, ONE_CLUSTER } from './values.ts';

const BATCH_DEPTH = { default: 20, min: 17, max: 40 } as const;
/** Mining more takes longer than an RPC call may. */
const MINED_MAX = 10_000;

export const stamp: CommandOptions = {
  arguments: ['name of the node (default: the first full or light node)'],
  options: {
    ...ONE_CLUSTER,
    '--depth <bits>': {
      help: 'batch depth: the batch stamps 2^depth chunks',
      parse: whole(BATCH_DEPTH.min, BATCH_DEPTH.max),
      default: BATCH_DEPTH.default,
    },
    '--ttl <duration>': { help: 'time to live', parse: duration, default: duration('24h'), shown: '24h' },
    '--amount <units>': { help: 'base units per chunk, instead of --ttl', parse: big },
    '--label <text>': 'label of the batch on its node',
    '--owner <account>': 'node or address that will own the batch; the testbed pays',
    '--mutable': 'let a full bucket overwrite its oldest stamp',
    '--no-wait': 'return when the purchase is mined',
  },
  note: `
Use --owner when a client stamps its chunks itself, with the key of that account. The batch is then usable
when every running node knows it.`,
};

export const mine: CommandOptions = {
  arguments: [{ help: 'number of blocks', parse: whole(1, MINED_MAX), default: 1 }],
  options: ONE_CLUSTER,
};

export const fund: CommandOptions = {
  arguments: ['name of a node, or an address'],
  options: {
    ...ONE_CLUSTER,
    '--native <coins>': { help: 'native coins to add', default: '1' },
    '--tokens <tokens>': { help: 'tokens to add', default: '100' },
  },
};
