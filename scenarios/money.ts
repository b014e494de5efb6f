/** What scenarios of the money share: traffic that costs something, and books that have to be right afterwards. */
import { type Books, type NodeBooks, violations } from '../harness/books.ts';
import type { ClusterNode } from '../harness/cluster-node.ts';
import { HarnessError } from '../harness/errors.ts';
import { readBooks } from '../harness/read-books.ts';
import type { ParameterTable, ScenarioContext } from '../harness/scenario.ts';
import { batchOf, inTime } from './steps.ts';

/** Without traffic the last settlements have long arrived. */
const SETTLED_WITHIN_MS = 30_000;
/** Violations shown of a longer list. */
const LINES_SHOWN = 20;

/** What was uploaded. */
export interface Paid {
  readonly reference: string;
  readonly data: Uint8Array;
}

/** Uploads fresh bytes and waits until others have stored them: the node owes for every chunk. */
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

/** Waits until both ends of every link count the same, which is a condition. @returns the books of the nodes */
export function settle<T extends ParameterTable>(
  context: ScenarioContext<T>,
  { timeoutMs = SETTLED_WITHIN_MS } = {},
): Promise<readonly NodeBooks[]> {
  const { cluster, signal } = context;
  return context.step('settle', async (progress) => {
    const startedAt = performance.now();
    let books: readonly NodeBooks[] = [];
    const missing = await cluster.settled({ timeoutMs, signal }).then(
      (settled) => {
        books = settled;
        return undefined;
      },
      (error: unknown) => {
        if (error instanceof HarnessError && error.code === 'WAIT_TIMEOUT') return error.message;
        throw error;
      },
    );
    context.expect('both ends of each link count the same', missing === undefined, {
      observed: missing ?? `${books.length} nodes agree`,
      expected: 'balances that cancel out, settlements that arrived',
    });
    const seconds = (performance.now() - startedAt) / 1000;
    context.figure({ name: 'time to symmetry', value: seconds.toFixed(3), unit: 's' });
    progress.detail(`${books.length} nodes agree`);
    return books;
  });
}

export interface BooksOptions {
  /** Read before: no cheque may promise less than then. */
  readonly before?: Books;
  /** Accounts beside the nodes' that tokens were sent to, 40 hex digits each. */
  readonly others?: readonly string[];
}

/** Nothing is lost or made: no token, no unit of debt, no promise (scenarios.md 3.8). @returns the books */
export function checkBooks<T extends ParameterTable>(
  context: ScenarioContext<T>,
  { before, others = [] }: BooksOptions = {},
): Promise<Books> {
  return context.step('books', async (progress) => {
    let books: Books | undefined;
    let wrong: string[] = [];
    await inTime(
      'nothing is lost or made',
      async (signal) => {
        books = await readBooks(context.cluster, others, signal);
        wrong = violations(books, before);
        return wrong[0];
      },
      { timeoutMs: SETTLED_WITHIN_MS, signal: context.signal },
    );
    if (books === undefined) throw new HarnessError('NODE_STATE', 'the books could not be read');
    const evidence = wrong.length === 0 ? {} : { evidence: wrong.slice(0, LINES_SHOWN).join('\n') };
    context.expect('nothing is lost or made: balances, cheques and tokens add up', wrong.length === 0, {
      observed: `${wrong.length} sums are wrong`,
      expected: '0 sums are wrong',
      ...evidence,
    });
    const { supply, chequebooks } = books.chain;
    context.figure({ name: 'tokens in existence', value: supply.toString(), unit: 'units' });
    progress.detail(`${supply} token units, ${chequebooks.length} chequebooks`);
    return books;
  });
}
