/** Text stays text, whatever a node said. */
import { seenIn } from '../../base/foreign-text.ts';

export class Html {
  readonly markup: string;

  constructor(markup: string) {
    this.markup = markup;
  }
}

type Part = Html | string | number | undefined | false | readonly Part[];

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes texts and numbers, joins lists; `undefined` and `false` are nothing. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(
    strings.reduce((all, text, i) => all + text + (i < parts.length ? markupOf(parts[i]) : ''), ''),
  );
}

function markupOf(part: Part): string {
  if (part === undefined || part === false) return '';
  if (part instanceof Html) return part.markup;
  if (typeof part === 'object') return part.map(markupOf).join('');
  return seenIn(String(part)).replaceAll(/[&<>"']/g, (character) => ENTITIES[character] as string);
}

/** Nothing in it can end its script element. */
export function embeddedJson(id: string, value: unknown): Html {
  const json = JSON.stringify(value, seenValue).replaceAll('<', '\\u003c');
  return new Html(`<script type="application/json" id="${id}">${json}</script>`);
}

function seenValue(_key: string, value: unknown): unknown {
  return typeof value === 'string' ? seenIn(value) : value;
}

export interface Column {
  readonly title: string;
  /** Aligned below each other. */
  readonly number?: boolean;
}

/** Not wrapped: a wrapped cell is harder to read than a wider table is to scroll. */
const SHORT_MAX = 24;

function isShort(cell: Part): boolean {
  return typeof cell === 'string' && cell.length <= SHORT_MAX;
}

/**
 * Scrolls by itself when wider than the page. A row's first cell is its heading.
 * @param name label for screen readers
 */
export function table(name: string, columns: readonly Column[], rows: readonly (readonly Part[])[]): Html {
  const kind = ({ number }: Column) => (number === true ? 'number' : 'text');
  return html`<div class="scroll" role="region" tabindex="0" aria-label="${name}"><table>
<caption class="hidden">${name}</caption>
<thead><tr>${columns.map((column) => html`<th scope="col" class="${kind(column)}">${column.title}</th>`)}</tr></thead>
<tbody>${rows.map(
    (cells) =>
      html`<tr>${columns.map((column, i) =>
        i === 0
          ? html`<th scope="row" class="${kind(column)}${isShort(cells[i]) && ' short'}">${cells[i]}</th>`
          : html`<td class="${kind(column)}">${cells[i]}</td>`,
      )}</tr>
`,
  )}</tbody></table></div>`;
}
