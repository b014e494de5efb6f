/** Known bugs are a Bee's only red rows: where the rows and a Bee disagree otherwise, the rows are wrong. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { toHex } from '../../formats/crypto/hex.ts';
import type { Cluster } from '../../harness/cluster/cluster.ts';
import { spareAccounts } from '../../harness/cluster/plan/seed.ts';
import { grade } from '../../harness/conformance/grade.ts';
import { wireConformance } from '../../harness/conformance/wire/conformance.ts';
import { errorsInLogs, OTHERS, of, startMixed } from './kit.ts';

const SEED = 62n;
const RUN_MS = 300_000;
const NOT_ITS_OWN =
  /^the node (does not speak (handshake 1[45]\.0\.0|\/swarm\/pullsync\/2\.0\.0\/pullsync)|is a full node)$/;

/** A Bee built as released cannot be reached on a loopback address. */
const PASSES_ON = 'the node says that it cannot be reached from outside, and passes chunks on';

describe.each(OTHERS)('$title', (side) => {
  let net: Cluster;
  beforeAll(async () => {
    net = await startMixed({ side, own: 1, others: 2, seed: SEED });
  });
  afterAll(() => net.stop());

  test('no row is red except for known bugs, and only rows for other nodes are skipped', {
    timeout: RUN_MS,
  }, async () => {
    const [theirs] = of(side.flavour, net);
    const [own] = of('svc', net);
    const [spare] = spareAccounts(SEED);
    await own?.bytes.upload(new Uint8Array(50_000).fill(7), { deferred: false });
    const wire = wireConformance({
      peer: theirs?.p2p ?? '',
      networkId: BigInt(net.chain.networkId),
      rpc: net.chain.rpc,
      key: toHex(spare?.key ?? new Uint8Array(0)),
      hostile: true,
    });
    const { totals, rows, implementation } = await grade(wire, {
      clock: net.clock,
      level: 'money',
      signal: AbortSignal.timeout(RUN_MS),
    });
    const told = rows.filter(({ verdict }) => verdict !== 'passed');
    const unexpected = told.filter(
      ({ verdict, known, reason = '' }) =>
        !(verdict === 'skipped' ? NOT_ITS_OWN.test(reason) || reason === PASSES_ON : known !== undefined),
    );
    expect(unexpected.map(({ id, reason }) => `${id}: ${reason}`)).toEqual([]);
    console.log(
      `${implementation}: ${totals.passed} rows passed, ${totals.skipped} skipped, red and known: ${told
        .filter(({ known }) => known !== undefined)
        .map(({ id }) => id)
        .join(', ')}`,
    );
  });

  test('our own node has logged no error', async () => {
    expect(
      (await errorsInLogs(net)).filter((line) => line.startsWith(of('svc', net)[0]?.name ?? '')),
    ).toEqual([]);
  });
});
