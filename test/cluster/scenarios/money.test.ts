/** Money scenarios on a cluster whose nodes pay by cheque: they pass, and their checks can fail. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Chain } from '../../../harness/chain/chain.ts';
import { ChequebookClient, StakeClient, WalletClient } from '../../../harness/client/money.ts';
import { NodeClient } from '../../../harness/client/node-client.ts';
import { StampsClient } from '../../../harness/client/sessions.ts';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import type { RunResult, ScenarioResult } from '../../../harness/report/result.ts';
import { planScenarios, runScenarios } from '../../../harness/run/runner.ts';
import type { Scenario } from '../../../harness/run/scenario.ts';
import balances from '../../../scenarios/balances.ts';
import bouncedCheque from '../../../scenarios/bounced-cheque.ts';
import cheques from '../../../scenarios/cheques.ts';
import postage from '../../../scenarios/postage.ts';
import settlements from '../../../scenarios/settlements.ts';
import stake from '../../../scenarios/stake.ts';
import withdraw from '../../../scenarios/withdraw.ts';

let folder: string;
let net: Cluster;
let runs = 0;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'svcnet-money-'));
  net = await Cluster.start({
    nodes: [{ count: 3, options: withdraw.cluster.options ?? {} }, { mode: 'light' }],
    credit: 'low',
    seed: 31,
    name: 'money',
    stateDir: join(folder, 'state'),
  });
});
afterAll(async () => {
  await net.stop();
  rmSync(folder, { recursive: true, force: true });
});

function run(scenario: Scenario, parameters: Readonly<Record<string, string>> = {}): Promise<RunResult> {
  return runScenarios({
    planned: planScenarios([scenario], new Map(Object.entries(parameters))),
    attachTo: 'money',
    seed: 31n,
    stateDir: join(folder, 'state'),
    report: join(folder, `run-${++runs}`),
    name: `run-${runs}`,
    command: 'as before',
    signal: new AbortController().signal,
  });
}

function failures({ scenarios }: RunResult): string[] {
  return (scenarios[0]?.assertions ?? []).filter(({ passed }) => !passed).map(({ name }) => name);
}

function only({ scenarios }: RunResult): ScenarioResult {
  const [scenario] = scenarios;
  if (scenario === undefined) throw new Error('no result');
  return scenario;
}

/** Replaces the result of a method by what `lie` makes of it. */
function lying(prototype: object, method: string, lie: (truth: never) => unknown): Disposable {
  const methods = prototype as Record<string, (...given: unknown[]) => Promise<unknown>>;
  const original = methods[method];
  if (original === undefined) throw new Error(`there is no method ${method}`);
  methods[method] = async function (this: unknown, ...given: unknown[]) {
    return lie((await original.apply(this, given)) as never);
  };
  return {
    [Symbol.dispose]() {
      methods[method] = original;
    },
  };
}

test('balances, settlements and cheques pass with their amounts', async () => {
  for (const scenario of [balances, settlements]) {
    const result = only(await run(scenario, { size: '400000' }));
    expect(result).toMatchObject({ result: 'passed' });
  }
  const result = only(await run(cheques, { size: '1MiB' }));
  expect(result.assertions.filter(({ passed }) => !passed)).toEqual([]);
  expect(result.result).toBe('passed');
  const names = result.figures.map(({ name }) => name);
  for (const name of ['first cheque after', 'promised', 'cashed']) expect(names).toContain(name);
});

test('a node that counts one unit too much turns balances red', async () => {
  type Rows = { peer: string; balance: bigint }[];
  using _lie = lying(NodeClient.prototype, 'balances', (rows: Rows) =>
    rows.map((row) => ({ ...row, balance: row.balance + 1n })),
  );
  const seen = failures(await run(balances, { 'dry-run': 'true', deadline: '1' }));
  expect(seen).toContain('both ends of each link count the same');
  expect(seen).toContain('nothing is lost or made: balances, cheques and tokens add up');
});

test('a settlement known to only one end turns settlements red', async () => {
  type Rows = { settlements: { peer: string; sent: bigint; received: bigint }[] };
  using _lie = lying(NodeClient.prototype, 'settlements', (rows: Rows) => ({
    ...rows,
    settlements: rows.settlements.map((row) => ({ ...row, sent: row.sent + 1n })),
  }));
  expect(failures(await run(settlements, { 'dry-run': 'true', deadline: '1' }))).toContain(
    'both ends of each link count the same',
  );
});

test('a balance above its threshold turns settlements red', async () => {
  type Rows = { thresholdGiven: bigint; thresholdReceived: bigint }[];
  using _lie = lying(NodeClient.prototype, 'accounting', (rows: Rows) =>
    rows.map((row) => ({ ...row, thresholdGiven: -1n, thresholdReceived: -1n })),
  );
  expect(failures(await run(settlements, { size: '4096', 'expect-settlements': 'false' }))).toContain(
    'every balance is within the thresholds of its link',
  );
});

test('traffic without cost turns balances red', async () => {
  using _lie = lying(NodeClient.prototype, 'balances', () => []);
  using _time = lying(NodeClient.prototype, 'timeSettlements', () => ({ settlements: [] }));
  using _cheques = lying(NodeClient.prototype, 'settlements', () => ({ settlements: [] }));
  const seen = failures(await run(balances, { size: '4096', deadline: '1' }));
  expect(seen).toContain('an upload costs something');
  expect(seen).toContain('a download costs something');
});

test('a cheque that is late, or differs from the one sent, turns cheques red', async () => {
  type Held = { received?: { payout: bigint } };
  using _lie = lying(ChequebookClient.prototype, 'cheque', (held: Held) => ({
    ...held,
    received: held.received && { ...held.received, payout: held.received.payout - 1n },
  }));
  const seen = failures(await run(cheques, { 'first-within': '1' }));
  expect(seen).toContain('the first cheque comes soon');
  expect(seen.some((name) => name.includes('holds the cheque that node-0 has sent'))).toBe(true);
});

test('money that the chain does not have turns cheques red', async () => {
  using _lie = lying(Chain.prototype, 'tokenBalance', () => 5n);
  const seen = failures(await run(cheques));
  expect(seen.some((name) => name.endsWith('the chain has moved exactly as much'))).toBe(true);
  expect(seen.some((name) => name.endsWith('the chequebook of node-0 has paid it'))).toBe(true);
});

test.each([
  ['withdraw', withdraw, {}],
  ['stake', stake, {}],
  ['postage', postage, {}],
  ['bounced-cheque', bouncedCheque, { beneficiaries: '2', size: '1MiB' }],
])('%s passes', async (_name, scenario, parameters) => {
  const result = only(await run(scenario, parameters));
  expect(result.error).toBeUndefined();
  expect(result.assertions.filter(({ passed }) => !passed)).toEqual([]);
  expect(result.result).toBe('passed');
});

test('an account that does not change turns withdraw red', async () => {
  type Balances = Record<'tokenBalance' | 'nativeBalance', bigint>;
  using _lie = lying(WalletClient.prototype, 'balances', (truth: Balances) => ({
    ...truth,
    nativeBalance: 10n ** 18n,
    tokenBalance: 10n ** 18n,
  }));
  const seen = failures(await run(withdraw));
  expect(seen).toContain('native: the coins of node-0 fall by what was sent and the fee');
  expect(seen).toContain('token: the tokens of node-0 fall by what was sent');
});

test('a stake that is one unit short turns stake red', async () => {
  using _lie = lying(StakeClient.prototype, 'staked', (truth: bigint) => (truth > 1n ? truth - 1n : truth));
  const seen = failures(await run(stake));
  expect(seen).toContain('stake: stake and account change by the same amount');
});

test('a batch without the expected change turns postage red', async () => {
  type Stamp = { depth: number; amount: bigint; utilization: number };
  using _lie = lying(StampsClient.prototype, 'get', (truth: Stamp) => ({ ...truth, utilization: 0 }));
  const seen = failures(await run(postage));
  expect(seen).toContain('chunk is refused: the batch is used up to its bucket');
});

test('a bounced cheque that is never reported turns bounced-cheque red', async () => {
  type Status = { result?: { bounced: boolean } };
  using _lie = lying(ChequebookClient.prototype, 'cashout', (truth: Status) => ({
    ...truth,
    result: truth.result && { ...truth.result, bounced: false },
  }));
  const seen = failures(await run(bouncedCheque, { beneficiaries: '2', size: '1MiB' }));
  expect(seen.some((name) => name.endsWith('is paid what there is, and told whether it is all'))).toBe(true);
});
