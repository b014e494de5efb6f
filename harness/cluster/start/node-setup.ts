import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Clock } from '../../../formats/clock.ts';
import { toHex } from '../../../formats/crypto/hex.ts';
import { checkPortsFree, pickFreePorts, takenPorts } from '../../base/machine/ports.ts';
import { awaitAll } from '../../base/wait.ts';
import type { NodePorts } from '../../flavours/flavour.ts';
import { flavourOf } from '../../flavours/table.ts';
import type { Driver, Place } from '../../places/driver.ts';
import { DRIVER_FACTS } from '../../places/facts.ts';
import type { Route } from '../../places/links/proxy/routes.ts';
import { chequebookOf } from '../plan/chain-options.ts';
import { type ChainFacts, type ClusterPlan, placeNodes } from '../plan/plan.ts';
import type { PlannedNode } from '../plan/planned-node.ts';
import { fixedPorts, wantedPorts } from '../plan/ports.ts';
import type { Definition } from '../plan/schema.ts';
import { type ClusterRecord, clusterFolder, type NodeRecord } from '../state/state.ts';
import type { StartedChain } from './chain-start.ts';
import { addPeerRecords, sharesRecords, writePeerRecords } from './peer-records.ts';

/** Enough to tell clusters of one name apart, too few to control one. */
const TOKEN_SHOWN = 8;

/** For nodes that have none on the machine: their driver says where they are. */
const NO_PORTS: NodePorts = { p2p: 0, api: 0, debug: 0 };

export interface NodeSetup {
  readonly clock: Clock;
  readonly stateDir: string;
  readonly record: ClusterRecord;
  readonly driver: Driver;
  readonly before?: ClusterRecord | undefined;
}

export interface CreatedNodes {
  readonly records: readonly NodeRecord[];
  readonly routes: readonly Route[];
}

export async function createNodes(
  { clock, stateDir, record, driver, before }: NodeSetup,
  started: Pick<StartedChain, 'record' | 'nodesUrls'>,
  plan: ClusterPlan,
): Promise<CreatedNodes> {
  const folder = clusterFolder(stateDir, record.name);
  const { underlays } = plan.definition;
  const proxied = driver.routes !== undefined;
  // What containers publish is fixed, and they keep what they were given.
  const isFixed = driver.halt !== undefined;
  const { simulated } = DRIVER_FACTS[driver.name];
  const { ports, behind } = simulated
    ? { ports: plan.nodes.map(() => NO_PORTS), behind: [] }
    : await choosePorts(plan.definition, {
        numbers: plan.nodes.map(({ index }) => index),
        proxied,
        keeper: portKeeper(stateDir, record),
        before: before?.nodes.map(portsOf),
        isFixed,
        isHeld: proxied && plan.joined !== undefined,
      });
  const places = plan.nodes.map((node, index) => {
    const { name } = node;
    const all = at(ports, index);
    const { debugApi } = flavourOf(node);
    const place = driver.place({
      name,
      ports: all,
      ...(proxied ? { behind: at(behind, index) } : {}),
      dataDir: folder.dataDir(name),
    });
    return {
      ...place,
      debug: debugApi ? place.debug : place.api,
      reached: place.peers,
      here: debugApi ? all : { ...all, debug: all.api },
    };
  });
  const peerRecords = sharesRecords(plan.definition, driver.name) ? folder.peerRecords() : undefined;
  const placed = placeNodes(plan, places, { ...chainFacts(started, plan.definition), peerRecords });
  if (peerRecords !== undefined) {
    const told = { planned: plan.nodes, placed };
    if (plan.joined === undefined) writePeerRecords(peerRecords, told, clock.now());
    else await addPeerRecords(peerRecords, told, { clock, stateDir, record });
  }
  // A container created after a failure would have no owner.
  const records = await awaitAll(
    placed.map(async ({ plan: node, underlay }, index): Promise<NodeRecord> => {
      const planned = at(plan.nodes, index);
      const { flavour, declared, identity, peers } = planned;
      const { api, debug, p2p, container, here } = at(places, index);
      if (before === undefined || !isFixed) await driver.create(node, flavourOf(planned), here);
      // Containers of a cluster that starts again exist; one of an upgraded node is made anew.
      else if (plan.joined !== undefined) await driver.remake?.(node, flavourOf(planned), here);
      const multiaddress = flavourOf(planned).underlay({ identity, ...p2p, underlays });
      return {
        name: node.name,
        flavour,
        declared,
        mode: node.mode,
        dialect: node.dialect,
        binary: node.binary,
        image: node.image,
        api,
        debug,
        p2p: multiaddress,
        ...(multiaddress === underlay ? {} : { underlay }),
        overlay: identity.overlay,
        ethereum: identity.ethereum,
        privateKey: toHex(identity.keys.swarm),
        container,
        dataDir: node.dataDir,
        log: driver.logs({ name: node.name, log: folder.log(node.name) }).where,
        peers,
      };
    }),
  );
  const routes = plan.nodes.map((node, index) => routeOf(node, at(places, index), plan.definition));
  return { records, routes: routes.filter((route) => route !== undefined) };
}

function routeOf(
  node: PlannedNode,
  { api, behind, here }: Place & { readonly here: NodePorts },
  { tap }: Definition,
): Route | undefined {
  if (behind === undefined) return undefined;
  return {
    node: node.name,
    overlay: node.identity.overlay,
    ...(flavourOf(node).learnsListeners ? { passerApi: api } : {}),
    port: here.p2p,
    host: behind.host,
    nodePort: behind.port,
    ...(tap ? { key: flavourOf(node).linkKey(node.identity) } : {}),
  };
}

function chainFacts(
  { record, nodesUrls }: Pick<StartedChain, 'record' | 'nodesUrls'>,
  definition: Definition,
): ChainFacts {
  const { contracts, startBlock } = record;
  const { rpc, gate } = nodesUrls;
  return {
    contracts,
    startBlock,
    rpcOf: (node) => (gate === undefined ? rpc : `${gate}/${node}`),
    chequebookOf: (node) => chequebookOf(definition, node, contracts),
  };
}

/** A node without a debug API has its API's port there. */
function portsOf({ api, debug, p2p }: NodeRecord): NodePorts {
  return { api: portOf(api), debug: portOf(debug), p2p: Number(/\/tcp\/(\d+)/.exec(p2p)?.[1]) };
}

function hasDebug({ api, debug }: NodePorts): boolean {
  return debug !== api;
}

export function portOf(url: string): number {
  return Number(new URL(url).port);
}

/**
 * Picks all ports together: a second call might find the same ones.
 * @returns `behind`: p2p ports of nodes if a proxy holds those of `ports`; else none
 */
async function choosePorts(
  { ports, listen }: Definition,
  {
    numbers,
    proxied,
    keeper,
    before,
    isFixed,
    isHeld,
  }: {
    readonly numbers: readonly number[];
    readonly proxied: boolean;
    readonly keeper: string;
    readonly before: readonly NodePorts[] | undefined;
    readonly isFixed: boolean;
    /** Their running proxy listens on their old p2p ports. */
    readonly isHeld: boolean;
  },
): Promise<{ ports: NodePorts[]; behind: number[] }> {
  const count = numbers.length;
  const options = { host: listen, keeper };
  const takenOf = (wanted: readonly number[]) =>
    isFixed ? Promise.resolve(new Set<number>()) : takenPorts(wanted, options);
  if (before !== undefined && ports === 'free') {
    const wantedOf = ({ api, debug, p2p }: NodePorts) => (isHeld ? [api, debug] : [api, debug, p2p]);
    const taken = await takenOf(before.flatMap(wantedOf));
    const kept = before.map((each) => (wantedOf(each).some((port) => taken.has(port)) ? undefined : each));
    const missing = kept.reduce((sum, each) => sum + (each === undefined ? 3 : hasDebug(each) ? 0 : 1), 0);
    const fresh = await pickFreePorts(missing + (proxied ? count : 0), options);
    const next = () => fresh.shift() ?? 0;
    return {
      ports: kept.map((each) => {
        if (each === undefined) return { api: next(), p2p: next(), debug: next() };
        return hasDebug(each) ? each : { ...each, debug: next() };
      }),
      behind: fresh,
    };
  }
  const outside = ports === 'free' ? count * 3 : ports.debug === 'free' ? count : 0;
  const free = await pickFreePorts(outside + (proxied ? count : 0), options);
  // A range's ports stay even if taken: the node's start says so.
  const debugs = before?.map((each) => (hasDebug(each) ? each.debug : undefined)) ?? [];
  const taken = await takenOf(debugs.filter((port) => port !== undefined));
  const chosen = numbers.map((number, index) => {
    if (ports === 'free') {
      return { api: at(free, index * 3), p2p: at(free, index * 3 + 1), debug: at(free, index * 3 + 2) };
    }
    const fixed = fixedPorts(ports, number);
    if (ports.debug === 'range') return fixed;
    const debug = debugs[index];
    return { ...fixed, debug: debug === undefined || taken.has(debug) ? at(free, index) : debug };
  });
  return { ports: chosen, behind: free.slice(outside) };
}

/**
 * Before anything starts. @param isHeld a proxy that runs listens on the p2p ports
 * @throws HarnessError `PORT_IN_USE`, `DEFINITION_INVALID`
 */
export async function checkPorts(
  {
    definition,
    nodes,
    joined,
  }: Pick<ClusterPlan, 'definition' | 'joined'> & { readonly nodes: readonly Pick<PlannedNode, 'index'>[] },
  { isAgain, isHeld = false }: { readonly isAgain: boolean; readonly isHeld?: boolean },
): Promise<void> {
  const hint = isAgain ? 'The definition of the cluster names this port: end what has it.' : undefined;
  const added = joined === undefined ? undefined : nodes.map(({ index }) => index);
  await checkPortsFree(wantedPorts(definition, { added, isHeld }), definition.listen, hint);
}

function at<T>(list: readonly T[], index: number): T {
  const item = list[index];
  if (item === undefined) throw new RangeError(`nothing at ${index} of ${list.length}`);
  return item;
}

/**
 * There as long as the cluster, for port claims; its folder would reappear with another cluster of the name.
 * @returns its path, absolute
 */
export function portKeeper(stateDir: string, { name, token }: Pick<ClusterRecord, 'name' | 'token'>): string {
  const path = resolve(join(clusterFolder(stateDir, name).path, `ports-${token.slice(0, TOKEN_SHOWN)}`));
  writeFileSync(path, '');
  return path;
}
