import { element } from '../base/dom.ts';
import { clock, duration } from '../base/format.ts';
import type { ChartFrame, ChartMark } from './chart-data.ts';

const ROWS_MAX = 6;
const PERCENT_MIN = 0.4;

const KINDS: readonly (readonly [ChartMark['kind'], string])[] = [
  ['phase', 'phases'],
  ['fault', 'faults'],
  ['incident', 'incidents'],
];

export function eventLanes(frame: ChartFrame): HTMLElement {
  const lanes = KINDS.flatMap(([kind, title]) => {
    const marks = frame.marks.filter((mark) => mark.kind === kind);
    return marks.length === 0 ? [] : [lane(title, marks, frame)];
  });
  return element('div', { class: 'lanes' }, ...lanes);
}

function lane(title: string, marks: readonly ChartMark[], frame: ChartFrame): HTMLElement {
  const { fromMs, toMs, originMs } = frame;
  const percent = (ms: number) => Math.min(100, Math.max(0, ((ms - fromMs) / (toMs - fromMs || 1)) * 100));
  const ends: number[] = [];
  const placed = marks.map((mark) => {
    const end = mark.toMs ?? (mark.kind === 'fault' ? toMs : mark.fromMs);
    const left = percent(mark.fromMs);
    const width = Math.max(percent(end) - left, PERCENT_MIN);
    const free = ends.findIndex((busyUntil) => busyUntil <= left + 1e-6);
    const row = free === -1 ? Math.min(ends.length, ROWS_MAX - 1) : free;
    ends[row] = left + width;
    return { mark, end, left, width, row };
  });
  const bars = placed.map(({ mark, end, left, width, row }, i) => {
    const start = clock(mark.fromMs - originMs);
    const when = end > mark.fromMs ? `${start}, ${duration(end - mark.fromMs)}` : start;
    const next = placed.slice(i + 1).find((other) => other.row === row)?.left ?? 100;
    return element(
      'li',
      {
        class: `bar ${mark.kind}`,
        style: `left: ${left}%; width: ${width}%; --row: ${row}`,
        title: `${mark.text} (${when})`,
      },
      element(
        'span',
        { style: `width: ${(Math.max(width, next - left) / width) * 100}%` },
        mark.text,
        element('span', { class: 'hidden' }, `, ${when}`),
      ),
    );
  });
  return element(
    'div',
    { class: 'lane' },
    element('span', { class: 'lane-title' }, title),
    element('ul', { style: `--rows: ${Math.max(1, ends.length)}` }, ...bars),
  );
}
