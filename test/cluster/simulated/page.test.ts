import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { MACHINE_CLOCK } from '../../../harness/base/machine/clock.ts';
import { servePage } from '../../../harness/inspect/live/page-server.ts';
import { RunView } from '../../../harness/inspect/live/run-view.ts';
import { loadScenario } from '../../../harness/run/catalogue.ts';
import type { RunWatcher } from '../../../harness/run/run-options.ts';
import { planScenarios, runScenarios } from '../../../harness/run/runner.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { svcnetHere } from '../svcnet.ts';
import { EventReader } from '../ui/event-reader.ts';

const folder = temporaryFolder('svcnet-page');

async function run(name: string, watcher?: RunWatcher, signal = new AbortController().signal) {
  const planned = planScenarios([await loadScenario('storm')], new Map([['duration', '10s']]));
  return runScenarios({
    planned,
    nodes: 4,
    definition: { driver: 'simulated' },
    seed: 7n,
    stateDir: join(folder, 'state'),
    report: join(folder, name),
    name,
    command: 'none',
    signal,
    watcher,
  });
}

async function served(signal = new AbortController().signal) {
  const paused: { atMs: number; isSeen: boolean }[] = [];
  const page = await servePage(
    { port: 0 },
    {
      clock: MACHINE_CLOCK,
      assets: new Map(),
      watcher: (told) =>
        new RunView({
          ...told,
          clock: MACHINE_CLOCK,
          report: join(folder, 'seen'),
          signal,
          onPaused: (atMs, isSeen) => void paused.push({ atMs, isSeen }),
        }),
    },
  );
  onTestFinished(() => page.close());
  const ask = async (action: string, headers: Record<string, string> = {}) =>
    (await fetch(`${page.url}control/${action}`, { method: 'POST', headers })).status;
  return { page, ask, paused };
}

test('a run that is looked at, paused and stepped takes the course of one that nobody sees', async () => {
  const unseen = await run('unseen');
  const { page, ask } = await served();
  expect(await ask('pause')).toBe(200);
  const running = run('seen', page.watcher);
  {
    await using reader = new EventReader(page.url);
    const paused = await reader.until('it is paused', ({ time }) => time?.isPaused === true);
    expect([...paused.links.values()].filter(({ connected }) => connected)).toHaveLength(6);
    const before = paused.time?.nowMs ?? 0;
    expect(await ask('second')).toBe(200);
    await reader.until('a second has passed', ({ time }) => time?.nowMs === before + 1000 && time.isPaused);
    expect(await ask('message')).toBe(200);
    await reader.until('a message has been sent', ({ time, messages = [] }) => {
      const at = messages.at(-1)?.at ?? 0;
      return time?.isPaused === true && at > before + 1000 && at === time.nowMs;
    });
    for (const action of ['pace-100', 'continue', 'pace-fast']) expect(await ask(action)).toBe(200);
    await reader.until('a fault is seen', ({ events }) => events.some(({ kind }) => kind === 'fault'));
    await reader.until('figures are known', ({ rows }) => rows.some(({ nodes }) => (nodes[0]?.[0] ?? 0) > 0));
    const seen = await running;
    expect(seen.scenarios.map(({ digest, result }) => ({ digest, result }))).toEqual(
      unseen.scenarios.map(({ digest, result }) => ({ digest, result })),
    );
    expect(seen.scenarios[0]?.digest).toMatch(/^[0-9a-f]{64}$/);
    await page.close();
    await reader.end();
    expect(reader.model.cluster).toMatchObject({ phase: 'ended', record: join(folder, 'seen') });
  }
});

test('only its own page may ask for something, and only for what there is', async () => {
  const { page, ask } = await served();
  const { origin } = new URL(page.url);
  expect(await ask('pause', { origin: 'http://elsewhere.example' })).toBe(403);
  expect(await ask('pause', { origin: 'null' })).toBe(403);
  expect(await ask('pause', { origin })).toBe(200);
  expect(await ask('pace-7')).toBe(404);
  expect(await ask('seek-7')).toBe(404);
  expect((await fetch(`${page.url}control/pause`)).status).toBe(404);
  expect((await fetch(`${origin}/control/pause`, { method: 'POST' })).status).toBe(404);
});

test('a run that stays paused when its page has gone says so, and ends when it is interrupted', async () => {
  const interruption = new AbortController();
  const { page, ask, paused } = await served(interruption.signal);
  await ask('pause');
  const running = run('paused', page.watcher, interruption.signal);
  {
    await using reader = new EventReader(page.url);
    await reader.until('nodes are seen', ({ nodes }) => nodes.length === 4);
    await reader.until('it is paused', ({ time }) => time?.isPaused === true);
  }
  await expect.poll(() => paused.map(({ isSeen }) => isSeen)).toEqual([false]);
  interruption.abort();
  await expect(running).rejects.toMatchObject({ code: 'INTERRUPTED' });
});

test('only a run that is simulated, and only one run, has such a page', async () => {
  const stateDir = join(folder, 'state');
  const process = await svcnetHere(['run', 'upload', '--ui'], { stateDir });
  expect(process.stderr).toContain('--ui: got driver process, expected driver simulated');
  const two = await svcnetHere(['run', 'upload', '--driver', 'simulated', '--ui', '--repeat', '2'], {
    stateDir,
  });
  expect(two.stderr).toContain('--ui shows one run');
});
