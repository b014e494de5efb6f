/** Before nodes can start: their ports, and what each of them needs on disk. */

import { plainHex } from '../client/json.ts';
import type { Flavour, NodeMode, NodePlan, NodePorts } from '../flavours/flavour.ts';
import { FLAVOURS } from '../flavours/table.ts';
import { checkPortsFree, pickFreePorts } from '../machine/ports.ts';
import type { Driver, Endpoints } from '../places/driver.ts';
import { creditOf, type Definition, type NodeGroup, PORT_STRIDE, plannedNodes } from '../plan/definition.ts';
import type { NodeIdentity } from '../plan/seed.ts';
import { type ClusterRecord, clusterFolder, type NodeRecord } from '../state/state.ts';
import type { StartedChain } from './chain-start.ts';

/** New nodes ask these first; three are enough for gossip to reach everybody. */
const BOOTNODES = 3;

export interface NodeSetup {
  readonly stateDir: string;
  readonly record: ClusterRecord;
  readonly definition: Definition;
  readonly driver: Driver;
}

/** Chooses ports, writes key files and configuration of every node. @throws HarnessError `PORT_IN_USE` */
export async function createNodes(
  setup: NodeSetup,
  { record: chain, chequebooks }: Pick<StartedChain, 'record' | 'chequebooks'>,
  identities: readonly NodeIdentity[],
): Promise<readonly NodeRecord[]> {
  const { definition, driver, stateDir } = setup;
  const groups = plannedNodes(definition);
  const ports = await choosePorts(definition, groups.length);
  const places: readonly Endpoints[] = groups.map((group, index) =>
    driver.endpoints({ name: nodeName(index), ports: portsOf(FLAVOURS[group.flavour], at(ports, index)) }),
  );
  const underlays = groups.map((group, index) =>
    FLAVOURS[group.flavour].underlay({ identity: at(identities, index), ...at(places, index).p2p }),
  );
  const folder = clusterFolder(stateDir, setup.record.name);
  const bootnodes = bootnodesOf(groups, underlays);
  const credit = creditOf(definition);
  const create = async (group: NodeGroup, index: number): Promise<NodeRecord> => {
    const name = nodeName(index);
    const flavour = FLAVOURS[group.flavour];
    const identity = at(identities, index);
    const plan: NodePlan = {
      name,
      mode: group.mode,
      binary: group.binary,
      identity,
      ports: portsOf(flavour, at(ports, index)),
      listen: at(places, index).listen,
      profile: definition.profile,
      options: group.options,
      dataDir: folder.dataDir(name),
      chequebook: chequebooks.find(({ issuer }) => plainHex(issuer) === identity.ethereum)?.address,
      network: {
        networkId: chain.networkId,
        rpc: chain.gate === undefined ? chain.rpc : `${chain.gate}/${name}`,
        contracts: chain.contracts,
        startBlock: chain.startBlock,
        blockTimeMs: chain.blockTimeMs,
        bootnodes: bootnodes.filter((underlay) => underlay !== underlays[index]),
        dedicatedBootnodes: groups.some(({ mode }) => mode === 'boot'),
        credit,
        swap: definition.swap,
      },
    };
    await driver.create(plan, flavour);
    return {
      name,
      flavour: group.flavour,
      mode: group.mode,
      ...(group.binary === undefined ? {} : { binary: group.binary }),
      api: at(places, index).api,
      debug: at(places, index).debug,
      p2p: at(underlays, index),
      overlay: identity.overlay,
      ethereum: identity.ethereum,
      dataDir: plan.dataDir,
      log: folder.log(name),
    };
  };
  return Promise.all(groups.map(create));
}

/** The boot nodes, or else the first full nodes: whom all others may ask for more peers. */
function bootnodesOf(groups: readonly NodeGroup[], underlays: readonly string[]): string[] {
  const ofMode = (mode: NodeMode) =>
    underlays.filter((_, index) => {
      const group = at(groups, index);
      return group.mode === mode && FLAVOURS[group.flavour].bootstraps;
    });
  const boot = ofMode('boot');
  return (boot.length > 0 ? boot : ofMode('full')).slice(0, BOOTNODES);
}

function portsOf(flavour: Flavour, ports: NodePorts): NodePorts {
  return flavour.debugApi ? ports : { ...ports, debug: ports.api };
}

async function choosePorts(definition: Definition, count: number): Promise<NodePorts[]> {
  if (definition.ports === 'free') {
    const free = await pickFreePorts(count * 3);
    return Array.from({ length: count }, (_, i) => ({
      api: at(free, i * 3),
      p2p: at(free, i * 3 + 1),
      debug: at(free, i * 3 + 2),
    }));
  }
  const base = definition.ports;
  const fixed = Array.from({ length: count }, (_, i) => ({
    api: base + i * PORT_STRIDE,
    p2p: base + i * PORT_STRIDE + 1,
    debug: base + i * PORT_STRIDE + 2,
  }));
  await checkPortsFree(fixed.flatMap(({ api, p2p, debug }) => [api, p2p, debug]));
  return fixed;
}

export function nodeName(index: number): string {
  return `node-${index}`;
}

function at<T>(list: readonly T[], index: number): T {
  const item = list[index];
  if (item === undefined) throw new RangeError(`nothing at ${index} of ${list.length}`);
  return item;
}
