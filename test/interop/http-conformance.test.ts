/**
 * Known bugs and what its version lacks are a Bee's only red rows: any other disagreement means that the rows are wrong.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Cluster } from '../../harness/cluster/cluster.ts';
import { grade } from '../../harness/conformance/grade.ts';
import { httpConformance } from '../../harness/conformance/http/conformance.ts';
import { OTHERS, of, startMixed } from './kit.ts';

/** Purchases wait for blocks, one a second. */
const RUN_MS = 600_000;

describe.each(OTHERS)('$title', (side) => {
  let net: Cluster;
  beforeAll(async () => {
    net = await startMixed({ side, own: 1, others: 2, seed: 63 });
  });
  afterAll(() => net.stop());

  test('every red row is a known one', { timeout: RUN_MS }, async () => {
    const [graded, second] = of(side.flavour, net);
    const conformance = httpConformance({
      target: graded?.api ?? '',
      second: second?.api ?? '',
      dialect: graded?.client.dialect.name ?? 'swarm',
    });
    const { rows, totals, implementation } = await grade(conformance, {
      clock: net.clock,
      level: 'money',
      signal: AbortSignal.timeout(RUN_MS),
    });
    const red = rows.filter(({ verdict }) => verdict === 'failed' || verdict === 'error');
    expect(
      red.filter(({ known }) => known === undefined).map(({ id, reason }) => `${id}: ${reason}`),
    ).toEqual([]);
    expect(totals.passed).toBeGreaterThan(900);
    console.log(`${implementation}: ${totals.passed} rows passed, ${red.length} red and known`);
  });
});
