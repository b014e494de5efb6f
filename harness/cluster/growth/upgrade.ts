/**
 * A node gets another program or mode and keeps its number, keys, ports and data directory. A program that keeps chunks
 * elsewhere starts without any.
 */
import { cannotWrite, clusterGone, HarnessError, messageOf } from '../../base/errors.ts';
import type { FlavourInput } from '../../flavours/declared/input.ts';
import type { FlavourName, NodeMode } from '../../flavours/flavour.ts';
import type { ClusterNode } from '../nodes/cluster-node.ts';
import { isThere } from '../nodes/node-run.ts';
import { leftError, whyNotStarted } from '../nodes/open-nodes.ts';
import { withGroup } from '../plan/definition.ts';
import { groupsByNumber } from '../plan/facts.ts';
import { type ClusterPlan, planCluster } from '../plan/plan.ts';
import type { Definition, NodeGroup } from '../plan/schema.ts';
import { readDefinition, writtenDefinition } from '../plan/schema.ts';
import { route } from '../start/link-proxy.ts';
import { checkPorts, createNodes } from '../start/node-setup.ts';
import { awaitImages, checkPrograms, prepare } from '../start/startup.ts';
import { beginUpgrading, changeRecord } from '../state/change.ts';
import { type ClusterRecord, type NodeRecord, readRecord, removeCluster } from '../state/state.ts';
import type { GrowthContext } from './add.ts';
import { withFlavour } from './known-flavours.ts';
import { type ActiveFault, expectElastic, expectNoFault, expectSameKind, refusal } from './refused.ts';

/** What a node becomes. What is left out stays as it is. */
export interface UpgradeInput {
  /**
   * Implementation: one that the cluster knows, or what `readFlavour` returns. Another one comes with options of its own,
   * one that the node had before with those that it had then.
   */
  readonly flavour?: FlavourName | FlavourInput | undefined;
  /** Path of the program. Flavour `svc` without one is the node of this package. */
  readonly binary?: string | undefined;
  /** The same for driver `docker`: name of the image. */
  readonly image?: string | undefined;
  readonly mode?: Exclude<NodeMode, 'boot'> | undefined;
  /** Node options, instead of those that it has. */
  readonly options?: Readonly<Record<string, unknown>> | undefined;
}

/** How a node is upgraded. */
export interface UpgradeOptions {
  /** For the start with the new program. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

interface Upgrade {
  readonly to: UpgradeInput;
  readonly faults: readonly ActiveFault[];
  readonly options: UpgradeOptions;
  readonly onChanged: (record: ClusterRecord) => void;
}

export async function upgradeNode(
  context: GrowthContext,
  node: ClusterNode,
  { to, faults, options, onChanged }: Upgrade,
): Promise<void> {
  const { stateDir, driver } = context;
  const { name, index } = node;
  const cluster = context.record.name;
  const definition = readDefinition(context.record.definition);
  expectElastic(`upgrade ${name} of`, { name: cluster, definition, driver });
  expectNoFault('upgrade', node, { faults, cluster });
  using _turn = beginUpgrading(stateDir, context.record, name);
  const refused = whyNotStarted(context);
  if (refused !== undefined) throw refused;
  // Waits for a removal or an upgrade that is ending; until the turn ends there is no other.
  const record = await changeRecord(context, (current) => current);
  const before = readDefinition(record.definition);
  const wanted = asWanted(before, node, to);
  expectStillServed(record, name, wanted.group);
  const alone = [{ where: 'upgrade', group: wanted.group }];
  await awaitImages({ ...context, signal: options.signal, onProgress: () => undefined }, alone);
  await checkPrograms(driver, alone);
  await prepare(driver, alone, options.signal);
  const become = async (
    change: (definition: Definition) => Definition,
    { mode }: Pick<NodeGroup, 'mode'>,
  ) => {
    const written = await rewrite({ ...context, record }, node, change(before));
    const now = await changeRecord(context, (current) => {
      expectStillServed(current, name, { mode });
      return {
        ...current,
        definition: writtenDefinition(change(readDefinition(current.definition))),
        nodes: current.nodes.map((each) => (each.name === name ? written : each)),
      };
    });
    onChanged(now);
  };
  const ran = isThere(await node.observe());
  if (ran) await node.stop();
  try {
    await checkPorts(
      { definition: before, nodes: [node], joined: [] },
      { isAgain: true, isHeld: driver.routes !== undefined },
    );
    await become((each) => withUpgrade(each, index, wanted), wanted.group);
  } catch (error) {
    if (readRecord(stateDir, cluster)?.token !== record.token) {
      removeCluster(stateDir, record);
      throw clusterGone(cluster);
    }
    try {
      await become((each) => each, recordOf(record, name));
      if (ran) await node.startInTurn({ timeoutMs: options.timeoutMs });
    } catch (failure) {
      const hint = `It was to be as before because of: ${messageOf(error)}`;
      throw new HarnessError(
        'NODE_STATE',
        `${name} is not as it was before its upgrade: ${messageOf(failure)}`,
        {
          cause: failure,
          hint,
        },
      );
    }
    throw undone(error, node);
  }
  await startUpgraded(node, options);
}

/** Whatever the driver could not do: a file, a port or a container. */
function undone(error: unknown, { name, dataDir }: ClusterNode): unknown {
  const kept = `${name} is as it was`;
  const shown = cannotWrite((error as NodeJS.ErrnoException).path ?? dataDir, error, kept);
  if (shown !== error || !(error instanceof HarnessError)) return shown;
  const { code, message, hint } = error;
  return new HarnessError(code, `${message}; ${kept}`, { cause: error, hint });
}

async function startUpgraded(node: ClusterNode, options: UpgradeOptions): Promise<void> {
  try {
    await node.startInTurn(options);
  } catch (error) {
    if (!isThere(await node.observe())) throw error;
    await node.stop();
    if (!(error instanceof HarnessError)) throw error;
    const ended = await node.whyEnded();
    const hint = [error.hint, ended?.hint].filter((part) => part !== undefined).join('\n');
    throw new HarnessError(error.code, error.message, { cause: error, hint });
  }
}

function recordOf({ nodes }: ClusterRecord, name: string): NodeRecord {
  const found = nodes.find((node) => node.name === name);
  if (found === undefined) throw leftError(name);
  return found;
}

interface Wanted {
  readonly group: NodeGroup;
  readonly flavour: UpgradeInput['flavour'];
}

function asWanted(before: Definition, { index, name }: ClusterNode, to: UpgradeInput): Wanted {
  const was = groupOf(before, index);
  if (was === undefined) throw new RangeError(`no group has ${name}`);
  const { definition: known, flavour = was.flavour } = withFlavour(before, to.flavour, 'upgrade');
  if (flavour === 'dishonest' || was.flavour === 'dishonest') {
    throw refusal('upgrade', `whether ${name} is dishonest is settled at its start`, {
      hint: 'Add a dishonest node: svcnet add --dishonest overcharge',
    });
  }
  const kept = lastOf(before, index, flavour);
  // Named without a program, our flavour is the node of this package.
  const program = to.flavour === 'svc' ? undefined : kept;
  const given = {
    flavour,
    mode: to.mode ?? was.mode,
    binary: to.binary ?? program?.binary,
    image: to.image ?? program?.image,
    options: to.options ?? kept?.options,
  };
  const input = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const asked = withGroup(known, input, 'upgrade', index);
  expectSameKind('upgrade', before, asked);
  const made = asked.nodes.at(-1);
  if (made === undefined) throw new TypeError('a group was added');
  const { declared, mode, binary, image, options } = made;
  return {
    group: { ...was, flavour, declared, mode, binary, image, options },
    flavour: to.flavour,
  };
}

/** Nodes ask boot nodes for peers, and only full nodes store. @throws HarnessError `GROWTH_REFUSED` */
function expectStillServed(record: ClusterRecord, name: string, { mode }: Pick<NodeGroup, 'mode'>): void {
  const was = recordOf(record, name).mode;
  if (mode === was) return;
  if (was === 'boot' || mode === 'boot') {
    throw refusal('upgrade', `${name} cannot become a ${mode} node: boot nodes are settled at the start`);
  }
  if (was === 'full' && record.nodes.filter((other) => other.mode === 'full').length === 1) {
    throw refusal('upgrade', `${name} is the last full node, and only full nodes store what others upload`);
  }
}

function groupOf(definition: Definition, index: number): NodeGroup | undefined {
  return definition.upgraded?.[index] ?? groupsByNumber(definition)[index];
}

/** A snapshot keeps only its present group and its first. */
export function lastOf(
  definition: Definition,
  index: number,
  flavour: NodeGroup['flavour'],
): NodeGroup | undefined {
  const groups = [
    groupOf(definition, index),
    ...(definition.formerly?.[index] ?? []),
    groupsByNumber(definition)[index],
  ];
  return groups.find((group) => group?.flavour === flavour);
}

function withUpgrade(definition: Definition, index: number, { group, flavour }: Wanted): Definition {
  const { definition: known } = withFlavour(definition, flavour, 'upgrade');
  const was = groupOf(known, index);
  const others = [was, ...(known.formerly?.[index] ?? [])].filter((one) => one !== undefined);
  const formerly = others.filter(
    (one, at) => one.flavour !== group.flavour && others.findIndex((f) => f.flavour === one.flavour) === at,
  );
  return {
    ...known,
    upgraded: { ...known.upgraded, [index]: group },
    formerly: { ...known.formerly, [index]: formerly },
  };
}

async function rewrite(
  context: GrowthContext,
  node: ClusterNode,
  definition: Definition,
): Promise<NodeRecord> {
  const { clock, stateDir, record, driver, chain, all } = context;
  const { chain: recorded } = record;
  if (recorded?.control === undefined) throw new TypeError('a cluster that svcnet started has a chain');
  const joined = all().filter((other) => other !== node && other.running);
  const plan: ClusterPlan = {
    ...planCluster(definition, BigInt(record.seed ?? 0), [node.index]),
    joined: joined.map(({ mode, flavour, declared, underlay }) => ({ mode, flavour, declared, underlay })),
  };
  const { nodes: nodesUrls } = await driver.placeChain({ ...recorded, control: recorded.control });
  const before = { ...record, nodes: record.nodes.filter(({ name }) => name === node.name) };
  const { records, routes } = await createNodes(
    { clock, stateDir, record, driver, before },
    { record: { ...recorded, contracts: chain.contracts }, nodesUrls },
    plan,
  );
  await route(context, routes);
  const [written] = records;
  if (written === undefined) throw new TypeError('one node was planned');
  return written;
}
