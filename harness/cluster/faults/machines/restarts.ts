import { z } from 'zod';
import { plural } from '../../../base/format.ts';
import type { Handle } from '../../../places/driver.ts';
import type { ClusterNode } from '../../nodes/cluster-node.ts';
import type { Effect, FaultContext, FaultKind, FaultStart } from '../fault.ts';
import { duration, NODE_FIELD, nodeName, parseNames } from '../fields.ts';
import { AWAY_FIELDS, away, type OneNode, oneNode, SOME_NODES, whole } from './fields.ts';

const ROUNDS_MAX = 1_000;
const AWAY_MS = 2_000;

export const STOP: FaultKind<OneNode> = {
  name: 'stop',
  layer: 'machine',
  about: 'stop a node cleanly; it starts again on its data when healed',
  schema: oneNode,
  startsNodes: true,
  text: ({ node }) => `stops ${node}`,
  targets: ({ node }) => [node],
  async begin(context, { node }, { hold }) {
    if (await isUp(context.node(node))) hold({ node, seen: 1 });
    await context.node(node).stop();
    return { node, seen: Number((await context.node(node).observe()).state === 'stopped') };
  },
  effect: (_context, { seen }) => Promise.resolve({ 'nodes stopped': Number(seen) }),
  end: (context, { node }) => startAgain(context, String(node)),
};

const RESTARTED: Pick<FaultKind, 'startsNodes' | 'effect' | 'end' | 'stays'> = {
  startsNodes: true,
  effect: restartEffect,
  end: (context, { away = '' }) => (away === '' ? Promise.resolve() : startAgain(context, String(away))),
  stays: ({ lost = '' }) => (lost === '' ? undefined : `the data of ${lost} is gone`),
};

const restart = z.strictObject({ node: nodeName, ...away });

export const RESTART: FaultKind<z.infer<typeof restart>> = {
  name: 'restart',
  layer: 'machine',
  about: 'stop a node and start it again; with --wipe it loses everything stored except its keys',
  schema: restart,
  fields: [NODE_FIELD, ...AWAY_FIELDS],
  momentary: true,
  text: ({ node, wipe }) => `restarts ${node}${wipe ? ' without its data' : ''}`,
  targets: ({ node }) => [node],
  begin: (context, { node, ...how }, start) =>
    restartAll(context, [context.node(node)], { ...how, end: 'stop' }, start),
  ...RESTARTED,
};

const rolling = z.strictObject({
  nodes: z.array(nodeName, { error: 'names of nodes' }).default([]),
  ...away,
});

export const ROLLING_RESTART: FaultKind<z.infer<typeof rolling>> = {
  name: 'rolling-restart',
  layer: 'machine',
  about: 'restart nodes one after the other, each when the one before is ready; without names, all that run',
  schema: rolling,
  fields: [SOME_NODES, ...AWAY_FIELDS],
  momentary: true,
  text: ({ nodes, wipe }) =>
    `restarts ${nodes.length === 0 ? 'all nodes' : nodes.join(', ')} one after the other${wipe ? ' without their data' : ''}`,
  targets: ({ nodes }) => nodes,
  begin: (context, { nodes, ...how }, start) =>
    restartAll(context, nodesNamed(context, nodes), { ...how, end: 'stop' }, start),
  ...RESTARTED,
};

const churn = z.strictObject({
  nodes: z.array(nodeName, { error: 'names of nodes' }).min(1, { error: 'names of nodes' }),
  rounds: whole(1, ROUNDS_MAX, 'rounds').default(1),
  down: duration.default(AWAY_MS),
});

export const CHURN: FaultKind<z.infer<typeof churn>> = {
  name: 'churn',
  layer: 'machine',
  about: 'kill nodes and start them again, one after the other, round after round',
  capability: 'kill',
  schema: churn,
  fields: [
    { field: 'nodes', flag: '<nodes>', about: 'comma-separated names', parse: parseNames },
    { field: 'rounds', flag: '--rounds <count>', about: 'number of times that each leaves (default: 1)' },
    { field: 'down', flag: '--down <duration>', about: 'how long each is away (default: 2s)' },
  ],
  momentary: true,
  text: ({ nodes, rounds }) => `lets ${nodes.join(', ')} leave and come back, ${plural(rounds, 'time')} each`,
  targets: ({ nodes }) => nodes,
  begin(context, { nodes, rounds, down }, start) {
    const all = Array.from({ length: rounds }, () => nodesNamed(context, nodes)).flat();
    return restartAll(context, all, { down, wipe: false, end: 'kill' }, start);
  },
  ...RESTARTED,
};

function nodesNamed(context: FaultContext, names: readonly string[]): readonly ClusterNode[] {
  return names.length === 0
    ? context.nodes.filter((node) => node.running && !hasLeft(node))
    : names.map((name) => context.node(name));
}

interface Restart {
  readonly end: 'stop' | 'kill';
  readonly wipe: boolean;
  /** Milliseconds. */
  readonly down: number;
}

async function restartAll(
  { clock }: FaultContext,
  nodes: readonly ClusterNode[],
  { end, wipe, down }: Restart,
  { signal, hold }: FaultStart,
): Promise<Handle> {
  let [gone, back] = [0, 0];
  const wiped = new Set<string>();
  const soFar = (away: string): Handle => ({
    away,
    gone,
    back,
    wiped: wiped.size,
    lost: [...wiped].join(', '),
  });
  const restartOne = async (node: ClusterNode) => {
    // A node that something else has taken away is refused, and not brought back.
    if (await isUp(node)) hold(soFar(node.name));
    await node[end]();
    if ((await node.observe()).state !== 'running') gone++;
    if (wipe) {
      signal.throwIfAborted();
      wiped.add(node.name);
      hold(soFar(node.name));
      await node.wipe();
    }
    hold(soFar(node.name));
    await clock.sleep(down, signal);
    if ((await node.observe()).state !== 'running') await node.start({ ...START, signal });
    if ((await node.observe()).state === 'running') back++;
  };
  for (const node of nodes) expectReturn(node);
  for (const node of nodes) {
    signal.throwIfAborted();
    try {
      await restartOne(node);
    } catch (error) {
      if (!hasLeft(node)) throw error;
    }
  }
  return soFar('');
}

/** @throws HarnessError when this process could not restart it */
export function expectReturn({ startRefusal }: Pick<ClusterNode, 'startRefusal'>): void {
  if (startRefusal !== undefined) throw startRefusal;
}

function hasLeft({ startRefusal }: ClusterNode): boolean {
  return startRefusal?.code === 'NODE_NOT_FOUND';
}

export async function isUp(node: ClusterNode): Promise<boolean> {
  const { state } = await node.observe();
  return state === 'running' || state === 'paused';
}

/** A node with much data on a busy machine takes longer than a new one. */
export const START = { timeoutMs: 120_000 } as const;

export async function startAgain(context: FaultContext, name: string): Promise<void> {
  const node = context.nodes.find((one) => one.name === name);
  if (node === undefined || hasLeft(node)) return;
  const { state } = await node.observe();
  if (state === 'stopped' || state === 'killed') await node.start(START);
}

function restartEffect(_context: FaultContext, { gone, back, wiped }: Handle): Promise<Effect> {
  return Promise.resolve({
    'nodes that left': Number(gone),
    'nodes that came back': Number(back),
    'nodes that lost all data': Number(wiped),
  });
}
