import { collect, whole } from '../../cluster/plan/options/flag.ts';
import { VARIED } from '../../run/vary.ts';
import { clusterOptions, MIXED_NOTE } from './cluster.ts';
import type { CommandOptions } from './spec.ts';
import { JSON_OPTION, limit, METRICS_PORT_OPTION, seedRange } from './values.ts';

const REPEATS_MAX = 10_000;
const PARALLEL_MAX = 16;
const JOBS_MAX = 256;

export const run: CommandOptions = {
  arguments: ['scenario names, paths of scenario files, or the file of a minimised run'],
  options: {
    '--list': {
      help: 'list scenarios with their parameters, tags and suites; with names, list only those scenarios',
      once: true,
    },
    '--suite <name>': 'run the scenarios of a suite: quick, ci or nightly',
    '--tag <tag>': 'run the scenarios with this tag or in this group',
    '--checks <file>': "run the checks listed in a file of the public network's check tool (YAML)",
    '--name <cluster>': 'run on this running cluster instead of a fresh one',
    ...clusterOptions(
      [
        ...(['nodes', 'light', 'with', 'flavour', 'dishonest', 'machineFaults', 'beeBinary'] as const),
        ...(['file', 'trust', 'driver'] as const),
        ...([
          'profile',
          'credit',
          'dialect',
          'coldGossip',
          'linkFaults',
          'tap',
          'underlays',
          'network',
          'odd',
        ] as const),
        ...(['seed'] as const),
      ],
      {
        nodes: { help: 'number of svc nodes in the fresh cluster', fallback: 'what the scenarios need' },
        credit: { fallback: 'what the scenarios need' },
      },
    ),
    '--repeat <count>': {
      help: 'number of runs, with this seed and the following ones (default: 1)',
      parse: whole(1, REPEATS_MAX),
      once: true,
    },
    '--until-failure': { help: 'with --repeat: stop after the first run that failed', once: true },
    '--check-determinism': {
      help: 'with --driver simulated: run the seed twice, and name the first difference',
      once: true,
    },
    '--seeds <first..last>': {
      help: 'run once with each of these seeds, such as 1..1000, each in its own process',
      parse: seedRange,
      once: true,
    },
    '--vary': {
      help: `with --seeds: from each seed, also draw ${Object.keys(VARIED)
        .map((name) => `--${name}`)
        .join(', ')} and the parameters whose bounds --list shows, except those given`,
      once: true,
    },
    '--jobs <count>': {
      help: 'with --seeds: processes at once (default: one for each core)',
      parse: whole(1, JOBS_MAX),
      once: true,
    },
    '--keep-going': {
      help: 'with --seeds: run the other seeds after a failure, and group failures by kind',
      once: true,
    },
    '--minimise': {
      help: 'with --seeds: then run minimise on the first failure of each kind',
      once: true,
    },
    '--seed-limit <duration>': {
      help: 'with --seeds: time on this machine after which a seed counts as hung (default: 30m)',
      parse: limit,
      once: true,
    },
    '--parallel <count>': {
      help: 'clusters at once, for scenarios that need different ones (default: one for each core, at most 4; 1 for a cluster that options describe)',
      parse: whole(1, PARALLEL_MAX),
    },
    '--ui': {
      help: 'with --driver simulated: serve a live page, which pauses the run, steps through it and sets its pace (at first: real time); the run takes the same course as without it',
      once: true,
    },
    '--keep': { help: 'leave the last fresh cluster running', once: true },
    '--set <key=value>': {
      help: 'parameter of the scenarios (repeatable)',
      parse: collect,
      repeatable: true,
    },
    '--report <folder>': { help: 'folder for the report (default: .svcnet/runs)', once: true },
    ...METRICS_PORT_OPTION,
    ...JSON_OPTION,
  },
  note: MIXED_NOTE,
};
