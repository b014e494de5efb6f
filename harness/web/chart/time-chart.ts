/**
 * Lines over time with faults and phases, by uPlot. Without canvas or mouse, arrow keys move an announced cursor,
 * and a table lists values.
 */
import uPlot from 'uplot';
import { element, onThemeChange, themeColour } from '../base/dom.ts';
import { clock, quantity } from '../base/format.ts';
import type { ChartFrame, TimeChartData, TimeSeries } from './chart-data.ts';
import { chartSummary } from './chart-summary.ts';
import { ChartTable } from './chart-table.ts';

/** Equal in all charts so that times align. Repeated in `chart.css`. */
const AXIS_PX = 84;
const RIGHT_PX = 28;
const HEIGHT_PX = 180;
const COLOURS = 8;
/** The enumeration exists only in the package's type declarations. */
// oxlint-disable-next-line typescript/no-unsafe-enum-assignment
const LOGARITHMIC = 3 as uPlot.Scale.Distr.Logarithmic;
/** A summary of more series is hidden, except from screen readers. */
const SUMMARY_SHOWN_MAX = 3;
/** Times must ascend: a step ends so long before the next. */
const STEP_GAP_SECONDS = 1e-4;
/** All cursors of a page move together. */
const SYNC_KEY = 'svcnet';

export class TimeChart {
  readonly root: HTMLElement;
  #data: TimeChartData;
  #frame: ChartFrame;
  readonly #legend = element('ul', { class: 'legend' });
  readonly #plot = element('div', {
    class: 'plot',
    role: 'slider',
    tabindex: 0,
    'aria-orientation': 'horizontal',
  });
  readonly #note = element('p', { class: 'chart-summary' });
  readonly #summary = element('p', { class: 'chart-summary' });
  readonly #table: ChartTable;
  readonly #hidden = new Set<string>();
  readonly #observer: ResizeObserver;
  readonly #endTheme: () => void;
  #chart: uPlot | undefined;

  /** Drawn as soon as `root` is on the page and has a width. */
  constructor(data: TimeChartData, frame: ChartFrame) {
    this.#data = data;
    this.#frame = frame;
    this.#table = new ChartTable(data, frame.originMs);
    this.root = element(
      'figure',
      { class: 'time-chart' },
      element('figcaption', {}, element('span', { class: 'chart-title' }, data.title), this.#legend),
      this.#plot,
      this.#note,
      this.#summary,
      this.#table.root,
    );
    this.#plot.addEventListener('keydown', (event) => this.#onKey(event));
    this.#plot.addEventListener('blur', () => this.#chart?.setCursor({ left: -10, top: -10 }));
    this.#observer = new ResizeObserver(() => this.#resize());
    this.#observer.observe(this.#plot);
    this.#endTheme = onThemeChange(() => this.#draw());
    this.#describe();
  }

  /** Keeps the drawn chart if the series are the same. */
  update(data: TimeChartData, frame: ChartFrame): void {
    const labels = ({ series }: TimeChartData) => series.map(({ label }) => label).join('\n');
    const same = labels(data) === labels(this.#data);
    this.#data = data;
    this.#frame = frame;
    this.#table.show(data, frame.originMs);
    if (!same || this.#chart === undefined) {
      this.#draw();
      return;
    }
    this.#chart.setData(this.#columns(), false);
    this.#chart.setScale('x', this.#span());
    this.#describe();
  }

  destroy(): void {
    this.#observer.disconnect();
    this.#endTheme();
    this.#chart?.destroy();
    this.root.remove();
  }

  #draw(): void {
    const width = this.#plot.clientWidth;
    this.#describe();
    if (width === 0) return;
    this.#chart?.destroy();
    this.#chart = new uPlot(this.#options(width), this.#columns(), this.#plot);
    this.#chart.setScale('x', this.#span());
    this.#drawLegend();
  }

  #resize(): void {
    const width = this.#plot.clientWidth;
    if (width === 0 || width === this.#chart?.width) return;
    if (this.#chart === undefined) this.#draw();
    else this.#chart.setSize({ width, height: HEIGHT_PX });
  }

  #options(width: number): uPlot.Options {
    const colour = (variable: string) => themeColour(this.root, variable);
    const { unit, series, steps = false } = this.#data;
    const grid = { stroke: colour('--grid'), width: 1 };
    const font = `12px ${getComputedStyle(this.root).fontFamily}`;
    const axis = { stroke: colour('--muted'), grid, ticks: grid, font };
    return {
      width,
      height: HEIGHT_PX,
      padding: [8, RIGHT_PX, 0, 0],
      legend: { show: false },
      cursor: { sync: { key: SYNC_KEY }, drag: { x: true, y: false }, points: { size: 7 }, y: false },
      scales: {
        x: { time: false, auto: false },
        // From zero: tenths of a ms must not look large.
        y:
          this.#data.scale === 'log'
            ? { distr: LOGARITHMIC, log: 10 }
            : { range: (_, _min, max) => [0, max > 0 ? max * 1.08 : 1] },
      },
      axes: [
        {
          ...axis,
          size: 30,
          space: 70,
          values: (_, splits) => splits.map((at) => clock(at * 1000, needsTenths(splits) ? 1 : 0)),
        },
        {
          ...axis,
          size: AXIS_PX,
          space: 34,
          // Most logarithmic splits have no label.
          values: (_, splits) => splits.map((value) => (value === null ? '' : quantity(value, unit))),
        },
      ],
      series: [
        {},
        ...series.map((one, i): uPlot.Series => {
          const stroke = colour(`--series-${colourOf(one, i)}`);
          return {
            label: one.label,
            stroke,
            width: one.dashed === true ? 1.5 : 2,
            ...(one.dashed === true ? { dash: [5, 4] } : {}),
            show: !this.#hidden.has(one.label),
            spanGaps: false,
            points: { size: 6, stroke, fill: stroke, ...(steps ? { show: false } : {}) },
          };
        }),
      ],
      hooks: {
        drawClear: [(chart) => this.#drawMarks(chart)],
        setCursor: [(chart) => this.#onCursor(chart)],
      },
    };
  }

  /** Behind the lines: bands for faults, lines for incidents and phases. */
  #drawMarks(chart: uPlot): void {
    const { ctx, bbox } = chart;
    const { originMs, toMs, marks } = this.#frame;
    const place = (ms: number) => chart.valToPos((ms - originMs) / 1000, 'x', true);
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    // One path: the shades of overlapping faults do not add up to a wall.
    ctx.beginPath();
    for (const { kind, fromMs, toMs: until = toMs } of marks) {
      const left = place(fromMs);
      const width = Math.max(place(until) - left, 2 * devicePixelRatio);
      if (kind === 'fault') ctx.rect(left, bbox.top, width, bbox.height);
    }
    ctx.fillStyle = themeColour(this.root, '--fault-band');
    ctx.fill();
    for (const mark of marks) {
      const left = place(mark.fromMs);
      ctx.strokeStyle = themeColour(this.root, MARK_COLOURS[mark.kind]);
      ctx.lineWidth = (mark.kind === 'phase' ? 1 : 2) * devicePixelRatio;
      ctx.setLineDash(mark.kind === 'phase' ? [2 * devicePixelRatio, 4 * devicePixelRatio] : []);
      ctx.beginPath();
      ctx.moveTo(left, bbox.top);
      ctx.lineTo(left, bbox.top + bbox.height);
      ctx.stroke();
    }
    ctx.restore();
  }

  /** A step has two points: start, and just before the next. */
  #columns(): uPlot.AlignedData {
    const { timesMs, series, steps = false } = this.#data;
    const seconds = timesMs.map((ms) => (ms - this.#frame.originMs) / 1000);
    if (!steps) return [seconds, ...series.map(({ values }) => [...values])];
    const ends = seconds.map((from, i) => Math.max(from, (seconds[i + 1] ?? from) - STEP_GAP_SECONDS));
    return [
      seconds.flatMap((from, i) => [from, ends[i] as number]),
      ...series.map(({ values }) => values.flatMap((value) => [value, value])),
    ];
  }

  #valueIndex(point: number): number {
    return this.#data.steps === true ? Math.floor(point / 2) : point;
  }

  #span(): { min: number; max: number } {
    const { originMs, fromMs, toMs } = this.#frame;
    return { min: (fromMs - originMs) / 1000, max: (toMs - originMs) / 1000 };
  }

  #drawLegend(): void {
    const items = this.#data.series.map((one, i) => {
      const button = element(
        'button',
        { type: 'button', 'aria-pressed': String(!this.#hidden.has(one.label)) },
        element('span', {
          class: one.dashed === true ? 'swatch dashed' : 'swatch',
          style: `--swatch: var(--series-${colourOf(one, i)})`,
        }),
        element('span', {}, one.label),
        element('span', { class: 'value' }),
      );
      button.addEventListener('click', () => {
        const hide = !this.#hidden.has(one.label);
        if (hide) this.#hidden.add(one.label);
        else this.#hidden.delete(one.label);
        button.setAttribute('aria-pressed', String(!hide));
        this.#chart?.setSeries(i + 1, { show: !hide });
      });
      return element('li', {}, button);
    });
    this.#legend.replaceChildren(...items);
  }

  #onCursor(chart: uPlot): void {
    const { idx: point } = chart.cursor;
    const idx = point === null || point === undefined ? undefined : this.#valueIndex(point);
    const values = [...this.#legend.querySelectorAll('.value')];
    for (const [i, one] of this.#data.series.entries()) {
      const text = idx === undefined ? '' : quantity(one.values[idx], this.#data.unit);
      const place = values[i];
      if (place !== undefined) place.textContent = text;
    }
    if (idx !== undefined) this.#say(idx);
  }

  #onKey(event: KeyboardEvent): void {
    const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 }[
      event.key
    ];
    const last = this.#data.timesMs.length - 1;
    const now = Number(this.#plot.getAttribute('aria-valuenow') ?? 0);
    const index =
      event.key === 'Home' ? 0 : event.key === 'End' ? last : step === undefined ? undefined : now + step;
    if (index === undefined || this.#chart === undefined) return;
    event.preventDefault();
    const at = Math.min(last, Math.max(0, index));
    const seconds = ((this.#data.timesMs[at] ?? 0) - this.#frame.originMs) / 1000;
    this.#chart.setCursor({ left: this.#chart.valToPos(seconds, 'x') + 0.5, top: 10 });
    this.#say(at);
  }

  /** Announced to screen readers. */
  #say(index: number): void {
    const { timesMs, series, unit } = this.#data;
    const at = clock((timesMs[index] ?? 0) - this.#frame.originMs, 1);
    const values = series.map(({ label, values }) => `${label} ${quantity(values[index], unit)}`);
    this.#plot.setAttribute('aria-valuenow', String(index));
    this.#plot.setAttribute('aria-valuetext', `at ${at}: ${values.join(', ')}`);
  }

  #describe(): void {
    const { title, timesMs } = this.#data;
    this.#plot.setAttribute('aria-label', `${title} over time; arrow keys move through it`);
    this.#plot.setAttribute('aria-valuemin', '0');
    this.#plot.setAttribute('aria-valuemax', String(Math.max(0, timesMs.length - 1)));
    if (!this.#plot.hasAttribute('aria-valuenow')) this.#say(0);
    this.#summary.textContent = chartSummary(this.#data);
    this.#note.textContent = this.#data.note ?? '';
    this.#summary.classList.toggle('hidden', this.#data.series.length > SUMMARY_SHOWN_MAX);
  }
}

const MARK_COLOURS = { phase: '--phase-line', fault: '--fault-line', incident: '--bad' } as const;

function colourOf(series: TimeSeries, index: number): number {
  return (((series.colour ?? index + 1) - 1) % COLOURS) + 1;
}

function needsTenths(splits: readonly number[]): boolean {
  return splits.some((at) => !Number.isInteger(at));
}
