import { inLine } from '../../base/foreign-text.ts';
import { grouped } from '../../base/format.ts';
import { shellWord, typed } from '../../base/typed.ts';
import { faultsOf, type TapEvent } from '../../places/links/tap/events.ts';
import { clock } from '../../web/base/format.ts';
import type { MessageSummary, UnreadableMessages } from '../messages/summary.ts';
import { type Html, html, table } from './html.ts';

/** Characters. */
const CELL_MAX = 100;
const COLUMNS = [
  { title: 'time' },
  { title: 'from' },
  { title: 'to' },
  { title: 'protocol' },
  { title: 'message' },
  { title: 'fault' },
];
const COUNT_COLUMNS = [{ title: 'protocol' }, { title: 'messages', number: true }];

export function messages(
  index: number,
  summary: MessageSummary | UnreadableMessages | undefined,
  { origin, folder }: { readonly origin: number; readonly folder: string },
): Html | undefined {
  if (summary === undefined) return undefined;
  const title = html`<h3 id="messages-${index}">Messages</h3>`;
  if ('unreadable' in summary) return html`${title}<p>They cannot be read: ${summary.unreadable}</p>`;
  const { counts, touched, touchedInAll } = summary;
  const rows = counts.map(([protocol, count]) => [protocol, grouped(count)]);
  const part =
    touchedInAll > touched.length && html`: the first ${touched.length} of ${grouped(touchedInAll)}`;
  return html`${title}
<p class="muted">All of them: <code>${typed(`tap --read ${shellWord(folder)}`)}</code></p>
${rows.length === 0 ? html`<p>The nodes sent each other none.</p>` : table('Messages by protocol', COUNT_COLUMNS, rows)}
${
  touched.length > 0 &&
  html`<p>Messages that faults have touched${part}</p>
${table(
  'Messages that faults have touched',
  COLUMNS,
  touched.map((event) => touchedRow(event, origin)),
)}`
}`;
}

function touchedRow(event: TapEvent, origin: number) {
  const { at, from, to, protocol, name } = event;
  const texts = [from, to, protocol, name, faultsOf(event).join(', ')];
  return [clock(at - origin), ...texts.map((text) => inLine(text, CELL_MAX))];
}
