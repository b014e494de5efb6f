/// <reference types="node" preserve="true" />
/**
 * For `expect.extend(matchers)`. `svcnet/vitest` and `svcnet/jest` do that, and declare the types. A failure names the node
 * or the chunk, and why.
 */
import { closerTo } from '../formats/chunk/address.ts';
import { fromHex } from '../formats/crypto/hex.ts';
import { DIGITS, expectHex } from './base/arguments.ts';
import { HarnessError } from './base/errors.ts';
import { grouped, plural } from './base/format.ts';
import { Cluster, type WaitLimits } from './cluster/cluster.ts';
import { ClusterNode } from './cluster/nodes/cluster-node.ts';
import { seen, type ToSee, toSeeText } from './cluster/seen.ts';
import { isHonest } from './flavours/flavour.ts';
import { survey } from './inspect/trace/content.ts';
import { type Witness, witnessesOf } from './inspect/trace/witnesses.ts';

/** In a failure. */
const CHUNKS_SHOWN = 5;
/** A large upload's chunks take a while. */
const HOLD_TIMEOUT_MS = 60_000;
/** For a state that must not be reached. */
const NOT_REACHED_MS = 1000;

/** What a matcher returns to its runner. */
export interface MatcherResult {
  readonly pass: boolean;
  readonly message: () => string;
}

/** What a runner passes to a matcher. */
export interface MatcherContext {
  /** Called with `.not`. */
  readonly isNot?: boolean | undefined;
}

/** Methods of what `expect` returns; each has to be awaited. */
export interface SvcnetMatchers {
  /**
   * For a cluster: each chunk below a reference is in the store of a running node. For a node: each is in its own store.
   * Checks once, and never asks the network. With `.not` it fails as well when that cannot be seen: the node does not run, a
   * running node of the cluster does not answer, or the tree cannot be read.
   * @param reference 64 hex digits, or 128 of encrypted content
   */
  toHold(reference: string, limits?: WaitLimits): Promise<void>;
  /** For a cluster: each chunk of an upload reaches its neighbourhood, as `cluster.synced` waits for. */
  toHaveDelivered(reference: string, limits?: WaitLimits): Promise<void>;
  /** For a cluster: both ends' accounts of each link agree, as `cluster.settled` waits for. */
  toHaveSettled(limits?: WaitLimits): Promise<void>;
  /** For a cluster: its nodes become connected, as `cluster.meshed` waits for. */
  toBeMeshed(limits?: WaitLimits): Promise<void>;
  /**
   * For a cluster with a tap: its nodes say this to each other, or have said it and the tap still keeps it. A failure lists
   * what it saw of that protocol. With `.not` it fails as well when the tap no longer keeps all, or all since the given
   * time.
   */
  toSee(wanted: ToSee): Promise<void>;
}

/** A matcher as `expect.extend` takes it. */
export type Matcher<Parameters extends readonly unknown[]> = (
  this: MatcherContext,
  received: unknown,
  ...parameters: Parameters
) => Promise<MatcherResult>;

/** With `.not`, a state must not be reached within a second, or the given time. */
export const matchers: {
  readonly [Name in keyof SvcnetMatchers]: Matcher<Parameters<SvcnetMatchers[Name]>>;
} = {
  async toHold(received, reference, limits = {}) {
    expectHex('toHold: reference', reference, DIGITS.reference);
    const subject = received instanceof ClusterNode ? received : clusterOf('toHold', received);
    const { clock } = subject instanceof ClusterNode ? subject.client : subject;
    using limit = clock.deadline(limits.timeoutMs ?? HOLD_TIMEOUT_MS, limits.signal);
    const asked = { reference, signal: limit.signal, isNot: this.isNot === true };
    return subject instanceof ClusterNode
      ? await heldByNode(subject, asked)
      : await heldByCluster(subject, asked);
  },

  async toHaveDelivered(received, reference, limits) {
    const cluster = clusterOf('toHaveDelivered', received);
    return reaches(
      this,
      `${reference} has reached its neighbourhoods`,
      (wait) => cluster.synced(reference, wait),
      limits,
    );
  },

  async toHaveSettled(received, limits) {
    const cluster = clusterOf('toHaveSettled', received);
    return reaches(this, 'the nodes have settled', (wait) => cluster.settled(wait), limits);
  },

  async toBeMeshed(received, limits) {
    const cluster = clusterOf('toBeMeshed', received);
    return reaches(this, 'the nodes are meshed', (wait) => cluster.meshed(wait), limits);
  },

  async toSee(received, wanted) {
    const cluster = clusterOf('toSee', received);
    let hasMissed = false;
    const result = await reaches(this, `${toSeeText(wanted)} is seen`, ({ timeoutMs }) =>
      seen(cluster, { ...wanted, within: wanted.within ?? timeoutMs }, () => void (hasMissed = true)),
    );
    return hasMissed && !result.pass ? undecided(result.message(), this.isNot === true) : result;
  },
};

async function reaches(
  { isNot = false }: MatcherContext,
  state: string,
  wait: (limits: WaitLimits) => Promise<unknown>,
  limits: WaitLimits = {},
): Promise<MatcherResult> {
  try {
    await wait(isNot ? { timeoutMs: NOT_REACHED_MS, ...limits } : limits);
    return { pass: true, message: () => `expected another state than this: ${state}` };
  } catch (error) {
    if (!(error instanceof HarnessError) || error.code !== 'WAIT_TIMEOUT') throw error;
    return { pass: false, message: () => error.message };
  }
}

interface Asked {
  readonly reference: string;
  readonly signal: AbortSignal;
  readonly isNot: boolean;
}

async function heldByCluster(cluster: Cluster, { reference, signal, isNot }: Asked): Promise<MatcherResult> {
  const witnesses = await witnessesOf(cluster.nodes.filter(isHonest), signal);
  const { holders, unread } = await survey(reference, witnesses, { signal });
  const lost = [...holders].filter(([, names]) => names.length === 0).map(([chunk]) => chunk);
  const counted = `${grouped(holders.size)} chunks of ${reference}`;
  const silent = witnesses.flatMap(({ node, silence }) =>
    silence === undefined ? [] : [`${node.name}: ${silence}`],
  );
  const unheard = witnesses.flatMap(({ node, silence }) =>
    silence === undefined || node.state !== 'running' ? [] : [`${node.name}: ${silence}`],
  );
  if (isNot && unheard.length > 0)
    return undecided(`cannot see what every running node holds: ${unheard.join('; ')}`, isNot);
  return verdict({
    isNot,
    missing: lost.map((chunk) => `${chunk}, ${closestText(chunk, witnesses)}`),
    unread,
    held: `every one of ${counted} is held by a running node`,
    lacking: `${lost.length} of ${counted} are held by no running node`,
    more: silent.length === 0 ? [] : [`not asked: ${silent.join('; ')}`],
  });
}

async function heldByNode(node: ClusterNode, { reference, signal, isNot }: Asked): Promise<MatcherResult> {
  const witnesses = await witnessesOf([node], signal);
  const silence = witnesses[0]?.silence;
  if (silence !== undefined) return undecided(`cannot see what ${node.name} holds: ${silence}`, isNot);
  const { holders, unread } = await survey(reference, witnesses, { signal });
  const lacking = [...holders].filter(([, names]) => names.length === 0).map(([chunk]) => chunk);
  return verdict({
    isNot,
    missing: lacking,
    unread,
    held: `${node.name} holds every one of ${plural(holders.size, 'chunk')} of ${reference}`,
    lacking: `${node.name} lacks ${lacking.length} of ${plural(holders.size, 'chunk')} of ${reference}, and all that is below them`,
    more: [],
  });
}

/** Fails with and without `.not`: what could not be seen is no reason for either. */
function undecided(why: string, isNot: boolean): MatcherResult {
  return { pass: isNot, message: () => why };
}

function verdict(seen: {
  readonly isNot: boolean;
  readonly missing: readonly string[];
  readonly unread: string | undefined;
  readonly held: string;
  readonly lacking: string;
  readonly more: readonly string[];
}): MatcherResult {
  const { isNot, missing, unread, held, lacking, more } = seen;
  if (missing.length === 0 && unread === undefined)
    return { pass: true, message: () => `${held}, expected less` };
  const rest = missing.length - CHUNKS_SHOWN;
  const lines = [
    missing.length === 0 ? 'not every chunk could be read' : lacking,
    ...missing.slice(0, CHUNKS_SHOWN).map((text) => `  chunk ${text}`),
    ...(rest > 0 ? [`  and ${rest} more`] : []),
    ...(unread === undefined ? [] : [`there may be more chunks: ${unread}`]),
    ...more,
  ];
  if (missing.length === 0) return undecided(lines.join('\n'), isNot);
  return { pass: false, message: () => lines.join('\n') };
}

/** The full node closest to a chunk. */
function closestText(chunk: string, witnesses: readonly Witness[]): string {
  const address = fromHex(chunk);
  const [closest] = witnesses
    .filter(({ node }) => node.mode === 'full')
    .toSorted((a, b) => closerTo(address, a.overlay, b.overlay));
  if (closest === undefined) return 'the network has no full node';
  const { node, silence } = closest;
  return `closest to ${node.name}${silence === undefined ? ', which runs and does not have it' : ` (${silence})`}`;
}

/** @throws HarnessError `ARGUMENT_INVALID` */
function clusterOf(matcher: string, received: unknown): Cluster {
  if (received instanceof Cluster) return received;
  const also = matcher === 'toHold' ? ' or one of its nodes' : '';
  throw new HarnessError('ARGUMENT_INVALID', `${matcher}: got ${typeof received}, expected a Cluster${also}`);
}
