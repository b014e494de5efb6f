import { type Cashout, ClientError, type ClusterNode, HarnessError, type NodeBooks } from 'svcnet';
import {
  type Books,
  CHUNK_PAYLOAD_SIZE,
  type LinkGap,
  linkGaps,
  type ParameterTable,
  plural,
  readBooks,
  readNodeBooks,
  type ScenarioContext,
  until,
  violations,
} from 'svcnet/scenario';
import { batchOf, inTime, type Limits, missingOf } from './steps.ts';

/** 40 hex digits; nobody owns the account, so what is sent there is away. */
export const AWAY = 'decaf0000000000000000000000000000decaf00';
/** Without traffic the last settlements have long arrived. */
const SETTLED_WITHIN_MS = 30_000;
/** A block comes every second; a loaded machine gets more time. */
const MINED_WITHIN_MS = 30_000;
/** At proximity order 0, accounting units. */
export const CHUNK_PRICE_MAX = 320_000n;
/** A cheque under way may wait for its taker's questions to the chain. */
const REST_MS = 2_000;
/** Reading all books takes a question or more for every account, chequebook and batch. */
const BOOKS_PAUSE_MS = 1_000;
const LINES_SHOWN = 20;

export interface Paid {
  readonly reference: string;
  readonly data: Uint8Array;
}

/** Fresh bytes; others have stored them, so the node owes for every chunk. */
export async function uploadPaid<T extends ParameterTable>(
  context: ScenarioContext<T>,
  node: ClusterNode,
  { name, size }: { readonly name: string; readonly size: number },
): Promise<Paid> {
  const data = context.random(name).bytes(size);
  const options = { batch: batchOf(node), deferred: false, redundancyLevel: 0, signal: context.signal };
  const work = () => node.bytes.upload(data, options);
  const { reference } = await context.measure({ operation: 'upload', node: node.name }, work, () => size);
  return { reference, data };
}

/** A condition: both ends of every link count the same. @returns the nodes' books */
export function settle<T extends ParameterTable>(
  context: ScenarioContext<T>,
  { timeoutMs = SETTLED_WITHIN_MS } = {},
): Promise<readonly NodeBooks[]> {
  const { cluster, signal } = context;
  return context.step('settle', async (progress) => {
    const startedAt = cluster.clock.monotonic();
    let books: readonly NodeBooks[] = [];
    const settled = async () => {
      books = await cluster.settled({ timeoutMs, signal });
    };
    const missing = await missingOf(settled());
    context.expect('both ends of each link count the same', missing === undefined, {
      observed: missing ?? `${books.length} nodes agree`,
      expected: 'balances that cancel out, settlements that arrived',
    });
    const seconds = (cluster.clock.monotonic() - startedAt) / 1000;
    context.figure({ name: 'time to symmetry', value: seconds.toFixed(3), unit: 's' });
    progress.detail(`${books.length} nodes agree`);
    return books;
  });
}

export interface BooksOptions {
  /** No cheque may promise less than in these books. */
  readonly before?: Books;
  readonly timeoutMs?: number;
  /** By what was done to an end of its link. */
  readonly isExplained?: (gap: LinkGap) => boolean;
}

/** Peers of the public network lend no more on a link. */
const UNDER_WAY_UNITS = 13_500_000n;
/** Token units per accounting unit, of our own chain's oracle. */
const EXCHANGE_RATE = 10_000n;
/** A tenth of what passed over a link may differ, and twice that credit. */
const UNDER_WAY_PART = 10n;

/**
 * Explains gaps by what was under way when an end died or was cut off: at most what peers lend each time, and never much of
 * what has passed.
 * @param timesOf number of faults of a node
 */
export function underWay(timesOf: (node: string) => number): (gap: LinkGap) => boolean {
  return ({ ends, what, gap, total }) => {
    const times = BigInt(ends.reduce((sum, name) => sum + timesOf(name), 0));
    const credit = what === 'by cheques' ? UNDER_WAY_UNITS * EXCHANGE_RATE : UNDER_WAY_UNITS;
    return gap <= times * credit && gap <= total / UNDER_WAY_PART + 2n * credit;
  };
}

/** No token, unit of debt or promise is lost or made (scenarios.md 3.8). @returns the books */
export function checkBooks<T extends ParameterTable>(
  context: ScenarioContext<T>,
  { before, timeoutMs = SETTLED_WITHIN_MS, isExplained }: BooksOptions = {},
): Promise<Books> {
  return context.step('books', async (progress) => {
    let books: Books | undefined;
    let wrong: string[] = [];
    await inTime(
      'nothing is lost or made',
      async (signal) => {
        books = await readBooks(context.cluster, [AWAY], signal);
        wrong = violations(books, before, isExplained);
        return wrong[0];
      },
      { ...context, timeoutMs, longestPauseMs: BOOKS_PAUSE_MS },
    );
    if (books === undefined) throw unread();
    const evidence = wrong.length === 0 ? {} : { evidence: wrong.slice(0, LINES_SHOWN).join('\n') };
    context.expect('nothing is lost or made: balances, cheques and tokens add up', wrong.length === 0, {
      observed: `${wrong.length} sums are wrong`,
      expected: '0 sums are wrong',
      ...evidence,
    });
    if (books.chain === undefined) {
      context.unchecked('tokens on the chain: not every account of an attached network is known');
      progress.detail(`${books.nodes.length} nodes`);
      return books;
    }
    const { supply, chequebooks } = books.chain;
    context.figure({ name: 'tokens in existence', value: supply.toString(), unit: 'units' });
    progress.detail(`${supply} token units, ${chequebooks.length} chequebooks`);
    return books;
  });
}

function unread(): HarnessError {
  return new HarnessError('NODE_STATE', 'the books could not be read');
}

/**
 * Remembers the links' differences from earlier faults; work without faults must add nothing.
 * @returns a condition, once that work is done
 */
export async function countedFromNow<T extends ParameterTable>(
  context: ScenarioContext<T>,
): Promise<() => Promise<void>> {
  const earlier = await context.step('books at rest', () => booksAtRest(context));
  if (earlier === undefined) {
    return async () =>
      context.unchecked('what both ends of each link count after the faults: it never came to rest');
  }
  return () =>
    context.step('count', async (progress) => {
      const read = (aborted: AbortSignal) => linkBooks(context, aborted);
      const now = await booksAfterWork(earlier, read, { ...context, timeoutMs: SETTLED_WITHIN_MS });
      const lines = grown(earlier, now);
      const evidence = lines.length === 0 ? {} : { evidence: lines.slice(0, LINES_SHOWN).join('\n') };
      context.expect(
        'work after the faults adds no difference between the ends of a link',
        lines.length === 0,
        {
          observed: `${plural(lines.length, 'difference')} grew`,
          expected: '0 differences grew',
          ...evidence,
        },
      );
      const cheques = promised(now) - promised(earlier);
      context.figure({ name: 'paid by cheques after the faults', value: cheques.toString(), unit: 'units' });
      progress.detail(`${linkGaps(earlier).length} older differences`);
    });
}

/**
 * The books once no difference is larger than in earlier ones, or time is over.
 * @throws HarnessError `NODE_STATE` when they were not read in time
 */
export async function booksAfterWork(
  earlier: readonly NodeBooks[],
  read: (signal: AbortSignal) => Promise<readonly NodeBooks[]>,
  limits: Limits,
): Promise<readonly NodeBooks[]> {
  let now: readonly NodeBooks[] | undefined;
  const compare = async (aborted: AbortSignal) => {
    const seen = await read(aborted);
    now = seen;
    return grown(earlier, seen)[0];
  };
  await inTime('work adds no difference', compare, limits);
  if (now === undefined) throw unread();
  return now;
}

/** Differences larger than before; the next payment may end an older one. */
export function grown(earlier: readonly NodeBooks[], now: readonly NodeBooks[]): string[] {
  const before = new Map(linkGaps(earlier).map(({ id, gap }) => [id, gap]));
  return linkGaps(now).flatMap(({ id, gap, text }) => {
    const was = before.get(id) ?? 0n;
    return gap > was ? [`${id} differed by ${was}, now by ${gap}: ${text}`] : [];
  });
}

/** The books once no difference changes; undefined: they go on changing. */
async function booksAtRest<T extends ParameterTable>(
  context: ScenarioContext<T>,
): Promise<readonly NodeBooks[] | undefined> {
  const { signal } = context;
  const endsAt = context.cluster.clock.monotonic() + SETTLED_WITHIN_MS;
  for (let last = await linkBooks(context, signal); context.cluster.clock.monotonic() < endsAt; ) {
    await context.cluster.clock.sleep(REST_MS, signal);
    const now = await linkBooks(context, signal);
    const moved = [...grown(last, now), ...grown(now, last)];
    if (moved.length === 0) return now;
    last = now;
  }
  return undefined;
}

function linkBooks<T extends ParameterTable>(
  { cluster }: ScenarioContext<T>,
  signal: AbortSignal,
): Promise<NodeBooks[]> {
  return Promise.all(
    cluster.nodes.filter(({ running }) => running).map((node) => readNodeBooks(node, signal)),
  );
}

function promised(nodes: readonly NodeBooks[]): bigint {
  return nodes.flatMap(({ links }) => links).reduce((sum, { chequeSent }) => sum + chequeSent, 0n);
}

export interface Mined {
  /** wei */
  readonly fee: bigint;
  readonly gasUsed: bigint;
}

/** Waits for its block. @throws HarnessError when it failed there */
export function minedOf<T extends ParameterTable>(context: ScenarioContext<T>, hash: string): Promise<Mined> {
  const { chain } = context.cluster;
  return until<Mined>(
    `transaction ${hash} is in no block`,
    async (signal) => {
      const receipt = await chain.call<ReceiptJson | null>('eth_getTransactionReceipt', [hash], signal);
      if (receipt === null) return { missing: 'there is no receipt' };
      if (receipt.status !== '0x1') throw new HarnessError('CHAIN_FAILED', `transaction ${hash} failed`);
      const gasUsed = BigInt(receipt.gasUsed);
      return { done: { gasUsed, fee: gasUsed * BigInt(receipt.effectiveGasPrice) } };
    },
    { ...context, clock: context.cluster.clock, timeoutMs: MINED_WITHIN_MS },
  );
}

interface ReceiptJson {
  readonly status: string;
  readonly gasUsed: string;
  readonly effectiveGasPrice: string;
}

export async function expectRefusal<T extends ParameterTable>(
  context: ScenarioContext<T>,
  what: string,
  status: number,
  work: () => Promise<unknown>,
): Promise<void> {
  const seen = await work().then(
    () => 'done',
    (error: unknown) => {
      if (error instanceof ClientError && error.status !== undefined) return error.message;
      throw error;
    },
  );
  context.expect(`${what} is refused`, seen.includes(` ${status} `), {
    observed: seen,
    expected: `status ${status}`,
  });
}

/** With more credit than the upload costs, no node would pay. */
export async function needCheques<T extends ParameterTable>(
  context: ScenarioContext<T>,
  issuer: ClusterNode,
  size: number,
): Promise<void> {
  const { signal } = context;
  const { chequebookEnabled } = await issuer.client.node(signal);
  if (!chequebookEnabled) context.skip(`${issuer.name} has no chequebook: the cluster needs swap`);
  const thresholds = (await issuer.client.accounting(signal)).map((account) => account.thresholdReceived);
  const lowest = thresholds.reduce((least, threshold) => (threshold < least ? threshold : least));
  const chunks = Math.ceil(size / CHUNK_PAYLOAD_SIZE / thresholds.length);
  const cost = BigInt(chunks) * CHUNK_PRICE_MAX;
  if (lowest > cost) {
    context.skip(
      `peers of ${issuer.name} lend it ${lowest} units, the upload costs ${cost} at each: upload more, or start our nodes with credit low`,
    );
  }
}

export function cashAndWait<T extends ParameterTable>(
  context: ScenarioContext<T>,
  beneficiary: ClusterNode,
  issuer: ClusterNode,
  timeoutMs = MINED_WITHIN_MS,
): Promise<Cashout> {
  const work = async () => {
    const hash = await beneficiary.chequebook.cash(issuer.overlay, context.signal);
    let last: Cashout | undefined;
    const missing = await inTime(
      `${beneficiary.name} has cashed`,
      async (signal) => {
        last = await beneficiary.chequebook.cashout(issuer.overlay, signal);
        return last.transactionHash === hash && last.result !== undefined
          ? undefined
          : `transaction ${last.transactionHash} of ${hash}, ${last.result === undefined ? 'no' : 'a'} result`;
      },
      { ...context, timeoutMs },
    );
    if (last === undefined || missing !== undefined)
      throw new HarnessError('WAIT_TIMEOUT', missing ?? 'no answer');
    return last;
  };
  return context.measure({ operation: 'cash', node: beneficiary.name }, work, () => 0);
}
