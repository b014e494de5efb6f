/** Commands in the help's order. What one takes and does is loaded when it is asked for, from `options/` and this folder. */
import type { CommandOptions } from './options/spec.ts';

/** @returns exit code, if a verdict */
export type Action = (...given: never[]) => Promise<number | void>;

export interface CommandRow {
  readonly usage: string;
  /** A verb phrase. */
  readonly about: string;
  readonly options: () => Promise<CommandOptions>;
  readonly action: () => Promise<Action>;
}

export interface GroupRow {
  readonly usage: string;
  readonly about: string;
  readonly commands: readonly CommandRow[];
}

const files = () => import('./options/files.ts');
const nodes = () => import('./options/nodes.ts');
const chain = () => import('./options/chain.ts');
const conformance = () => import('./options/conformance.ts');
const snapshot = () => import('./options/snapshot.ts');

export const COMMANDS: readonly (CommandRow | GroupRow)[] = [
  {
    usage: 'up [options]',
    about: 'start a cluster and leave it running',
    options: async () => (await import('./options/up.ts')).up,
    action: async () => (await import('./up-compiled.ts')).up,
  },
  {
    usage: 'validate [options] <file>',
    about: 'check a cluster file without starting anything',
    options: async () => (await files()).validate,
    action: async () => (await import('./validate.ts')).validate,
  },
  {
    usage: 'flavour',
    about: 'check a description of a node program',
    commands: [
      {
        usage: 'check [options] <file>',
        about: 'start a node as a flavour file says, and check each of its statements',
        options: async () => (await files()).checkFlavour,
        action: async () => (await import('./flavour-check.ts')).checkFlavour,
      },
    ],
  },
  {
    usage: 'attach [options]',
    about: 'use a running network as a cluster, without changing it',
    options: async () => (await files()).attach,
    action: async () => (await import('./attach.ts')).attach,
  },
  {
    usage: 'init [options] [file]',
    about: 'write a cluster file with every key explained',
    options: async () => (await files()).init,
    action: async () => (await import('./init.ts')).init,
  },
  {
    usage: 'new',
    about: 'write a template to start from',
    commands: [
      {
        usage: 'scenario [options] <name>',
        about: 'write a scenario that runs as it is, to change into your own',
        options: async () => (await import('./options/new.ts')).newScenario,
        action: async () => (await import('./new-scenario.ts')).newScenario,
      },
    ],
  },
  {
    usage: 'schema [options]',
    about: 'print the JSON schema of cluster files, for editors',
    options: async () => (await files()).schema,
    action: async () => (await import('./schema.ts')).schema,
  },
  {
    usage: 'export [options] <target>',
    about: 'write a cluster as deployment files for another engine, with a network file for attach',
    options: async () => (await files()).exportDefinition,
    action: async () => (await import('./export.ts')).exportDefinition,
  },
  {
    usage: 'ps [options]',
    about: 'list the nodes of a cluster, or all clusters unless there is exactly one',
    options: async () => (await nodes()).ps,
    action: async () => (await import('./ps.ts')).ps,
  },
  {
    usage: 'status [options]',
    about: 'show cluster health, debts and problems',
    options: async () => (await nodes()).status,
    action: async () => (await import('./status.ts')).status,
  },
  {
    usage: 'ui [options]',
    about: "serve a live web page of a running cluster, or play a run's record there",
    options: async () => (await import('./options/ui.ts')).ui,
    action: async () => (await import('./ui.ts')).ui,
  },
  {
    usage: 'trace [options] <reference>',
    about: 'show which nodes store a chunk and the route it took',
    options: async () => (await import('./options/trace.ts')).trace,
    action: async () => (await import('./trace.ts')).trace,
  },
  {
    usage: 'tap [options] [nodes...]',
    about: 'show what nodes say to each other, message by message, as it passes',
    options: async () => (await import('./options/tap.ts')).tap,
    action: async () => (await import('./tap.ts')).tap,
  },
  {
    usage: 'logs [options] [nodes...]',
    about: 'show the logs of nodes or the chain',
    options: async () => (await nodes()).logs,
    action: async () => (await import('./logs.ts')).logs,
  },
  {
    usage: 'env [options]',
    about: 'print a cluster as shell variables, for eval "$(svcnet env)"',
    options: async () => (await nodes()).oneCluster,
    action: async () => (await import('./env.ts')).env,
  },
  {
    usage: 'keys [options]',
    about: 'print the accounts of the nodes and three spare accounts, with private keys',
    options: async () => (await nodes()).keys,
    action: async () => (await import('./keys.ts')).keys,
  },
  {
    usage: 'stop [options] <node>',
    about: 'shut a node down cleanly and wait until it has ended',
    options: async () => (await nodes()).nodeAction,
    action: async () => (await import('./node-actions.ts')).stop,
  },
  {
    usage: 'start [options] [node]',
    about: 'start a stopped or killed node with its data; without a node, a whole cluster that is down',
    options: async () => (await nodes()).start,
    action: async () => (await import('./start.ts')).start,
  },
  {
    usage: 'add [options]',
    about: 'add nodes to a running cluster and wait until they serve',
    options: async () => (await nodes()).add,
    action: async () => (await import('./members.ts')).add,
  },
  {
    usage: 'remove [options] <node>',
    about: 'take a node out of a running cluster, with its data or without',
    options: async () => (await nodes()).remove,
    action: async () => (await import('./members.ts')).remove,
  },
  {
    usage: 'scale [options] <nodes>',
    about: 'add or remove nodes until this many run',
    options: async () => (await nodes()).scale,
    action: async () => (await import('./members.ts')).scale,
  },
  {
    usage: 'upgrade [options] [node]',
    about: 'give a node another program or mode, with its keys and data',
    options: async () => (await nodes()).upgrade,
    action: async () => (await import('./upgrade.ts')).upgrade,
  },
  {
    usage: 'kill [options] <node>',
    about: 'kill a node at once, without a clean stop',
    options: async () => (await nodes()).nodeAction,
    action: async () => (await import('./node-actions.ts')).kill,
  },
  {
    usage: 'pause [options] <node>',
    about: 'freeze a node: its connections stay open but it does not answer',
    options: async () => (await nodes()).nodeAction,
    action: async () => (await import('./node-actions.ts')).pause,
  },
  {
    usage: 'resume [options] <node>',
    about: 'resume a paused node',
    options: async () => (await nodes()).nodeAction,
    action: async () => (await import('./node-actions.ts')).resume,
  },
  {
    usage: 'fault [words...]',
    about: 'inject a fault until it is healed; --help lists the kinds',
    options: async () => (await nodes()).fault,
    action: async () => (await import('./fault.ts')).fault,
  },
  {
    usage: 'faults [options]',
    about: 'list active faults with their age and effect so far',
    options: async () => (await nodes()).oneCluster,
    action: async () => (await import('./fault.ts')).faults,
  },
  {
    usage: 'heal [options] [ids...]',
    about: 'heal faults',
    options: async () => (await nodes()).heal,
    action: async () => (await import('./fault.ts')).heal,
  },
  {
    usage: 'stamp [options] [node]',
    about: 'buy a postage batch through a node, or for an account, and wait until it is usable',
    options: async () => (await chain()).stamp,
    action: async () => (await import('./stamp.ts')).stamp,
  },
  {
    usage: 'upload [options] <file>',
    about: 'upload a file to a node, and wait until its chunks are on the network',
    options: async () => (await import('./options/transfer.ts')).upload,
    action: async () => (await import('./transfer.ts')).upload,
  },
  {
    usage: 'download [options] <reference> <file>',
    about: 'download a file, or raw bytes, from a node',
    options: async () => (await import('./options/transfer.ts')).download,
    action: async () => (await import('./transfer.ts')).download,
  },
  {
    usage: 'mine [options] [blocks]',
    about: 'mine blocks now, regardless of the block time',
    options: async () => (await chain()).mine,
    action: async () => (await import('./mine.ts')).mine,
  },
  {
    usage: 'fund [options] <account>',
    about: 'add coins and tokens to an account',
    options: async () => (await chain()).fund,
    action: async () => (await import('./fund.ts')).fund,
  },
  {
    usage: 'snapshot',
    about: 'save clusters, and start others from them',
    commands: [
      {
        usage: 'save [options] <snapshot>',
        about: 'save chain, data and identities of a cluster; its nodes stop for a moment',
        options: async () => (await snapshot()).saveSnapshot,
        action: async () => (await import('./snapshot.ts')).saveSnapshot,
      },
      {
        usage: 'ls [options]',
        about: 'list snapshots',
        options: async () => (await snapshot()).listAllSnapshots,
        action: async () => (await import('./snapshot.ts')).listAllSnapshots,
      },
      {
        usage: 'rm [options] <snapshot>',
        about: 'remove a snapshot',
        options: async () => (await snapshot()).removeOneSnapshot,
        action: async () => (await import('./snapshot.ts')).removeOneSnapshot,
      },
    ],
  },
  {
    usage: 'run [options] [scenarios...]',
    about: 'run scenarios on a fresh or running cluster; exits with 0 only if none failed',
    options: async () => (await import('./options/run.ts')).run,
    action: async () => (await import('./run.ts')).run,
  },
  {
    usage: 'diff [options] <words...>',
    about: 'run scenarios on networks of several flavours with one seed, and name what differs',
    options: async () => (await import('./options/diff.ts')).diff,
    action: async () => (await import('./diff.ts')).diff,
  },
  {
    usage: 'compare [options] [runs...]',
    about: 'compare runs: better, same or worse; fails when a figure is worse',
    options: async () => (await import('./options/compare.ts')).compare,
    action: async () => (await import('./compare.ts')).compare,
  },
  {
    usage: 'conformance',
    about: 'check any storage node against the protocol, with evidence for each verdict',
    commands: [
      {
        usage: 'http [options]',
        about: 'check the HTTP API of a node',
        options: async () => (await conformance()).conformanceHttp,
        action: async () => (await import('./conformance.ts')).conformanceHttp,
      },
      {
        usage: 'wire [options]',
        about: 'check the wire protocols of a node',
        options: async () => (await conformance()).conformanceWire,
        action: async () => (await import('./conformance.ts')).conformanceWire,
      },
      {
        usage: 'chain [options]',
        about: 'check the contracts that nodes need on a chain',
        options: async () => (await conformance()).conformanceChain,
        action: async () => (await import('./conformance.ts')).conformanceChain,
      },
      {
        usage: 'matrix [options] <title=report...>',
        about: 'write reports side by side as a Markdown page',
        options: async () => (await conformance()).conformanceMatrix,
        action: async () => (await import('./conformance.ts')).conformanceMatrix,
      },
    ],
  },
  {
    usage: 'metrics [options] [node]',
    about: 'print the metrics of a node, or of all nodes of a cluster',
    options: async () => (await import('./options/metrics.ts')).metrics,
    action: async () => (await import('./metrics.ts')).metrics,
  },
  {
    usage: 'load [options] [load]',
    about: 'load a cluster with k6, measure it, and verify that every upload is retrievable',
    options: async () => (await import('./options/load.ts')).load,
    action: async () => (await import('./load.ts')).load,
  },
  {
    usage: 'dashboards [options]',
    about: 'run Prometheus and Grafana for a running cluster until interrupted',
    options: async () => (await import('./options/dashboards.ts')).dashboards,
    action: async () => (await import('./dashboards.ts')).dashboards,
  },
  {
    usage: 'report [options] <run>',
    about: 'rewrite report.html and report.md of a run from its folder',
    options: async () => (await import('./options/report.ts')).report,
    action: async () => (await import('./report.ts')).report,
  },
  {
    usage: 'replay [options] <run>',
    about:
      'repeat a run from its folder; exits with 1 if it fails the same way, with 0 if it passes or fails differently',
    options: async () => (await import('./options/replay.ts')).replay,
    action: async () => (await import('./replay.ts')).replay,
  },
  {
    usage: 'minimise [options] <run>',
    about:
      'reduce a failed run to fewer nodes, faults, operations and bytes, and less time, that fail the same way',
    options: async () => (await import('./options/replay.ts')).minimise,
    action: async () => (await import('./replay.ts')).minimise,
  },
  {
    usage: 'down [options]',
    about: 'stop a cluster and remove everything it created; forget an attached network',
    options: async () => (await nodes()).down,
    action: async () => (await import('./down.ts')).down,
  },
];
