/**
 * Nodes that join a running cluster. Numbers are taken first; nodes belong to the cluster once they serve. A failure leaves
 * only its number, never reused.
 */
import { throwIfInterrupted } from '../../base/errors.ts';
import { awaitAll } from '../../base/wait.ts';
import type { Chain } from '../../chain/chain.ts';
import type { FlavourInput } from '../../flavours/declared/input.ts';
import type { ClusterNode } from '../nodes/cluster-node.ts';
import { type OpenContext, whyNotStarted } from '../nodes/open-nodes.ts';
import { plannedBatches } from '../plan/chain-options.ts';
import { withGroup } from '../plan/definition.ts';
import type { DeclaredGroupInput, GroupInput } from '../plan/definition-input.ts';
import { numbersGiven, type UsedGroup } from '../plan/facts.ts';
import { type ClusterPlan, planCluster } from '../plan/plan.ts';
import { nodeName, numberOf } from '../plan/planned-node.ts';
import type { Definition } from '../plan/schema.ts';
import { readDefinition, writtenDefinition } from '../plan/schema.ts';
import { unroute } from '../start/link-proxy.ts';
import { checkPorts } from '../start/node-setup.ts';
import type { Launched } from '../start/part-watch.ts';
import { PartWatch } from '../start/part-watch.ts';
import type { StartContext, StartProgress } from '../start/start-context.ts';
import { awaitImages, checkPrograms, prepare, startNodes } from '../start/startup.ts';
import { awaitBatches, stopwatch } from '../start/startup-conditions.ts';
import { beginJoining, changeRecord } from '../state/change.ts';
import {
  type BatchRecord,
  type ClusterRecord,
  type NodeRecord,
  readRecord,
  removeNodeFiles,
} from '../state/state.ts';
import { withFlavour } from './known-flavours.ts';
import { expectElastic, expectSameKind, refusal } from './refused.ts';

/** Mined on demand after batches are bought: a batch ten blocks old is usable. */
const SETTLING_BLOCKS = 13;
const GRACE_MS = 500;

export interface GrowthContext extends OpenContext {
  readonly chain: Chain;
  readonly all: () => readonly ClusterNode[];
}

/** New nodes: a group as in a cluster file, or one whose flavour is what `readFlavour` returns. */
export type AddInput =
  | GroupInput
  | (Omit<DeclaredGroupInput, 'flavour'> & { readonly flavour: FlavourInput });

/** How nodes are added. */
export interface AddOptions {
  /** For each step. Default: a limit that grows with the nodes. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: (progress: StartProgress) => void;
}

export interface Joined {
  readonly nodes: readonly ClusterNode[];
  readonly batches: readonly BatchRecord[];
  readonly record: ClusterRecord;
}

export async function addNodes(
  context: GrowthContext,
  group: AddInput,
  { timeoutMs, signal, onProgress = () => undefined }: AddOptions,
  onJoined: (joined: Joined) => void,
): Promise<void> {
  throwIfInterrupted(signal);
  const { driver, record } = context;
  const before = readDefinition(record.definition);
  expectElastic('add nodes to', { name: record.name, definition: before, driver });
  const refused = whyNotStarted(context);
  if (refused !== undefined) throw refused;
  const asked = grownBy(before, group);
  expectSameKind('add', before, asked);
  await awaitImages({ ...context, signal, onProgress }, lastGroup(asked));
  await checkPrograms(driver, lastGroup(asked));
  const { definition, numbers } = await takeNumbers(context, group);
  using _joining = beginJoining(context.stateDir, record.name, numbers.map(nodeName));
  const joined = context
    .all()
    .filter((node) => node.running)
    .map(({ mode, flavour, declared, underlay }) => ({ mode, flavour, declared, underlay }));
  const seed = BigInt(record.seed ?? 0);
  const plan: ClusterPlan = { ...planCluster(definition, seed, numbers), joined };
  const watch = new PartWatch(context.clock);
  const launched: Launched = { begun: true, parts: [], watch, open: [] };
  const ending = AbortSignal.any([watch.signal, ...(signal === undefined ? [] : [signal])]);
  const start: StartContext = {
    ...context,
    definition,
    seed,
    ephemeral: record.ephemeral,
    continued: false,
    signal: ending,
    timeoutMs,
    onProgress,
  };
  try {
    const started = await startAdded(start, context, { plan, launched });
    await watch.reason();
    throwIfInterrupted(ending);
    const now = await changeRecord(context, (current) => {
      expectSameFile(readDefinition(current.definition), lastGroup(definition));
      return withNodes(current, { numbers, ...started });
    });
    onJoined({ nodes: started.nodes, batches: started.batches, record: now });
  } catch (error) {
    const lost = signal?.aborted === true ? undefined : await watch.reason();
    await undo(context, launched, numbers);
    throw lost ?? error;
  } finally {
    watch.end();
  }
}

function grownBy(before: Definition, group: AddInput): Definition {
  const { definition, flavour } = withFlavour(before, group.flavour, 'add');
  return withGroup(definition, flavour === undefined ? group : { ...group, flavour }, 'add');
}

function expectSameFile({ flavours }: Definition, added: readonly UsedGroup[]): void {
  for (const { group } of added) {
    const known = flavours.find(({ name }) => name === group.flavour);
    if (JSON.stringify(known) === JSON.stringify(group.declared)) continue;
    throw refusal('add', `the cluster has got another flavour file for '${group.flavour}' meanwhile`);
  }
}

function lastGroup({ nodes }: Definition): UsedGroup[] {
  return nodes.slice(-1).map((group) => ({ where: 'add', group }));
}

/** Even if this process is killed, numbers count as gone until nodes join. */
async function takeNumbers(
  context: GrowthContext,
  group: AddInput,
): Promise<{ readonly definition: Definition; readonly numbers: readonly number[] }> {
  let numbers: readonly number[] = [];
  const { definition } = await changeRecord(context, (current) => {
    const before = readDefinition(current.definition);
    const asked = grownBy(before, group);
    const first = numbersGiven(before);
    numbers = Array.from({ length: numbersGiven(asked) - first }, (_, index) => first + index);
    const { from = first, gone = [] } = before.grown ?? {};
    const grown = { from, gone: [...gone, ...numbers] };
    return { ...current, definition: writtenDefinition({ ...asked, grown }) };
  });
  return { definition: readDefinition(definition), numbers };
}

interface Added {
  readonly nodes: readonly ClusterNode[];
  readonly records: readonly NodeRecord[];
  readonly batches: readonly BatchRecord[];
}

async function startAdded(
  start: StartContext,
  { chain, all }: GrowthContext,
  { plan, launched }: { readonly plan: ClusterPlan; readonly launched: Launched },
): Promise<Added> {
  const { clock, driver, record, signal, onProgress } = start;
  const { chain: recorded } = record;
  if (recorded?.control === undefined) throw new TypeError('a cluster that svcnet started has a chain');
  const watch = stopwatch(clock);
  await checkPorts(plan, { isAgain: false });
  const { accounts } = plan.chain;
  await awaitAll([
    prepare(driver, lastGroup(plan.definition), signal),
    chain.setUp({ ...plan.chain, accounts: accounts.slice(0, plan.nodes.length) }),
  ]);
  const { nodes: nodesUrls } = await driver.placeChain({ ...recorded, control: recorded.control });
  const contracts = chain.contracts;
  const batches = plannedBatches(plan);
  // Nodes start while those that run read the blocks.
  const settled = chain.steady ? undefined : chain.mine(SETTLING_BLOCKS);
  // A start that fails before this is awaited reports its own reason.
  void Promise.allSettled([settled]);
  const { nodes, records } = await startNodes(start, {
    started: { record: { ...recorded, contracts }, nodesUrls },
    plan,
    batches,
    launched,
    onCreated: () => undefined,
    all,
  });
  await settled;
  await Promise.all(nodes.map((node) => node.joined({ signal, timeoutMs: start.timeoutMs })));
  const detail = `${nodes.length} of ${nodes.length} ready`;
  onProgress({ step: 'nodes', done: true, detail, ms: watch.total() });
  await awaitBatches(start, nodes, batches);
  return { nodes, records, batches };
}

function withNodes(
  current: ClusterRecord,
  { numbers, records, batches }: Added & { readonly numbers: readonly number[] },
): ClusterRecord {
  const definition = readDefinition(current.definition);
  const { from = 0, gone = [] } = definition.grown ?? {};
  const grown = { from, gone: gone.filter((number) => !numbers.includes(number)) };
  return {
    ...current,
    definition: writtenDefinition({ ...definition, grown }),
    nodes: [...current.nodes, ...records].toSorted((a, b) => numberOf(a.name) - numberOf(b.name)),
    batches: [...current.batches, ...batches],
  };
}

/** Only the numbers stay, and the logs, which may say why it failed. */
async function undo(
  context: GrowthContext,
  { parts, open }: Launched,
  numbers: readonly number[],
): Promise<void> {
  const { stateDir, driver } = context;
  const { name, token } = context.record;
  await Promise.all(open.map((connection) => connection.close()));
  await Promise.all(parts.map(({ handle }) => driver.stop(handle, GRACE_MS)));
  // Another cluster may have its name by now, and its own may have been removed before these parts were made.
  if (readRecord(stateDir, name)?.token !== token) {
    await driver.dispose({ token, parts }, GRACE_MS);
    return;
  }
  const nodes = numbers.map(nodeName);
  await unroute(context, nodes);
  await Promise.all(nodes.map(async (node) => driver.remove?.(node)));
  for (const node of nodes) removeNodeFiles(stateDir, name, node);
}
