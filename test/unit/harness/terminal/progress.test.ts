import { expect, test, vi } from 'vitest';
import { paceText } from '../../../../harness/terminal/pace.ts';
import { lineProgress } from '../../../../harness/terminal/progress.ts';

test('without a terminal a start prints a line per finished step, and every five seconds what is under way', async () => {
  vi.useFakeTimers();
  try {
    const written: string[] = [];
    const view = lineProgress((text) => written.push(text));
    view.update({ step: 'chain', done: true, detail: '7 contracts', ms: 600 });
    view.update({ step: 'nodes', done: false, detail: '0 of 50 ready' });
    vi.advanceTimersByTime(3000);
    view.update({ step: 'nodes', done: false, detail: '12 of 50 ready' });
    expect(written.splice(0)).toEqual([expect.stringMatching(/^ {2}✔ chain +7 contracts +600 ms\n$/)]);
    vi.advanceTimersByTime(2000);
    expect(written.splice(0)).toEqual([expect.stringMatching(/^ {2}… nodes +12 of 50 ready +5\.0 s\n$/)]);
    view.update({ step: 'nodes', done: true, detail: '50 of 50 ready', ms: 7000 });
    await view.end();
    vi.advanceTimersByTime(60_000);
    expect(written).toEqual([expect.stringMatching(/^ {2}✔ nodes +50 of 50 ready +7\.0 s\n$/)]);
  } finally {
    vi.useRealTimers();
  }
});

test.each([
  [{ done: 0, total: 10, unit: 'chunks' }, 5000, '0 of 10 chunks'],
  [{ done: 1, total: 10, unit: 'chunks' }, 1000, '1 of 10 chunks'],
  [{ done: 5, total: 10, unit: 'chunks' }, 2000, '5 of 10 chunks, 2.5/s, 2.0 s left'],
  [{ done: 10, total: 10, unit: 'chunks' }, 2000, '10 of 10 chunks'],
  [
    { done: 5000, total: 2_000_000, unit: 'chunks' },
    2000,
    '5,000 of 2,000,000 chunks, 2,500/s, 13 min 18 s left',
  ],
])('the pace of %j after %i ms is %s', (part, elapsedMs, text) => {
  expect(paceText(part, elapsedMs)).toBe(text);
});
