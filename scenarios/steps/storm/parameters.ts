import {
  ARRIVAL,
  DISHONEST,
  DISK_SLOW,
  DRAWN_FAULTS,
  MESSAGE_FAULT,
  POWER_CUT,
  parameter,
  type ScenarioContext,
  TORN_PAGES,
} from 'svcnet/scenario';

export const STORM_PARAMETERS = {
  duration: parameter('duration', 60_000, 'duration, without healing and checking', { min: 1 }),
  faults: parameter(
    'list',
    ['kill', 'pause', 'partition', 'slow'],
    'kinds of faults to draw from; none: only the load',
    {
      oneOf: DRAWN_FAULTS,
      vary: DRAWN_FAULTS,
      varySimulated: [POWER_CUT, TORN_PAGES, DISK_SLOW, ARRIVAL, DISHONEST, MESSAGE_FAULT],
    },
  ),
  'fault-every': parameter('duration', 5000, 'average interval between faults', {
    min: 1,
    vary: [1500, 8000],
  }),
  'fault-for': parameter('duration', 4000, 'longest duration of a fault', {
    min: 1,
    vary: [500, 6000],
  }),
  sizes: parameter('sizes', [4096, 32_768, 262_144, 1_000_000], 'sizes of the uploads, drawn at random'),
  lanes: parameter('integer', 2, 'number of concurrent operations per node', {
    min: 1,
    vary: [1, 4],
  }),
  pace: parameter(
    'duration',
    2000,
    'average interval between the starts of two operations of a lane, unless the first takes longer; 0: no pause',
    { vary: [500, 4000] },
  ),
  reserve: parameter('integer', 4000, 'capacity of a node’s reserve, in chunks', {
    min: 100,
    vary: [600, 4000],
  }),
  cache: parameter('integer', 1_000_000, 'number of chunks that a node keeps for repeated reads', {
    min: 0,
    vary: [0, 300],
  }),
  chunks: parameter(
    'integer',
    0,
    'number of chunks after which the storm only reads; 0: what the reserves hold, with some room left',
  ),
  sample: parameter('integer', 1000, 'number of chunks to look for on each node that should have them'),
  memory: parameter('size', 256 * 2 ** 20, 'memory that a node may gain between start and end', {
    allowance: true,
  }),
  handles: parameter('integer', 200, 'open files and sockets that a node may gain between start and end', {
    allowance: true,
  }),
  schedule: parameter(
    'text',
    '',
    'schedule.json of an earlier run to repeat, or your own file of faults (YAML)',
  ),
};

export type StormContext = ScenarioContext<typeof STORM_PARAMETERS>;

/** `refused`: the node is away, or something is missing. */
export type Outcome = 'done' | 'failed' | 'refused';

/** Each has several nodes, if there are enough. */
export const NEIGHBOURHOODS = ['00', '01', '10', '11'] as const;
/** Of all neighbourhoods: their sizes differ, and a full one accepts nothing. */
const FILLED_SHARE = 0.7;

/** What the reserves of so many full nodes hold: fewer nodes than neighbourhoods leave one of them the chunks of several. */
export function chunksMax({ chunks, reserve }: StormContext['parameters'], fullNodes: number): number {
  if (chunks > 0) return chunks;
  const places = fullNodes >= NEIGHBOURHOODS.length ? NEIGHBOURHOODS.length : Math.max(1, fullNodes - 1);
  return Math.floor(reserve * places * FILLED_SHARE);
}
