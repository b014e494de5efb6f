import { parsePercent } from '../../base/format.ts';
import { collect, NotExpected, seed, whole } from '../../cluster/plan/options/flag.ts';
import { NODES_MAX } from '../../cluster/plan/options/nodes.ts';
import { TOLERANCE_DEFAULT } from '../../report/compare/verdict.ts';
import { clusterOptions } from './cluster.ts';
import type { CommandOptions } from './spec.ts';
import { FLAVOURS_HELP, JSON_OPTION } from './values.ts';

const ROUNDS_MAX = 1000;

export const compare: CommandOptions = {
  arguments: ['run folders or names; a folder may hold repeats of one run'],
  options: {
    '--tolerance <percent>': {
      help: `largest difference that counts as the same (default: ${TOLERANCE_DEFAULT * 100}%)`,
      parse: percent,
      once: true,
    },
    '--wide': { help: 'print figures per node', once: true },
    '--flavours <list>': `start the runs now: fresh clusters of each of ${FLAVOURS_HELP}`,
    '--load <load>': 'with --flavours: k6 load to run, by its name in svcnet load',
    '--duration <duration>': 'with --load: length of the measured phase (default: 1m)',
    '--k6 <path>': 'with --load: k6 executable (default: SVCNET_K6, then PATH, then its container image)',
    '--scenario <name>': 'with --flavours: scenario to run instead of a load',
    '--rounds <count>': {
      help: 'with --flavours: runs per flavour (default: 6)',
      parse: whole(1, ROUNDS_MAX),
    },
    '-n, --nodes <count>': {
      help: 'with --flavours: nodes in each cluster (default: what the scenario needs)',
      parse: whole(1, NODES_MAX),
    },
    ...clusterOptions(['beeBinary', 'driver']),
    '--seed <number>': { help: 'with --flavours: seed of the first round (default: random)', parse: seed },
    '--set <key=value>': {
      help: 'with --flavours: parameter of the scenario (repeatable)',
      parse: collect,
      repeatable: true,
    },
    '--report <folder>': {
      help: 'with --flavours: folder for the runs (default: .svcnet/runs)',
      once: true,
    },
    ...JSON_OPTION,
  },
  note: `
Exits with 0 when nothing is worse, with 1 when a figure is worse beyond the tolerance, with 2 when the runs cannot be
compared. A figure is better or worse when the whole 95 % interval of the ratio lies outside the tolerance, and the same
when all of it lies within; otherwise there are too few samples. Single runs prove little: alternate the sides, with at
least four runs of each.

Examples:
  svcnet compare before after --tolerance 5%
  svcnet compare .svcnet/runs/2026-11-22T10-00-00-upload-1 .svcnet/runs/2026-11-22T11-00-00-upload-1 --json
  svcnet compare --flavours svc,bee --load mixed --duration 30s --bee-binary ./bee
  svcnet compare --flavours svc,svc@../changed/node/main.ts --scenario upload`,
};

function percent(text: string): number {
  const share = parsePercent(text);
  if (share !== undefined && share > 0 && share <= 1) return share;
  throw new NotExpected('Expected a share above 0% and at most 100%, such as 5%.');
}
