import { beforeAll, expect, test } from 'vitest';
import { MACHINE_CLOCK } from '../../../harness/base/machine/clock.ts';
import type { RowResult } from '../../../harness/conformance/row.ts';
import { runRows } from '../../../harness/conformance/run-rows.ts';
import { openWire } from '../../../harness/conformance/wire/conformance.ts';
import { WIRE_ROWS } from '../../../harness/conformance/wire/rows/rows.ts';
import { NOT_PAID_FOR, startPeer, WRONG_PEERS, type Wrong } from './wrong-peers.ts';

const WAITING = ['stranger stays', 'silence', 'headers silence'];
const ROWS = WIRE_ROWS.filter(
  ({ id, group }) => group !== 'hostile' && ![...WAITING, ...NOT_PAID_FOR].includes(id),
);
const LIMIT_MS = 500_000;

async function graded(how: Wrong): Promise<RowResult[]> {
  const { options, stop } = await startPeer(how);
  const run = { clock: MACHINE_CLOCK, signal: AbortSignal.timeout(LIMIT_MS) };
  const { subject, close } = await openWire(options, run, {});
  try {
    return await runRows(ROWS, subject, { ...run, level: 'money' });
  } finally {
    await close();
    await stop();
  }
}

function idsOf(results: readonly RowResult[], verdicts: readonly RowResult['verdict'][]): string[] {
  return results
    .filter(({ verdict }) => verdicts.includes(verdict))
    .map(({ id }) => id)
    .sort();
}

const RIGHT = 'right';
const found = new Map<string, RowResult[]>();

// A run mostly waits for what must not come.
beforeAll(async () => {
  const peers = [{ name: RIGHT, wrong: {} }, ...WRONG_PEERS];
  await Promise.all(peers.map(async ({ name, wrong }) => found.set(name, await graded(wrong))));
});

test('a correct peer has no red row', () => {
  const told = (found.get(RIGHT) ?? []).filter(
    ({ verdict, group }) => verdict !== 'passed' && group !== 'light node',
  );
  expect(found.get(RIGHT)).toHaveLength(ROWS.length);
  // A peer without a topology announces no one.
  expect(told.map(({ id, reason }) => `${id}: ${reason}`)).toEqual(
    ['2.0.0', '1.1.0'].map((version) => `hive ${version} gossip: the node announced nobody to us`),
  );
  const red = new Set(WRONG_PEERS.flatMap((peer) => peer.red));
  console.log(`${ROWS.length} rows, ${WRONG_PEERS.length} wrong peers that turn ${red.size} of them red`);
});

test.each(WRONG_PEERS)('a peer that $name', ({ name, red }) => {
  const results = found.get(name) ?? [];
  expect(results).toHaveLength(ROWS.length);
  expect(idsOf(results, ['failed', 'error'])).toEqual([...red].sort());
});
