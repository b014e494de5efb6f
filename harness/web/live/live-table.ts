/** Rows stay the same elements, to keep focus and selection. */
import { element } from '../base/dom.ts';

export interface Column {
  readonly title: string;
  readonly numeric?: boolean;
}

export interface TableRow {
  readonly key: string;
  /** One per column. */
  readonly cells: readonly string[];
  readonly bad?: boolean;
}

export class LiveTable {
  readonly root: HTMLElement;
  readonly #columns: readonly Column[];
  readonly #onOpen: ((key: string) => void) | undefined;
  readonly #body = element('tbody');
  readonly #rows = new Map<string, HTMLTableRowElement>();

  constructor(caption: string, columns: readonly Column[], onOpen?: (key: string) => void) {
    this.#columns = columns;
    this.#onOpen = onOpen;
    const head = columns.map(({ title, numeric }) =>
      element('th', { scope: 'col', class: numeric === true ? 'number' : undefined }, title),
    );
    const table = element(
      'table',
      {},
      element('caption', { class: 'hidden' }, caption),
      element('thead', {}, element('tr', {}, ...head)),
      this.#body,
    );
    this.root = element(
      'div',
      { class: 'scroll', role: 'region', tabindex: 0, 'aria-label': caption },
      table,
    );
  }

  show(rows: readonly TableRow[]): void {
    const wanted = new Set(rows.map(({ key }) => key));
    for (const [key, row] of this.#rows) {
      if (wanted.has(key)) continue;
      row.remove();
      this.#rows.delete(key);
    }
    for (const [place, { key, cells, bad = false }] of rows.entries()) {
      const row = this.#rows.get(key) ?? this.#make(key);
      if (this.#body.children[place] !== row)
        this.#body.insertBefore(row, this.#body.children[place] ?? null);
      row.classList.toggle('bad', bad);
      for (const [i, text] of cells.entries()) {
        const cell = row.cells[i]?.querySelector('button') ?? row.cells[i];
        if (cell !== undefined && cell.textContent !== text) cell.textContent = text;
      }
    }
  }

  #make(key: string): HTMLTableRowElement {
    const onOpen = this.#onOpen;
    const cells = this.#columns.map(({ numeric }, i) => {
      if (i > 0) return element('td', { class: numeric === true ? 'number' : undefined });
      if (onOpen === undefined) return element('th', { scope: 'row' });
      const button = element('button', { type: 'button', class: 'open', 'data-open': key });
      button.addEventListener('click', () => onOpen(key));
      return element('th', { scope: 'row' }, button);
    });
    const row = element('tr', {}, ...cells);
    this.#rows.set(key, row);
    return row;
  }
}
