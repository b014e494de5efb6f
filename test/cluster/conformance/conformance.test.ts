import { afterAll, beforeAll, expect, test } from 'vitest';
import { toHex } from '../../../formats/crypto/hex.ts';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../../harness/cluster/nodes/cluster-node.ts';
import { spareAccounts } from '../../../harness/cluster/plan/seed.ts';
import { chainConformance } from '../../../harness/conformance/chain/conformance.ts';
import { CHAIN_ROWS } from '../../../harness/conformance/chain/rows.ts';
import { grade } from '../../../harness/conformance/grade.ts';
import type { ConformanceReport, Verdict } from '../../../harness/conformance/row.ts';
import { wireConformance } from '../../../harness/conformance/wire/conformance.ts';
import { WRONG_CHAINS } from './wrong-chains.ts';

const SEED = 61n;
const RUN_MS = 180_000;

let net: Cluster;
beforeAll(async () => {
  net = await Cluster.start({
    nodes: [
      { count: 2, options: { 'pullsync-v2-enable': true } },
      { mode: 'light', count: 1 },
    ],
    seed: SEED,
    credit: 'network',
  });
});
afterAll(() => net.stop());

const options = () => ({ clock: net.clock, level: 'money' as const, signal: AbortSignal.timeout(RUN_MS) });

const wireReport = (node: ClusterNode, spare: number) =>
  grade(
    wireConformance({
      peer: node.p2p ?? '',
      networkId: BigInt(net.chain.networkId),
      rpc: net.chain.rpc,
      key: toHex(spareAccounts(SEED)[spare]?.key ?? new Uint8Array(0)),
      hostile: true,
    }),
    options(),
  );
const told = ({ rows }: ConformanceReport, verdicts: readonly Verdict[]) =>
  rows.filter(({ verdict }) => verdicts.includes(verdict)).map(({ id, reason }) => `${id}: ${reason}`);
/** Rows of the other kind of node. */
const LIGHT_ONLY = ['retrieval', 'pushsync', 'pullsync'].map(
  (name) => `light node and ${name}: the node is a full node`,
);

test('our nodes have no red row on the wire', { timeout: RUN_MS }, async () => {
  const [full, , light] = net.nodes as [ClusterNode, ClusterNode, ClusterNode];
  await full.bytes.upload(new Uint8Array(50_000).fill(7), { deferred: false });
  const [ofFull, ofLight] = await Promise.all([wireReport(full, 0), wireReport(light, 1)]);
  expect(told(ofFull, ['failed', 'error', 'skipped'])).toEqual(LIGHT_ONLY);
  expect(told(ofLight, ['failed', 'error'])).toEqual([]);
  expect(ofLight.rows.filter(({ group }) => group === 'light node').map(({ verdict }) => verdict)).toEqual([
    'passed',
    'passed',
    'passed',
  ]);
  expect(
    ofFull.rows.filter(({ verdict }) => verdict === 'passed').every(({ exchanges }) => exchanges.length > 0),
  ).toBe(true);
  for (const [name, { totals, rows }] of Object.entries({ full: ofFull, light: ofLight })) {
    console.log(
      `${name} node: ${totals.passed} of ${rows.length} rows of the wire hold, ${totals.skipped} say nothing`,
    );
  }
});

test('our contracts have no red row, and none is skipped', async () => {
  const { rows } = await grade(chainConformance({ rpc: net.chain.rpc }), options());
  expect(
    rows.filter(({ verdict }) => verdict !== 'passed').map(({ id, reason }) => `${id}: ${reason}`),
  ).toEqual([]);
});

test('a chain that does not answer cannot be graded, and the error names it without its key', async () => {
  const graded = chainConformance({ rpc: 'http://127.0.0.1:9/a-key-of-an-endpoint' });
  await expect(grade(graded, options())).rejects.toMatchObject({
    code: 'CHAIN_FAILED',
    message: expect.stringMatching(/^the chain at http:\/\/127\.0\.0\.1:9\/… does not answer: eth_chainId: /),
  });
});

test.each(WRONG_CHAINS)('a chain that $name', async ({ around, red }) => {
  const { contracts } = net.chain;
  const graded = chainConformance({ rpc: net.chain.rpc }, (ask) => around(ask, contracts));
  const { rows } = await grade(graded, options());
  const found = rows.filter(({ verdict }) => verdict === 'failed' || verdict === 'error').map(({ id }) => id);
  expect(found.sort()).toEqual([...red].sort());
});

test('counts rows and mutations', () => {
  const red = new Set(WRONG_CHAINS.flatMap((chain) => chain.red));
  const ids = new Set(CHAIN_ROWS.map(({ id }) => id));
  expect(ids.size).toBe(CHAIN_ROWS.length);
  expect([...red].filter((id) => !ids.has(id))).toEqual([]);
  console.log(
    `${ids.size} rows of the chain, ${WRONG_CHAINS.length} wrong chains that turn ${red.size} of them red`,
  );
});
