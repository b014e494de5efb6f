import {
  ClientError,
  type Clock,
  type Cluster,
  type ClusterNode,
  HarnessError,
  type SyncedLimits,
  type Uploaded,
} from 'svcnet';
import {
  type ExpectedContent,
  explainLosses,
  grouped,
  isHonest,
  type LedgerEntry,
  type Loss,
  messageOf,
  type ParameterTable,
  type PlacementWatch,
  plural,
  type ScenarioContext,
  until,
  waysOfLost,
} from 'svcnet/scenario';

/** Without known causes. */
const LOSSES_SHOWN = 20;

export interface LedgeredUpload {
  /** Such as `upload file`. */
  readonly operation: string;
  readonly kind: LedgerEntry['kind'];
  readonly node: ClusterNode;
  readonly batch: string;
  readonly size: number;
  readonly mode: LedgerEntry['mode'];
  readonly upload: () => Promise<Uploaded>;
  /** Counts for the latency; absent: its own start. */
  readonly intendedMs?: number | undefined;
  /** After the upload, so as not to slow it down. */
  readonly expected: () => Promise<ExpectedContent>;
  readonly onSynced?: SyncedLimits['onProgress'];
}

/** Uploads, checks the reference, waits for the network to have the chunks, and fills the ledger. */
export async function uploadLedgered<T extends ParameterTable>(
  context: ScenarioContext<T>,
  { operation, kind, node, batch, size, mode, upload, expected, onSynced, intendedMs }: LedgeredUpload,
): Promise<string> {
  const requestedAtMs = context.cluster.clock.now();
  const { reference, tag } = await context.measure(
    { operation, node: node.name },
    upload,
    () => size,
    intendedMs,
  );
  if (mode === 'deferred') {
    if (tag === undefined)
      throw new HarnessError('NODE_STATE', `${node.name} answered a deferred upload without a tag`);
    const limits = { signal: context.signal, onProgress: onSynced };
    const work = () => context.cluster.synced({ node: node.name, tag }, limits);
    await context.measure({ operation: 'sync', node: node.name }, work, () => size);
  }
  const acknowledgedAtMs = context.cluster.clock.now();
  const { reference: computed, chunks } = await expected();
  context.expect(`${operation}: the reference matches the bytes`, reference === computed, {
    observed: `${reference} from ${node.name}`,
    expected: computed,
  });
  const level = mode === 'deferred' ? 'synced' : 'api';
  await context.ledger.add({
    kind,
    node: node.name,
    batch,
    reference,
    size,
    chunks,
    mode,
    level,
    requestedAtMs,
    acknowledgedAtMs,
  });
  return reference;
}

/** Just acknowledged as being on the network, stamped by the node's batch. */
export async function ledgerDirect<T extends ParameterTable>(
  context: ScenarioContext<T>,
  node: ClusterNode,
  upload: Pick<LedgerEntry, 'kind' | 'reference' | 'size' | 'chunks' | 'requestedAtMs'>,
): Promise<void> {
  const acknowledgedAtMs = context.cluster.clock.now();
  const how = { mode: 'direct', level: 'api', acknowledgedAtMs } as const;
  await context.ledger.add({ ...upload, ...how, node: node.name, batch: batchOf(node) });
}

export async function verifyLedger<T extends ParameterTable>(context: ScenarioContext<T>): Promise<void> {
  const { cluster, ledger, signal } = context;
  const holders = cluster.nodes
    .filter((node) => node.running && isHonest(node))
    .map((node) => ({
      name: node.name,
      overlay: node.overlay,
      hasChunk: (address: string, aborted: AbortSignal) => node.holds(address, aborted),
    }));
  await context.step('ledger', async (progress) => {
    const verdict = await ledger.verify(holders, {
      signal,
      onProgress: (done, total) => progress.progress(done, total, 'chunks'),
    });
    const unlisted = verdict.missing === 0 ? [] : await cluster.unlistedPeers(signal);
    if (unlisted.length === 0) {
      const seen = { observed: `${verdict.missing} missing`, expected: '0 missing' };
      const { losses } = verdict;
      const why = losses.length === 0 ? [] : await causesOf(context, losses);
      const evidence = why.length === 0 ? seen : { ...seen, evidence: why.join('\n') };
      context.expect('every acknowledged chunk is held by a node', verdict.missing === 0, evidence);
    } else {
      const where = `the network has ${plural(unlisted.length, 'node')} that the network file does not list`;
      context.unchecked(`where ${plural(verdict.missing, 'chunk')} of the ledger are: ${where}`);
    }
    progress.detail(`${grouped(verdict.found)} of ${grouped(verdict.acknowledged)} chunks found`);
  });
}

/** Losses are reported even if a node stops answering meanwhile. */
async function causesOf<T extends ParameterTable>(
  { cluster, folder, signal }: ScenarioContext<T>,
  losses: readonly Loss[],
): Promise<readonly string[]> {
  try {
    return await explainLosses(losses, cluster.nodes, { folder, began: cluster.startedAt, signal });
  } catch (error) {
    if (signal.aborted) throw error;
    return [
      `the causes are not known: ${messageOf(error)}`,
      ...losses
        .slice(0, LOSSES_SHOWN)
        .map(({ chunk, uploader }) => `chunk ${chunk}: acknowledged by ${uploader}`),
    ];
  }
}

/** How to learn all of the first chunk that is not where it belongs, and routes: short reports cut long evidence. */
export async function waysOfAstray(
  {
    cluster: { nodes, startedAt: began, logged },
    signal,
  }: { readonly cluster: Pick<Cluster, 'nodes' | 'startedAt' | 'logged'>; readonly signal: AbortSignal },
  { astray }: Pick<PlacementWatch, 'astray'>,
): Promise<{ readonly evidence?: string }> {
  const [first] = astray;
  if (first === undefined) return {};
  const chunks = astray.map(({ chunk }) => chunk);
  const ways = await waysOfLost(chunks, nodes, { began, signal });
  // Nothing taps the links of a network that svcnet did not start.
  const next = logged
    ? `all that was said of it: run again with the same seed and --tap, then svcnet trace ${first.chunk} --run last`
    : `its events: svcnet trace ${first.chunk}`;
  return { evidence: [next, ...ways].join('\n') };
}

/** Boot nodes only introduce the others; dishonest ones do not count. */
export function workingNodes(nodes: readonly ClusterNode[]): ClusterNode[] {
  return nodes.filter((node) => node.running && node.mode !== 'boot' && isHonest(node));
}

export function runningNode({ nodes }: Pick<Cluster, 'nodes'>, name: string): ClusterNode | undefined {
  return nodes.find((node) => node.name === name && node.running);
}

/** Default: the first working node. @throws HarnessError `NODE_NOT_FOUND`, `NODE_STATE` */
export function chosenNode<T extends ParameterTable>(context: ScenarioContext<T>, name: string): ClusterNode {
  if (name !== '') return context.cluster.node(name);
  const [first] = workingNodes(context.cluster.nodes);
  if (first === undefined) throw new HarnessError('NODE_STATE', 'no full or light node of the cluster runs');
  return first;
}

/** Bought at its cluster's start. @throws HarnessError `NODE_STATE` without one */
export function batchOf(node: ClusterNode): string {
  if (node.batch === undefined)
    throw new HarnessError('NODE_STATE', `${node.name} has no batch; buy one with svcnet stamp`);
  return node.batch;
}

export function otherNodes(nodes: readonly ClusterNode[], uploader: ClusterNode): ClusterNode[] {
  return workingNodes(nodes).filter((node) => node !== uploader);
}

/**
 * Default: the first working node but `than`.
 * @throws HarnessError `NODE_NOT_FOUND`, `NODE_STATE`
 */
export function otherNode<T extends ParameterTable>(
  { cluster }: ScenarioContext<T>,
  name: string,
  than: ClusterNode,
): ClusterNode {
  const other = name === '' ? otherNodes(cluster.nodes, than)[0] : cluster.node(name);
  if (other !== undefined && other !== than) return other;
  throw new HarnessError('NODE_STATE', `there is no second node beside ${than.name}`);
}

export function difference(seen: Uint8Array, expected: Uint8Array): string | undefined {
  if (Buffer.compare(seen, expected) === 0) return undefined;
  const at = seen.findIndex((byte, i) => byte !== expected[i]);
  const where = at === -1 ? 'a prefix of the expected bytes' : `different from byte ${at} on`;
  return `${seen.length} bytes, ${where}`;
}

export interface Limits {
  readonly cluster: Pick<Cluster, 'clock'>;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  /** For expensive checks. */
  readonly longestPauseMs?: number | undefined;
}

export async function inTime(
  what: string,
  check: (signal: AbortSignal) => Promise<string | undefined>,
  { cluster: { clock }, timeoutMs, longestPauseMs, signal: ended }: Limits,
): Promise<string | undefined> {
  const limits = longestPauseMs === undefined ? {} : { longestPauseMs };
  const probe = async (signal: AbortSignal) => {
    const missing = await check(signal);
    return missing === undefined ? { done: undefined } : { missing };
  };
  return missingOf(
    until<undefined>(`not met: ${what}`, probe, { ...limits, clock, timeoutMs, signal: ended }),
  );
}

export async function missingOf(wait: Promise<unknown>): Promise<string | undefined> {
  try {
    await wait;
    return undefined;
  } catch (error) {
    if (error instanceof HarnessError && error.code === 'WAIT_TIMEOUT') return error.message;
    throw error;
  }
}

/**
 * For `inTime`: a node that answers with an error may answer better later.
 * @returns what is wrong: the error, or what `look` says
 */
export async function errorAsText(
  signal: AbortSignal,
  look: () => Promise<string | undefined>,
): Promise<string | undefined> {
  try {
    return await look();
  } catch (error) {
    if (error instanceof ClientError && !signal.aborted) return error.message;
    throw error;
  }
}

/**
 * What the network keeps by the second, such as a grantee list's history, takes one change per second; and what happened
 * before is older than the next block.
 */
export async function nextSecond(clock: Clock, signal: AbortSignal): Promise<void> {
  const second = () => Math.floor(clock.now() / 1000);
  const before = second();
  // A timer may fire within the last millisecond of the second.
  while (second() === before) await clock.sleep(1000 - (clock.now() % 1000), signal);
}
