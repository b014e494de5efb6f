import { expect, test, vi } from 'vitest';
import { paceText } from '../../../../../harness/base/terminal/pace.ts';
import { lineProgress, liveProgress } from '../../../../../harness/base/terminal/progress.ts';
import { manualMachine } from '../../manual-machine.ts';

test('without a terminal a start prints a line per finished step, and every five seconds what is under way', async () => {
  const clock = manualMachine();
  const written: string[] = [];
  const view = lineProgress((text) => written.push(text));
  view.update({ step: 'chain', done: true, detail: '7 contracts', ms: 600 });
  view.update({ step: 'nodes', done: false, detail: '0 of 50 ready' });
  await clock.advance(3000);
  view.update({ step: 'nodes', done: false, detail: '12 of 50 ready' });
  expect(written.splice(0)).toEqual([expect.stringMatching(/^ {2}✔ chain +7 contracts +600 ms\n$/)]);
  await clock.advance(2000);
  expect(written.splice(0)).toEqual([expect.stringMatching(/^ {2}… nodes +12 of 50 ready +5\.0 s\n$/)]);
  view.update({ step: 'nodes', done: true, detail: '50 of 50 ready', ms: 7000 });
  await view.end();
  await clock.advance(60_000);
  expect(written).toEqual([expect.stringMatching(/^ {2}✔ nodes +50 of 50 ready +7\.0 s\n$/)]);
});

test('on a terminal a start that fails ends its list and nothing else', async () => {
  const written: string[] = [];
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => void unhandled.push(reason);
  process.on('unhandledRejection', note);
  const spies = [process.stdout, process.stderr].map((stream) =>
    vi.spyOn(stream, 'write').mockImplementation((text) => written.push(String(text)) > 0),
  );
  try {
    const view = await liveProgress(['chain', 'nodes', 'mesh']);
    view.update({ step: 'chain', done: true, detail: '7 contracts', ms: 600 });
    view.update({ step: 'nodes', done: false, detail: '0 of 5 ready' });
    await view.end();
    // Node reports them when the promises that are due have run.
    await new Promise((resolve) => setImmediate(resolve));
  } finally {
    for (const spy of spies) spy.mockRestore();
    process.off('unhandledRejection', note);
  }
  expect(unhandled).toEqual([]);
  expect(written.join('')).toMatch(/✔ chain +7 contracts[^]*✖ nodes +0 of 5 ready/);
});

test.each([
  [{ done: 0, total: 10, unit: 'chunks', atMs: 0 }, 5000, '0 of 10 chunks'],
  [{ done: 1, total: 10, unit: 'chunks', atMs: 1000 }, 1000, '1 of 10 chunks'],
  [{ done: 5, total: 10, unit: 'chunks', atMs: 2000 }, 2000, '5 of 10 chunks, 2.5/s, 2.0 s left'],
  [{ done: 10, total: 10, unit: 'chunks', atMs: 2000 }, 2000, '10 of 10 chunks'],
  // Nothing is done since: the rate stays, and what is left falls until it is not known.
  [{ done: 2, total: 4, unit: 'seeds', atMs: 60_000 }, 60_000, '2 of 4 seeds, 2.0/min, 1 min 0 s left'],
  [{ done: 2, total: 4, unit: 'seeds', atMs: 60_000 }, 90_000, '2 of 4 seeds, 2.0/min, 30.0 s left'],
  [{ done: 2, total: 4, unit: 'seeds', atMs: 60_000 }, 150_000, '2 of 4 seeds, 2.0/min'],
  [
    { done: 5000, total: 2_000_000, unit: 'chunks', atMs: 2000 },
    2000,
    '5,000 of 2,000,000 chunks, 2,500/s, 13 min 18 s left',
  ],
])('the pace of %j after %i ms is %s', (part, elapsedMs, text) => {
  expect(paceText(part, elapsedMs)).toBe(text);
});
