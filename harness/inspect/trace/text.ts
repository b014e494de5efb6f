import { formatMs, plural } from '../../base/format.ts';
import { wrap } from '../../base/terminal/table.ts';
import { type ConsoleStyle, paint } from '../../report/console.ts';
import { clock } from '../../web/base/format.ts';
import type { Belonging, ChunkDocument, TraceDocument } from './document.ts';
import type { Fate, Wipe } from './fate.ts';
import type { RecordedTrace } from './recorded.ts';
import type { Attempt, Hop, Moment, Route } from './route.ts';

export interface TextStyle {
  readonly style: ConsoleStyle;
  /** Columns. */
  readonly width: number;
}

const LABEL_WIDTH = 12;
const TIME_WIDTH = 11;
const TEXT_WIDTH_MIN = 30;
const ADDRESS_SHOWN = 16;
const MISSING_SHOWN = 10;
const INDENT = '  ';

interface Line {
  readonly at: number;
  readonly text: string;
  readonly ms?: number | undefined;
  readonly bad?: boolean;
}

export function traceText(document: TraceDocument, page: TextStyle): string[] {
  const { content, chunks, notes, began } = document;
  const lines = [
    ...wrap(`${INDENT}${document.reference}`, page.width, INDENT).map((line) =>
      paint(page.style, 'bold', line),
    ),
    ...(document.encrypted ? [`${INDENT}encrypted: the second half is the key of the root`] : []),
    ...contentLines(content, page),
    ...chunks.flatMap((chunk) => [
      '',
      ...chunkLines(chunk, { titled: chunks.length > 1 || content.chunks > 1, began }, page),
    ]),
  ];
  const remarks = notes.flatMap((note) => wrap(`${INDENT}! ${note}`, page.width, `${INDENT}  `));
  return remarks.length === 0
    ? lines
    : [...lines, '', ...remarks.map((line) => paint(page.style, 'dim', line))];
}

export function recordedText({ chunk, clusters, recorded, notes }: RecordedTrace, page: TextStyle): string[] {
  const remarks = notes.flatMap((note) => wrap(`${INDENT}! ${note}`, page.width, `${INDENT}  `));
  return [
    paint(page.style, 'bold', `${INDENT}${chunk}`),
    ...(clusters.length === 0 ? labelled('route', 'no message of the record is about it', page) : []),
    ...clusters.flatMap(({ cluster, began, route, fate }) => [
      ...(recorded.length > 1 ? ['', ...labelled('cluster', cluster, page)] : []),
      ...fateLines(fate, page),
      ...routeLines(route, began, page, fate.wipes),
    ]),
    ...(remarks.length === 0 ? [] : ['', ...remarks.map((line) => paint(page.style, 'dim', line))]),
  ];
}

function fateLines({ wipes, holders, isLost }: Fate, page: TextStyle): string[] {
  if (isLost) return labelled('held by', 'nobody: the run looked for it on every node', page, true);
  if (holders.length > 0) return labelled('held by', `${holders.join(', ')}, as the messages tell`, page);
  if (wipes.length === 0) return [];
  return labelled('held by', 'nobody: all nodes that took it have lost their data since', page, true);
}

function contentLines(content: TraceDocument['content'], page: TextStyle): string[] {
  const { chunks, found, missing, unread, copies, slowest } = content;
  if (chunks <= 1 && missing.length === 0 && unread === null) return [];
  const histogram = copies
    .map(
      ({ copies: count, chunks: held }) =>
        `${plural(held, 'chunk')} ${count === 0 ? 'nowhere' : `on ${plural(count, 'node')}`}`,
    )
    .join(', ');
  const shown = missing.slice(0, MISSING_SHOWN);
  return [
    ...labelled('chunks', `${found} of ${chunks} found`, page, found < chunks),
    ...labelled('copies', histogram, page),
    ...shown.flatMap((chunk) => labelled('missing', chunk, page, true)),
    ...(missing.length > shown.length
      ? labelled('', `and ${missing.length - shown.length} more (--json has them all)`, page, true)
      : []),
    ...(unread === null ? [] : labelled('unread', `there may be more chunks: ${unread}`, page, true)),
    ...slowest.flatMap(({ chunk, node, ms }) =>
      labelled('slowest', `${short(chunk)} pushed by ${node} in ${formatMs(ms)}`, page),
    ),
  ];
}

/** @param began its cluster, ms since the epoch */
export function chunkText(chunk: ChunkDocument, began: number, page: TextStyle): string[] {
  return chunkLines(chunk, { titled: true, began }, page);
}

function chunkLines(
  chunk: ChunkDocument,
  { titled, began }: { readonly titled: boolean; readonly began: number },
  page: TextStyle,
): string[] {
  const { holders, belongs, route } = chunk;
  return [
    ...(titled ? labelled('chunk', chunk.chunk, page) : []),
    ...labelled('held by', holders.length === 0 ? 'nobody' : holders.join(', '), page, holders.length === 0),
    ...belongs.flatMap((one) =>
      labelled(one === belongs[0] ? 'belongs to' : '', belongingText(one), page, one.holds === false),
    ),
    ...routeLines(route, began, page),
  ];
}

function belongingText({ node, proximityOrder, closest, holds }: Belonging): string {
  const mark = holds === null ? '?' : holds ? '✔' : '✖';
  const presence = holds === null ? ', cannot be asked' : holds ? '' : ', does not hold it';
  return `${mark} ${node}  proximity order ${proximityOrder}${closest ? ', closest' : ''}${presence}`;
}

/** Sections as they began; pushes and requests ordered by cause. @param wipes of nodes that had it */
function routeLines(route: Route, began: number, page: TextStyle, wipes: readonly Wipe[] = []): string[] {
  const sections: Line[][] = [
    ...route.uploads.map((moment) => [momentLine(moment)]),
    ...route.pushes.map((hop) => hopLines(hop, '')),
    ...route.pulls.map((moment) => [momentLine(moment)]),
    ...route.kept.map((moment) => [momentLine(moment)]),
    ...route.requests.map((hop) => hopLines(hop, '')),
    ...wipes.map(({ node, at, text }) => [{ at, bad: true, text: `${node} ✖ lost its data: fault ${text}` }]),
  ].toSorted((a, b) => (a[0]?.at ?? 0) - (b[0]?.at ?? 0));
  const lines = sections.flat();
  if (lines.length === 0) return labelled('route', 'no node reports it', page);
  const textWidth = Math.max(
    TEXT_WIDTH_MIN,
    Math.min(
      page.width - INDENT.length - 2 * TIME_WIDTH,
      Math.max(...lines.map(({ text }) => text.length)) + 1,
    ),
  );
  const title = `${INDENT}${'at'.padStart(TIME_WIDTH)}  ${'route'.padEnd(textWidth)}${'took'.padStart(TIME_WIDTH - 2)}`;
  return [
    '',
    paint(page.style, 'dim', title),
    ...lines.flatMap(({ at, text, ms, bad }) => {
      const time = clock(at - began).padStart(TIME_WIDTH);
      const took = ms === undefined ? '' : formatMs(ms).padStart(TIME_WIDTH - 2);
      const tree = /^[│├└─ ]*(?:\d+ )?/.exec(text)?.[0].length ?? 0;
      const [first = '', ...rest] = wrap(text, textWidth - 1, ' '.repeat(Math.min(tree + 2, textWidth / 2)));
      const shown = [
        `${INDENT}${time}  ${first.padEnd(textWidth)}${took}`.trimEnd(),
        ...rest.map((line) => `${INDENT}${' '.repeat(TIME_WIDTH)}  ${line}`),
      ];
      return bad === true ? shown.map((line) => paint(page.style, 'red', line)) : shown;
    }),
  ];
}

function momentLine({ node, at, kind, peer, detail }: Moment): Line {
  const event = MOMENTS[kind]?.(peer ?? '') ?? kind;
  return { at, text: `${node} ${event}${detail === undefined ? '' : ` (${detail})`}` };
}

const MOMENTS: Partial<Record<Moment['kind'], (peer: string) => string>> = {
  uploaded: () => 'took it from a client',
  queued: () => 'queued it to be pushed',
  pulled: (peer) => `pulled it from ${peer}`,
  stored: () => 'stored it in its reserve',
  cached: () => 'cached it',
  replaced: () => 'dropped it: a newer stamp has its index',
  evicted: () => 'dropped it from its reserve',
  uncached: () => 'dropped it from its cache',
  deleted: () => 'deleted its bytes',
};

function hopLines(hop: Hop, lead: string, prefix = ''): Line[] {
  const first: Line = { at: hop.at, ms: hop.ms, bad: BAD.has(hop.outcome), text: `${prefix}${hopText(hop)}` };
  const below = hop.attempts.flatMap((attempt, i) => {
    const last = i === hop.attempts.length - 1;
    return attemptLines(attempt, {
      branch: `${lead}${last ? '└─ ' : '├─ '}`,
      lead: `${lead}${last ? '   ' : '│  '}`,
    });
  });
  return [first, ...below];
}

const BAD: ReadonlySet<string> = new Set(['not-synced', 'refused', 'not-delivered']);

function hopText(hop: Hop): string {
  const { node, from, outcome, isStored = false, storer, detail, noCredit } = hop;
  const credit = noCredit.length === 0 ? '' : `, had no credit with ${noCredit.join(', ')}`;
  const why = detail === undefined ? '' : `: ${detail}`;
  const sender = from === undefined ? '' : ` from ${from}`;
  switch (outcome) {
    case 'synced':
      return `${node} pushed it, receipt of ${storer}${credit}`;
    case 'kept':
      return `${node} pushed it, but no other node takes it: kept here${credit}`;
    case 'not-synced':
      return `${node} ✖ push failed${why}${credit}`;
    case 'signed':
      return `${node} got it${sender}${isStored ? ', stored it' : ''} and signed the receipt`;
    case 'forwarded':
      return `${node} got it${sender} and passed it on${credit}`;
    case 'refused':
      return `${node} ✖ refused it${sender}${why}${credit}`;
    case 'delivered':
      return from === undefined
        ? `${node} asked the network for it${credit}`
        : `${node} gave it to ${from}${detail === undefined ? '' : `, ${detail}`}${credit}`;
    case 'not-delivered':
      return `${node} ✖ did not get it${from === undefined ? '' : ` for ${from}`}${why}${credit}`;
    case 'silent':
      return `${node} got it${sender} and reports nothing; others report:`;
    default:
      return `${node} has it${sender} and has reported no outcome${credit}`;
  }
}

function attemptLines(
  { number, peer, at, ms, outcome, detail, hop }: Attempt,
  { branch, lead }: { readonly branch: string; readonly lead: string },
): Line[] {
  // Its duration is that seen by the asking node.
  if (hop !== undefined && outcome !== 'failed') {
    return hopLines({ ...hop, at, ms }, lead, `${branch}${number} `);
  }
  const isTold = hop !== undefined && tellsTheSame(hop, detail);
  const reason = detail ?? (isTold ? hop.detail : undefined);
  const why = reason === undefined ? '' : `: ${reason}`;
  const outcomeText =
    outcome === 'failed'
      ? `✖ failed${why}`
      : outcome === 'done'
        ? 'answered, and reports no more'
        : 'has not answered';
  const line: Line = { at, ms, bad: outcome === 'failed', text: `${branch}${number} ${peer} ${outcomeText}` };
  if (hop === undefined) return [line];
  return [line, ...(isTold ? hopLines(hop, lead).slice(1) : hopLines(hop, `${lead}   `, `${lead}└─ `))];
}

/** Whether a node says of its failure only what the one that asked it has seen. */
function tellsTheSame({ outcome, detail, noCredit }: Hop, seen: string | undefined): boolean {
  const isNew = detail !== undefined && seen !== undefined && !seen.includes(detail) && detail !== seen;
  return BAD.has(outcome) && noCredit.length === 0 && !isNew;
}

function labelled(label: string, text: string, { style, width }: TextStyle, bad = false): string[] {
  const indent = ' '.repeat(INDENT.length + LABEL_WIDTH);
  const lines = wrap(`${INDENT}${label.padEnd(LABEL_WIDTH)}${text}`, width, indent);
  return bad ? lines.map((line) => paint(style, 'red', line)) : lines;
}

function short(address: string): string {
  return `${address.slice(0, ADDRESS_SHOWN)}…`;
}
