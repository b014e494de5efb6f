import type { ClusterOptions } from '../../../../harness/cluster/opening.ts';
import type { StartingDriver } from '../../../../harness/places/facts.ts';
import redistributionRound from '../../../../scenarios/redistribution-round.ts';
import { SILENT_CLUSTER } from '../../../../scenarios/steps/silent-neighbourhood.ts';
import withdraw from '../../../../scenarios/withdraw.ts';
import { CHAOS } from './chaos.ts';
import { CONTENT, CONVERGING } from './content.ts';
import { DISHONEST } from './dishonest.ts';
import { GAME } from './game.ts';
import { KNOWN } from './known.ts';
import type { Mutation } from './lies.ts';
import { LOAD } from './load.ts';
import { MESSAGES } from './messages.ts';
import { MIXED } from './mixed.ts';
import { MONEY } from './money.ts';
import { POSTAGE } from './postage.ts';
import { GC, GROWTH } from './storage.ts';
import { STORMS } from './storm.ts';
import { LAST, MACHINES, WIDE } from './wide.ts';

interface Ground {
  readonly name: string;
  /** Default: simulated. */
  readonly driver?: StartingDriver;
  readonly cluster: Pick<
    ClusterOptions,
    'nodes' | 'credit' | 'chain' | 'linkFaults' | 'machineFaults' | 'tap'
  >;
  /** More content would not fit. */
  readonly seed?: bigint;
  readonly mutations: readonly Mutation[];
}

const WIDE_NODES: ClusterOptions['nodes'] = [
  { count: 4, neighbourhoods: ['0', '1', '0', '1'], options: { 'minimum-storage-radius': 1 } },
  { count: 1, mode: 'light' },
];

export const GROUNDS: readonly Ground[] = [
  {
    name: 'wide',
    cluster: { nodes: WIDE_NODES },
    mutations: [...WIDE, ...CONTENT, ...GROWTH, ...POSTAGE, ...CHAOS, ...LAST],
  },
  {
    name: 'loaded',
    // Loads come from a program that reaches no simulated node.
    driver: 'embedded',
    cluster: { nodes: WIDE_NODES },
    mutations: LOAD,
  },
  {
    name: 'machines',
    cluster: { nodes: WIDE_NODES, linkFaults: true, machineFaults: true },
    mutations: [...STORMS, ...MACHINES],
  },
  {
    name: 'paying',
    cluster: {
      nodes: [{ count: 4, options: withdraw.cluster.options ?? {} }, { mode: 'light' }],
      credit: 'low',
      // Most of its scenarios wait for blocks.
      chain: { blockTime: '200ms' },
    },
    mutations: [...MONEY, ...MIXED],
  },
  {
    name: 'small',
    cluster: {
      nodes: [
        {
          count: 4,
          neighbourhoods: ['0', '1', '0', '1'],
          options: { 'reserve-capacity': 100, 'cache-capacity': 10 },
        },
      ],
    },
    mutations: GC,
  },
  {
    name: 'converging',
    cluster: { nodes: [{ count: 3, options: { 'pullsync-v2-enable': true } }] },
    mutations: CONVERGING,
  },
  {
    name: 'playing',
    cluster: { nodes: [{ count: 3, options: redistributionRound.cluster.options ?? {} }] },
    seed: 5n,
    mutations: GAME,
  },
  {
    name: 'dishonest',
    cluster: {
      nodes: [
        {
          count: 4,
          neighbourhoods: ['0', '1', '0', '1'],
          options: { 'minimum-storage-radius': 1, 'cache-capacity': 0 },
        },
        {
          flavour: 'dishonest',
          dishonest: ['wrong-data'],
          options: { 'minimum-storage-radius': 1, 'cache-capacity': 0 },
        },
      ],
    },
    mutations: DISHONEST,
  },
  {
    name: 'silent',
    cluster: {
      nodes: [
        {
          count: SILENT_CLUSTER.nodes,
          neighbourhoods: SILENT_CLUSTER.neighbourhoods,
          options: SILENT_CLUSTER.options,
        },
      ],
    },
    mutations: KNOWN,
  },
  {
    name: 'tapped',
    cluster: {
      nodes: [
        {
          count: 4,
          neighbourhoods: ['0', '1', '0', '1'],
          options: { 'minimum-storage-radius': 1 },
        },
      ],
      credit: 'network',
      tap: true,
    },
    mutations: MESSAGES,
  },
];

export const MUTATIONS = GROUNDS.flatMap(({ mutations }) => mutations);
