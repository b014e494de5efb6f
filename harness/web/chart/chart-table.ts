/** A table for people who cannot see the canvas. Elements stay while values change, to keep focus and reading position. */
import { element } from '../base/dom.ts';
import { clock, quantity } from '../base/format.ts';
import type { TimeChartData } from './chart-data.ts';

const ROWS_MAX = 120;

export class ChartTable {
  readonly root = element('details', { class: 'chart-table' }, element('summary', {}, 'Values as a table'));
  readonly #caption = element('caption');
  readonly #head = element('tr');
  readonly #body = element('tbody');
  #data: TimeChartData;
  #originMs: number;

  constructor(data: TimeChartData, originMs: number) {
    this.#data = data;
    this.#originMs = originMs;
    const table = element('table', {}, this.#caption, element('thead', {}, this.#head), this.#body);
    const region = { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': `${data.title} as a table` };
    this.root.append(element('div', region, table));
    this.root.addEventListener('toggle', () => this.#fill());
  }

  show(data: TimeChartData, originMs: number): void {
    this.#data = data;
    this.#originMs = originMs;
    this.#fill();
  }

  #fill(): void {
    if (!this.root.open) return;
    const { title, timesMs, series, unit } = this.#data;
    const every = Math.max(1, Math.ceil(timesMs.length / ROWS_MAX));
    this.#caption.textContent = every === 1 ? title : `${title}, every ${every}th value`;
    write(this.#head, ['time', ...series.map(({ label }) => label)], { scope: 'col' });
    const places = timesMs.map((_, i) => i).filter((i) => i % every === 0);
    while (this.#body.rows.length > places.length) this.#body.deleteRow(-1);
    for (const [row, i] of places.entries()) {
      const time = clock((timesMs[i] as number) - this.#originMs, 1);
      const values = series.map((one) => quantity(one.values[i], unit));
      write(this.#body.rows[row] ?? this.#body.insertRow(), [time, ...values], { scope: 'row' });
    }
  }
}

function write(
  row: HTMLTableRowElement,
  texts: readonly string[],
  { scope }: { scope: 'col' | 'row' },
): void {
  while (row.cells.length > texts.length) row.deleteCell(-1);
  for (const [i, text] of texts.entries()) {
    const isHeading = scope === 'col' || i === 0;
    const cell = row.cells[i] ?? row.appendChild(isHeading ? element('th', { scope }) : element('td'));
    if (cell.textContent !== text) cell.textContent = text;
  }
}
