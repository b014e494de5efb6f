import { collect, oneOf, whole } from '../../cluster/plan/options/flag.ts';
import { LOAD_PROFILES } from '../../run/load/plan.ts';
import { SCRIPTS } from '../../run/load/scripts.ts';
import { clusterOptions } from './cluster.ts';
import type { CommandOptions } from './spec.ts';
import { JSON_OPTION, METRICS_PORT_OPTION } from './values.ts';

const OBJECTS_MAX = 100_000;
const FILES_MAX = 10_000;
const VUS_MAX = 1000;

const LOADS = Object.entries(SCRIPTS).map(([name, { about }]) => `  ${name.padEnd(10)} ${about}`);

export const load: CommandOptions = {
  arguments: [`load: ${Object.keys(SCRIPTS).join(', ')}`],
  options: {
    '--script <file>': 'your own k6 script, instead of a built-in load; it may import svcnet/k6',
    '--profile <profile>': {
      help: `shape of the load over time: ${LOAD_PROFILES.join(', ')} (default: constant)`,
      parse: oneOf(LOAD_PROFILES),
    },
    '--rate <rate>': 'arrival rate of iterations, for example 20/s or 90/m (default: 10/s)',
    '--vus <count>': {
      help: 'concurrent users, instead of a rate; each waits for its responses',
      parse: whole(1, VUS_MAX),
    },
    '--duration <duration>': 'length of the measured phase (default: 1m; soak: 30m)',
    '--warmup <duration>':
      'length of the unmeasured phase before the measured one (default: 3s; 0s with --script)',
    '--sizes <sizes>':
      'sizes of uploads: 4KiB, 4KiB..1MiB, lognormal:64KiB, or several with weights: 4KiB*9,1MiB (default: 64KiB)',
    '--mode <mode>': {
      help: 'when an upload is answered: once the network has stored it (direct), or once the node has (deferred) (default: direct)',
      parse: oneOf(['direct', 'deferred']),
    },
    '--encrypt': 'encrypt uploads',
    '--redundancy <level>': { help: 'redundancy level, 0 to 4 (default: 0)', parse: whole(0, 4) },
    '--reads <choice>':
      'which objects are read: zipf:EXPONENT, or cold, which bypasses caches (default: zipf:1.1)',
    '--objects <count>': {
      help: 'objects to upload in advance, for reading (default: 50)',
      parse: whole(1, OBJECTS_MAX),
    },
    '--read-share <percent>': {
      help: 'for mixed: percentage of downloads (default: 80)',
      parse: whole(0, 100),
    },
    '--files <count>': { help: 'files per directory (default: 10)', parse: whole(1, FILES_MAX) },
    '--on <node>': 'upload to this node only (default: all nodes in turn)',
    '--threshold <condition>': {
      help: "condition to meet: 'p95<500ms', 'errors<1%', 'rate>=20/s', 'upload:p99<1s' (repeatable)",
      parse: collect,
      repeatable: true,
      shown: 'errors<1%',
    },
    '--find-limit <condition>':
      "find the highest rate that meets a condition, for example 'p95<500ms', and the bottleneck; starts at --rate",
    '--k6 <path>': 'k6 executable (default: SVCNET_K6, then PATH, then its container image)',
    '--name <cluster>': 'load this running cluster instead of a fresh one',
    ...clusterOptions(
      [
        'nodes',
        'with',
        'flavour',
        'dishonest',
        'beeBinary',
        'file',
        'trust',
        'driver',
        'credit',
        'dialect',
        'seed',
      ],
      {
        nodes: { help: 'number of svc nodes in the fresh cluster' },
        seed: { help: 'seed for all content and every random choice' },
      },
    ),
    '--keep': { help: 'leave the fresh cluster running', once: true },
    '--report <folder>': { help: 'folder for the report (default: .svcnet/runs)', once: true },
    ...METRICS_PORT_OPTION,
    ...JSON_OPTION,
  },
  note: `
Loads:
${LOADS.join('\n')}

With --rate, latency is measured from the scheduled start of an iteration, so it includes the time spent waiting for a
slow network. Iterations that k6 could not start because every user was busy are dropped; more than 1 % fails the run.

Exits with 0 when every check passed, with 99 when only thresholds failed, with 1 when anything else failed, such as a
missing chunk, with 2 when the load could not run.

Examples:
  svcnet load upload --rate 20/s --duration 1m --threshold 'p95<500ms'
  svcnet load mixed --vus 10 --sizes lognormal:64KiB --name local
  svcnet load upload --find-limit 'p95<500ms'
  svcnet load --script my.js --vus 5 --duration 30s`,
};
