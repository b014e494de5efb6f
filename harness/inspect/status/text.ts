import { inLine } from '../../base/foreign-text.ts';
import { grouped, plural, tokenColumn } from '../../base/format.ts';
import { renderTable, wrap } from '../../base/terminal/table.ts';
import { asTyped } from '../../base/typed.ts';
import { programNames } from '../../cluster/nodes/program-names.ts';
import { isOurs } from '../../flavours/flavour.ts';
import { type ConsoleStyle, paint } from '../../report/console.ts';
import type { DebtStatus, NodeStatus, StatusDocument } from './document.ts';

const VERSION_MAX = 20;
/** Largest first; the JSON document has all. */
const DEBTS_SHOWN = 10;

const COLUMNS = [
  { title: 'name', rank: 0 },
  { title: 'flavour', rank: 1 },
  { title: 'state', rank: 0 },
  { title: 'peers', rank: 0, align: 'right' },
  { title: 'depth', rank: 1, align: 'right' },
  { title: 'reserve', rank: 2, align: 'right' },
  { title: 'block', rank: 3, align: 'right' },
  { title: 'slowest link', rank: 4 },
] as const;

const MONEY_COLUMNS = [
  { title: 'tokens', rank: 0 },
  { title: 'cheques sent', rank: 0, align: 'right' },
  { title: 'received', rank: 0, align: 'right' },
  { title: 'in chequebook', rank: 1, align: 'right' },
  { title: 'promised', rank: 2, align: 'right' },
] as const;

const DEBT_COLUMNS = [
  { title: 'debts', rank: 0 },
  { title: 'accounting units', rank: 0, align: 'right' },
  { title: '', rank: 0 },
] as const;

export interface StatusText {
  readonly head: readonly string[];
  readonly tables: readonly string[];
  readonly verdict: readonly string[];
}

export function statusText(
  document: StatusDocument,
  { style, width }: { readonly style: ConsoleStyle; readonly width: number },
): StatusText {
  const { name, chain, nodes, debts, problems } = document;
  const notes = notesOf(document);
  const calm =
    notes.length === 0
      ? [paint(style, 'green', '  all is well')]
      : wrap(`  no problem, but ${notes.join('; ')}`, width, '    ');
  const verdict =
    problems.length === 0
      ? calm
      : problems.flatMap((problem) =>
          wrap(`  ✖ ${asTyped(problem)}`, width, '    ').map((line) => paint(style, 'red', line)),
        );
  return {
    head: [`  ${paint(style, 'bold', name)}   chain at block ${chain.height ?? '?'}`],
    tables: [
      ...renderTable(COLUMNS, nodeRows(nodes), width).lines,
      ...moneyLines(nodes, width),
      ...debtLines(debts, width),
    ],
    verdict,
  };
}

function notesOf({ nodes, debts, faults, unlinked }: StatusDocument): string[] {
  const apart = debts.filter(({ creditorCounts }) => creditorCounts !== undefined).length;
  return [
    ...(faults.length === 0 ? [] : [`${plural(faults.length, 'fault')} active`]),
    ...nodes.flatMap(({ name, unheard }) =>
      unheard.length === 0 ? [] : [`${name} has pinged ${unheard.join(', ')} without an answer`],
    ),
    ...unlinked.map((groups) => {
      const named = groups.map(
        ({ flavour, version, names }) => `${flavour} ${shortVersion(version)} (${names.join(', ')})`,
      );
      return `no link between ${named.join(' and ')}`;
    }),
    ...(apart === 0 ? [] : [`two nodes disagree on ${plural(apart, 'debt')}`]),
  ];
}

export function textLines({ head, tables, verdict }: StatusText): string[] {
  return [...head, ...tables, ...verdict];
}

export function fitted(page: StatusText, rows: number): string[] {
  const { head, tables, verdict } = page;
  const room = Math.max(rows - head.length, 0);
  const verdictRoom = Math.max(room - tables.length, Math.ceil(room / 2));
  const verdictLines = atMostLines(verdict, verdictRoom);
  return [...head, ...atMostLines(tables, room - verdictLines.length), ...verdictLines].slice(0, rows);
}

function atMostLines(lines: readonly string[], room: number): readonly string[] {
  if (lines.length <= room) return lines;
  const shown = lines.slice(0, Math.max(room - 1, 0));
  return room === 0 ? [] : [...shown, `  … ${plural(lines.length - shown.length, 'more line')}`];
}

function nodeRows(nodes: readonly NodeStatus[]): string[][] {
  const program = programNames(nodes);
  return nodes.map((node) => nodeRow(node, program(node)));
}

function nodeRow(node: NodeStatus, program: string | undefined): string[] {
  return [
    node.name,
    kindText(node, program),
    node.answers === false ? 'no answer' : node.state,
    String(node.peers ?? '-'),
    String(node.depth ?? '-'),
    node.reserve === null ? '-' : plural(node.reserve, 'chunk'),
    String(node.block ?? '-'),
    slowestText(node),
  ];
}

/** `bee 2.8.1 light`, `svc (changed-node)`; nodes of this package have the asking program's version. */
function kindText({ flavour, mode, version, binary }: NodeStatus, program: string | undefined): string {
  const isOwn = isOurs({ flavour }) && binary === undefined;
  const shown = version === undefined || isOwn ? [] : [shortVersion(version)];
  const told = program === undefined ? [] : [`(${program})`];
  return [flavour, ...shown, ...(mode === 'full' ? [] : [mode]), ...told].join(' ');
}

/** `2.8.1` of `2.8.1-6e8a2e2`, `2.8.2-rc1` of `2.8.2-rc1-6e8a2e2`. */
export function shortVersion(version: string): string {
  return inLine(version.replace(/(?<=\d)-(?!(?:alpha|beta|rc)\.?\d).*$/, ''), VERSION_MAX);
}

function slowestText({ unheard, slowest }: NodeStatus): string {
  if (unheard[0] !== undefined) return `${unheard[0]} no answer`;
  return slowest === undefined ? '-' : `${slowest.peer} ${slowest.latencyMs.toFixed(1)} ms`;
}

function moneyLines(nodes: readonly NodeStatus[], width: number): string[] {
  const paid = nodes.flatMap(({ name, cheques, chequebook }) =>
    cheques === undefined ? [] : [{ name, ...cheques, ...chequebook }],
  );
  if (paid.every(({ sent, received }) => sent === '0' && received === '0')) return [];
  const column = (of: (row: (typeof paid)[number]) => bigint) => tokenColumn(paid.map(of));
  const columns = [
    column(({ sent }) => BigInt(sent)),
    column(({ received }) => BigInt(received)),
    column(({ total = '0' }) => BigInt(total)),
    column(({ total = '0', available = '0' }) => BigInt(total) - BigInt(available)),
  ];
  const rows = paid.map(({ name }, i) => [name, ...columns.map((texts) => texts[i] ?? '')]);
  return ['', ...renderTable(MONEY_COLUMNS, rows, width).lines];
}

function debtLines(debts: readonly DebtStatus[], width: number): string[] {
  if (debts.length === 0) return [];
  const rows = debts
    .slice(0, DEBTS_SHOWN)
    .map(({ debtor, creditor, units, creditorCounts }) => [
      `${debtor} owes ${creditor}`,
      grouped(units),
      creditorCounts === undefined ? '' : `${creditor} says it is ${grouped(creditorCounts)}`,
    ]);
  const more = debts.length - rows.length;
  return [
    '',
    ...renderTable(DEBT_COLUMNS, rows, width).lines,
    ...(more === 0 ? [] : [`  and ${plural(more, 'smaller debt')} (--json has them all)`]),
    '',
  ];
}
