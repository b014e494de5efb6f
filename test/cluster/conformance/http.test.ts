/**
 * Each row must be red as soon as one thing that it claims is otherwise: it is given the kept answers again, each claim
 * broken once.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import { checkConformance } from '../../../harness/conformance/check.ts';
import { httpConformance } from '../../../harness/conformance/http/conformance.ts';
import type { HttpSubject } from '../../../harness/conformance/http/subject.ts';
import type { Row } from '../../../harness/conformance/row.ts';
import { isRed } from '../../../harness/conformance/row.ts';
import { runRows } from '../../../harness/conformance/run-rows.ts';
import { brokenCopies, KeepingTransport } from '../../unit/harness/conformance/replay.ts';
import { stateFolder } from '../node/kit.ts';
import { sampled } from './sampled.ts';

const stateDir = stateFolder();
const signal = new AbortController().signal;

describe.each(['svc', 'swarm'] as const)('dialect %s', (dialect) => {
  let net: Cluster;
  let transport: KeepingTransport;
  let subject: HttpSubject;
  let close: () => Promise<readonly string[]>;
  let rows: readonly Row<HttpSubject>[];
  /** The answers to each row. */
  const answers = new Map<string, KeepingTransport['kept']>();

  beforeAll(async () => {
    net = await Cluster.start({ nodes: 2, seed: 77, dialect, driver: 'embedded', stateDir, name: dialect });
    await net.meshed();
    await sampled(net);
    const [graded, other] = [net.node(0), net.node(1)];
    const conformance = httpConformance(
      { target: graded.api, debugTarget: graded.debug, second: other.api, dialect },
      (inner) => {
        transport = new KeepingTransport(inner, dialect === 'svc' ? 'text' : 'object');
        return transport;
      },
    );
    rows = conformance.rows;
    ({ subject, close } = await conformance.open({ clock: net.clock, signal }));
  });
  afterAll(() => net.stop());

  test('a program grades the node and the chain with one call', async () => {
    const [graded] = net.nodes;
    if (graded === undefined) throw new Error('the cluster has no node');
    const seen: string[] = [];
    const report = await checkConformance(
      { kind: 'http', target: graded.api, dialect },
      { only: 'GET /health', onResult: ({ id }) => seen.push(id) },
    );
    expect(report).toMatchObject({ kind: 'http', level: 'read', totals: { failed: 0, error: 0 } });
    expect(report.totals.passed).toBeGreaterThan(0);
    expect(seen).toEqual(report.rows.map(({ id }) => id));
    const chain = await checkConformance({ kind: 'chain', rpc: net.chain.rpc });
    expect(chain.totals).toMatchObject({ failed: 0, error: 0 });
    expect(chain.totals.passed).toBeGreaterThan(50);
    await expect(
      checkConformance({ kind: 'http', target: graded.api, dialect }, { only: 'GET /nowhere' }),
    ).rejects.toMatchObject({ code: 'ARGUMENT_INVALID' });
  });

  test('every row has a unique name', () => {
    expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);
  });

  test('no row is red', async () => {
    const results = await runRows(rows, subject, {
      clock: net.clock,
      level: 'money',
      signal,
      onResult: ({ id }) => {
        answers.set(id, transport.kept);
        transport.kept = [];
      },
    });
    expect(results.filter(isRed).map(({ id, reason }) => `${id}: ${reason}`)).toEqual([]);
    const skipped = results.filter(({ verdict }) => verdict === 'skipped').map(({ id }) => id);
    expect(skipped).toEqual([]);
    // Batches cannot be returned, and a batch without a label cannot lose one again.
    const left = (await close()).map((what) => what.replace(/[0-9a-f]{64}.*/, 'ID'));
    expect(left).toEqual(['batch ID', 'batch ID', 'label of ID']);
  });

  test('every row turns red for each of its claims that is broken', async () => {
    const survived: string[] = [];
    const untouched: string[] = [];
    let mutations = 0;
    const verdictOf = async (row: Row<HttpSubject>, kept: KeepingTransport['kept']) => {
      transport.replay([...kept]);
      const [result] = await runRows(
        [row],
        { ...subject, pollMs: 0 },
        { clock: net.clock, level: 'money', signal },
      );
      return result?.verdict;
    };
    for (const row of rows) {
      const kept = answers.get(row.id) ?? [];
      expect(await verdictOf(row, kept), row.id).toBe('passed');
      let own = 0;
      for (const broken of brokenCopies(kept)) {
        own += 1;
        const verdict = await verdictOf(row, broken.kept);
        if (verdict !== 'failed' && verdict !== 'error') survived.push(`${row.id}: ${broken.about}`);
      }
      mutations += own;
      if (own === 0) untouched.push(row.id);
    }
    expect(untouched).toEqual([]);
    expect(survived).toEqual([]);
    process.stdout.write(
      `conformance http, ${dialect}: ${rows.length} rows, ${mutations} mutations, all red\n`,
    );
  });
});
