/**
 * Writes `docs/reference/conformance.md`: `SVCNET_FLAVOURS=bee@./bee-2.8.1,./ant.flavour.yaml npm run record:conformance`.
 * Our node in both dialects and as a light node, our contracts, and each of these implementations, each in a small network
 * of its own.
 */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { toHex } from '../../formats/crypto/hex.ts';
import { MACHINE_CLOCK } from '../../harness/base/machine/clock.ts';
import { Cluster } from '../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../harness/cluster/nodes/cluster-node.ts';
import { spareAccounts } from '../../harness/cluster/plan/seed.ts';
import { chainConformance } from '../../harness/conformance/chain/conformance.ts';
import { type Graded, grade } from '../../harness/conformance/grade.ts';
import { httpConformance } from '../../harness/conformance/http/conformance.ts';
import { type Column, publishedMatrix } from '../../harness/conformance/published.ts';
import { totalsOf } from '../../harness/conformance/row.ts';
import { wireConformance } from '../../harness/conformance/wire/conformance.ts';
import { sampled } from '../cluster/conformance/sampled.ts';
import { NOBODY } from './flavours-named.ts';
import { OTHERS, type Other, option, startMixed } from './kit.ts';

const PAGE = fileURLToPath(new URL('../../docs/reference/conformance.md', import.meta.url));
const SEED = 62n;
const RUN_MS = 600_000;
/** Of a Bee, for the storage game. */
const INCENTIVES = 'storage-incentives-enable';

async function graded<Subject>(title: string, subject: Graded<Subject>): Promise<Column> {
  const report = await grade(subject, {
    clock: MACHINE_CLOCK,
    level: 'money',
    signal: AbortSignal.timeout(RUN_MS),
  });
  const { passed, failed, error, skipped } = report.totals;
  console.log(
    `${title}, ${report.kind}: ${passed} passed, ${failed + error} red, ${skipped} skipped; ${report.implementation}`,
  );
  return { title, report };
}

/** @param spare number of the account that pays */
function onTheWire(net: Cluster, node: ClusterNode, spare: number) {
  return wireConformance({
    peer: node.p2p ?? '',
    networkId: BigInt(net.chain.networkId),
    rpc: net.chain.rpc,
    key: toHex(spareAccounts(SEED)[spare]?.key ?? new Uint8Array(0)),
    hostile: true,
  });
}

function at<T>(list: readonly T[], index: number): T {
  const found = list[index];
  if (found === undefined) throw new Error(`the network has no node ${index} of this kind`);
  return found;
}

async function ourHttp(dialect: 'svc' | 'swarm'): Promise<Column> {
  await using net = await Cluster.start({ nodes: 2, seed: SEED, dialect, driver: 'embedded' });
  await net.meshed();
  await sampled(net);
  const { api: target, debug } = net.node(0);
  const subject = httpConformance({ target, debugTarget: debug, second: net.node(1).api, dialect });
  return await graded(`ours, ${dialect}`, subject);
}

async function ourWireAndChain(): Promise<Column[]> {
  await using net = await Cluster.start({
    nodes: [{ count: 2 }, { mode: 'light', count: 1 }],
    seed: SEED,
    credit: 'network',
  });
  await net.node(0).bytes.upload(new Uint8Array(50_000).fill(7), { deferred: false });
  return [
    await graded('ours', onTheWire(net, net.node(0), 0)),
    await graded('ours, light node', onTheWire(net, net.node(2), 1)),
    await graded('contracts that svcnet deploys', chainConformance({ rpc: net.chain.rpc })),
  ];
}

async function theirs(side: Other): Promise<Column[]> {
  const { name, flavour } = side;
  const known = option(INCENTIVES)(side) === undefined;
  const options = known ? { [INCENTIVES]: true } : {};
  await using net = await startMixed({ side, own: 1, others: 2, options, seed: SEED });
  const nodes = net.nodes.filter((node) => node.flavour === flavour);
  const { dialect } = at(nodes, 0).client;
  const http = httpConformance({ target: at(nodes, 0).api, second: at(nodes, 1).api, dialect: dialect.name });
  const sampling = http.rows.filter(({ group }) => group === 'game');
  const first = await graded(name, { ...http, rows: http.rows.filter(({ group }) => group !== 'game') });
  // Later: a Bee tells heights by the clock, and buys no batch for minutes after blocks on demand.
  if (known) await sampled(net);
  const { report } = await graded(name, { ...http, rows: sampling });
  const rows = [...first.report.rows, ...report.rows];
  const wire = await graded(name, onTheWire(net, at(nodes, 1), 0));
  const [, version = name] = /^version (\d+\.\d+\.\d+)/.exec(report.implementation) ?? [];
  const title = `${flavour === 'bee' ? 'Bee' : flavour} ${version}`;
  return [{ ...first.report, rows, totals: totalsOf(rows) }, wire.report].map((one) => ({
    title,
    report: one,
  }));
}

if (OTHERS.length === 0) throw new Error(NOBODY);
const columns: Column[] = [await ourHttp('svc'), await ourHttp('swarm'), ...(await ourWireAndChain())];
for (const side of OTHERS) columns.push(...(await theirs(side)));
const order = ['http', 'wire', 'chain'];
columns.sort((a, b) => order.indexOf(a.report.kind) - order.indexOf(b.report.kind));
writeFileSync(PAGE, publishedMatrix(columns));
