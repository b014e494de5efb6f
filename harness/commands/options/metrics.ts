import type { CommandOptions } from './spec.ts';
import { interval, JSON_OPTION, NAME_OPTION } from './values.ts';

export const metrics: CommandOptions = {
  arguments: ['name of the node (default: all running nodes)'],
  options: {
    ...NAME_OPTION,
    '--match <text>': 'only metrics whose name contains this text, for example pushsync',
    '--rate [interval]': {
      help: 'read twice and show the rate per second (default interval: 5s)',
      preset: '5s',
      parse: interval,
    },
    '--all': 'include metrics that are 0',
    ...JSON_OPTION,
  },
  note: `
For a cluster, counters are summed, and gauges are shown as minimum, median and maximum. Names lack the
dialect's prefix: Prometheus sees svc_pusher_total_synced, or bee_pusher_total_synced.

Examples:
  svcnet metrics
  svcnet metrics node-0 --match accounting
  svcnet metrics --match pushsync --rate 5s`,
};
