/** Phases, faults and incidents as bars above the charts, on the same axis. */
import { element } from '../base/dom.ts';
import { clock, duration } from '../base/format.ts';
import type { ChartFrame, ChartMark } from './chart-data.ts';

/** Bars that overlap stand below each other; more than this at once are drawn over each other. */
const ROWS_MAX = 6;
/** A bar that is shorter is as wide as this, so that it can be seen. */
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
  const bars = marks.map((mark) => {
    const end = mark.toMs ?? (mark.kind === 'fault' ? toMs : mark.fromMs);
    const [left, right] = [percent(mark.fromMs), percent(end)];
    const width = Math.max(right - left, PERCENT_MIN);
    const free = ends.findIndex((busyUntil) => busyUntil <= left + 1e-6);
    const row = free === -1 ? Math.min(ends.length, ROWS_MAX - 1) : free;
    ends[row] = left + width;
    const when =
      end > mark.fromMs
        ? `${clock(mark.fromMs - originMs, true)}, ${duration(end - mark.fromMs)}`
        : clock(mark.fromMs - originMs, true);
    // Near the right end there is no room behind the bar: its words end where it begins.
    const side = left > 70 && width < 25 ? ' before' : '';
    const inside = width > 12 ? ' inside' : '';
    return element(
      'li',
      {
        class: `bar ${mark.kind}${side}${inside}`,
        style: `left: ${left}%; width: ${width}%; --row: ${row}`,
        title: `${mark.text} (${when})`,
      },
      element('span', {}, mark.text, element('span', { class: 'hidden' }, `, ${when}`)),
    );
  });
  return element(
    'div',
    { class: 'lane' },
    element('span', { class: 'lane-title' }, title),
    element('ul', { style: `--rows: ${Math.max(1, ends.length)}` }, ...bars),
  );
}
