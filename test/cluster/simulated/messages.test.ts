import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { BytesClient } from '../../../harness/client/transfers.ts';
import type { GroupInput } from '../../../harness/cluster/plan/definition-input.ts';
import type { TapEvent } from '../../../harness/places/links/tap/events.ts';
import type { RunResult } from '../../../harness/report/result.ts';
import { planScenarios, runScenarios } from '../../../harness/run/runner.ts';
import { MessageWatch } from '../../../harness/run/watch/messages.ts';
import changedChunk from '../../../scenarios/changed-chunk.ts';
import bee5400 from '../../../scenarios/known/bee-5400.ts';
import lostReceipt from '../../../scenarios/lost-receipt.ts';
import pingpong from '../../../scenarios/pingpong.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { svcnetHere } from '../svcnet.ts';

const folder = temporaryFolder('svcnet-simulated-record');
const stateDir = join(folder, 'state');

function run(
  scenario: typeof pingpong | typeof lostReceipt | typeof changedChunk | typeof bee5400,
  report: string,
  nodes?: readonly GroupInput[],
  set: readonly (readonly [string, string])[] = [],
) {
  return runScenarios({
    planned: planScenarios([scenario], new Map(set)),
    definition: { driver: 'simulated' },
    ...(nodes === undefined ? {} : { nodes, exactNodes: true }),
    seed: 7n,
    stateDir,
    report,
    name: 'record',
    command: 'none',
    signal: new AbortController().signal,
  });
}

const digests = ({ scenarios }: RunResult) => scenarios.map(({ digest }) => digest);

test('the messages of a run are in its folder, and its report names those that a fault has touched', async () => {
  const report = join(folder, 'lost');
  const result = await run(lostReceipt, report);
  expect(result.problems ?? []).toEqual([]);
  const read = async (...args: string[]) => {
    const { code, stdout, stderr } = await svcnetHere(['tap', ...args, '--read', report], { stateDir });
    return { code, stderr, lines: stdout.split('\n').filter((line) => line !== '') };
  };
  const all = await read('--json');
  expect(all).toMatchObject({ code: 0, stderr: '' });
  const events = all.lines.map((line) => JSON.parse(line) as TapEvent);
  expect(events[0]).toMatchObject({ protocol: 'noise', kind: 'opened' });
  const meant = events.filter(({ protocol, from, to }) => {
    return protocol === 'pushsync' && [from, to].sort().join() === 'node-0,node-1';
  });
  const { lines, stderr } = await read('node-0', 'node-1', '--protocol', 'pushsync');
  expect(lines).toHaveLength(meant.length);
  expect(stderr).toContain('  times since 2023-11-14 22:13:20.000 UTC, when the cluster began\n');
  const dropped = meant.filter(({ fields }) => fields['fault'] === 'dropped');
  expect(dropped).toHaveLength(1);
  const page = readFileSync(join(report, 'report.html'), 'utf8');
  expect(page.includes('<h3 id="messages-0">Messages</h3>')).toBe(true);
  expect(/>receipt<\/td><td[^>]*>dropped</.test(page)).toBe(true);
  const [time = 'none'] = (lines.find((line) => line.includes('fault dropped')) ?? '').split(' ');
  expect(time).toMatch(/^0:00\.\d{3}$/);
  expect(page.includes(`>${time}</`)).toBe(true);
  expect(page.includes(`svcnet tap --read ${report}`)).toBe(true);
  expect(await read('node-7')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("no message is from or to 'node-7'"),
  });
  expect(await read('--kept')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--read and --kept exclude each other'),
  });
  const watch = vi.spyOn(MessageWatch.prototype, 'watch').mockReturnValue();
  const unheard = join(folder, 'unheard');
  expect(digests(await run(lostReceipt, unheard))).toEqual(digests(result));
  expect(watch).toHaveBeenCalled();
  watch.mockRestore();
  expect(existsSync(join(unheard, 'messages.jsonl.gz'))).toBe(false);
});

test('chunks that come to the storer meanwhile are not taken for the one whose receipt is lost', async () => {
  const upload = Reflect.get(BytesClient.prototype, 'upload');
  const spy = vi.spyOn(BytesClient.prototype, 'upload');
  spy.mockImplementation(async function (this: BytesClient, data, options) {
    for (const other of [1, 2, 3, 4, 5, 6])
      await upload.call(this, Uint8Array.of(other), { ...options, deferred: false });
    return upload.call(this, data, options);
  });
  const result = await run(lostReceipt, join(folder, 'busy'));
  spy.mockRestore();
  expect(result.scenarios.flatMap(({ assertions }) => assertions.filter(({ passed }) => !passed))).toEqual(
    [],
  );
  expect(result.passed).toBe(true);
});

test('a receipt that never comes, on a stream that stays open, is no different', async () => {
  const report = join(folder, 'hanging');
  const { scenarios, passed } = await run(lostReceipt, report, undefined, [['by', 'hang']]);
  expect(scenarios.flatMap(({ assertions }) => assertions.filter((one) => !one.passed))).toEqual([]);
  expect(passed).toBe(true);
  const faults = readFileSync(join(report, 'faults.jsonl'), 'utf8');
  expect(faults).toContain('"text":"drops the first 1 of pushsync receipt');
});

test('chunks that are lost on the way to the only node of their neighbourhood are refused', async () => {
  const report = join(folder, 'silent');
  const { scenarios, passed } = await run(bee5400, report, undefined, [['by', 'message']]);
  expect(scenarios[0]?.assertions).toHaveLength(2);
  expect(passed).toBe(true);
  expect(readFileSync(join(report, 'faults.jsonl'), 'utf8')).toContain('"messages dropped":');
});

test('without two full nodes they are skipped, and an implementation that is not graded is named', async () => {
  const [lonely] = (
    await run(lostReceipt, join(folder, 'lonely'), [{ count: 1 }, { count: 2, mode: 'light' }])
  ).scenarios;
  expect(lonely).toMatchObject({
    result: 'skipped',
    skipReason: 'needs 2 running full nodes, the cluster has 1',
  });
  const nodes = [{ count: 3, neighbourhoods: ['0', '0', '0'] }];
  const [near] = (await run(changedChunk, join(folder, 'near'), nodes)).scenarios;
  expect(near).toMatchObject({
    result: 'passed',
    unchecked: ['what svc makes of a changed chunk: no two nodes are far from one of it'],
  });
});

test('a run without a tap keeps none, and one whose disk is full says so and goes on', async () => {
  const bare = join(folder, 'bare');
  await run(pingpong, bare);
  expect(await svcnetHere(['tap', '--read', bare], { stateDir })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining(`${bare}: no messages are in it, expected messages.jsonl.gz`),
  });
  const full = join(folder, 'full');
  const running = run(changedChunk, full);
  symlinkSync('/dev/full', join(full, 'messages.jsonl.gz'));
  const { passed, problems } = await running;
  expect(passed).toBe(true);
  expect(problems).toContainEqual(
    expect.stringMatching(/^messages\.jsonl\.gz ends early: .*disk full \(ENOSPC\)/),
  );
});
