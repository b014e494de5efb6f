/** Holds at every moment, whatever is broken. */
import { type Books, explainLosses, lawViolations, readBooks } from 'svcnet/scenario';
import { AWAY } from '../money.ts';
import { heldByNobody } from '../presence.ts';
import { type Departures, lossesOf } from './departures.ts';
import type { Operations } from './operations.ts';
import type { StormContext } from './parameters.ts';

const FOUND_MS = 50;
const PRESENCE_MS = 1000;
const MONEY_MS = 10_000;
/** In turn: where nodes are asked, each chunk costs requests. */
const SEEN_AT_ONCE = 400;
const ASKED_AT_ONCE = 20;
/** One moment's losses mostly have one cause. */
const EXPLAINED = 3;

export function watchSafety(context: StormContext, operations: Operations, before: Books): void {
  context.always({
    name: 'what a direct upload acknowledges is on a node at once',
    everyMs: FOUND_MS,
    check: async () => (operations.present.checked === 0 ? undefined : operations.present.missing),
    explain: (signal) => routesOf(context, operations.present.lost, signal),
  });
  context.always({
    name: 'no node has served or named anything wrong',
    everyMs: FOUND_MS,
    check: async () => (operations.uploaded.size === 0 ? undefined : operations.wrong),
  });
  held(context, operations.departures);
  let last = before;
  context.always({
    name: 'money is neither made nor lost',
    everyMs: MONEY_MS,
    async check(signal) {
      const now = await readBooks(context.cluster, [AWAY], signal);
      const wrong = lawViolations(now, last);
      last = now;
      return wrong;
    },
  });
}

function held(context: StormContext, departures: Departures): void {
  const { cluster, ledger } = context;
  const atOnce = cluster.nodes.every(({ isTransparent }) => isTransparent) ? SEEN_AT_ONCE : ASKED_AT_ONCE;
  let lost: readonly string[] = [];
  let next = 0;
  context.always({
    name: 'no acknowledged chunk is lost',
    everyMs: PRESENCE_MS,
    async check(signal) {
      const { entries } = ledger;
      const chunks: string[] = [];
      for (let looked = 0; looked < entries.length && chunks.length < atOnce; looked++) {
        const { chunks: some = [] } = entries[next++ % entries.length] ?? {};
        chunks.push(...some.filter((chunk) => !departures.taken.has(chunk)));
      }
      const before = departures.known();
      const missing = chunks.length === 0 ? undefined : await heldByNobody(chunks, cluster, signal);
      lost = await departures.unexplained(missing ?? [], before, signal);
      return (
        missing &&
        lost.map((chunk) => `${chunk} is on no node: ${ledger.originOf(chunk)?.node} had it acknowledged`)
      );
    },
    explain: (signal) => routesOf(context, lost, signal),
  });
}

async function routesOf(
  context: StormContext,
  chunks: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const losses = lossesOf(context, chunks.slice(0, EXPLAINED));
  return explainLosses(losses, context.cluster.nodes, {
    folder: context.folder,
    began: context.cluster.startedAt,
    signal,
  });
}
