import { HarnessError } from '../base/errors.ts';
import { suggestion } from '../base/format.ts';
import { fileLog, type PartLog } from '../base/logs/file-log.ts';
import { logEntry, logValue } from '../base/logs/log-entry.ts';
import { expectInside } from '../base/own-folder.ts';
import { clip, wrap } from '../base/terminal/table.ts';
import { isElsewhere } from '../cluster/lifecycle/drivers.ts';
import { type ClusterRecord, clusterFolder, findCluster, whyNotOurs } from '../cluster/state/state.ts';
import { DRIVER_FACTS } from '../places/facts.ts';
import { paint } from '../report/console.ts';
import type { ClusterFlags, CommandContext } from './context.ts';
import { onCluster } from './on-cluster.ts';

const INDENT = '    ';

interface LogsFlags extends ClusterFlags {
  readonly follow?: boolean;
  readonly lines: number;
}

interface Part {
  readonly part: string;
  readonly log: PartLog;
}

/** @param named nodes, `chain`, `link-proxy`; none: all nodes */
export async function logs(
  named: readonly string[],
  { follow, lines: limit, ...flags }: LogsFlags,
  context: CommandContext,
): Promise<void> {
  const record = findCluster(context.stateDir, flags.name);
  const areFiles =
    isElsewhere(record) ||
    (DRIVER_FACTS[record.driver].local && whyNotOurs(context.stateDir, record.name) !== undefined);
  const parts = !areFiles
    ? await onCluster(flags, context, (cluster) =>
        namesOf(named, cluster).map((part) => ({ part, log: cluster.logOf(part) })),
      )
    : filesOf(record, named, context);
  if (follow === true) return await followed(parts, limit, context);
  const tails = await Promise.all(parts.map(async ({ log }) => await log.tail(limit)));
  if (context.json) {
    const all = parts.map(({ part, log }, at) => ({
      node: part,
      log: log.where,
      lines: (tails[at] ?? []).map(logValue),
    }));
    context.out(`${JSON.stringify({ name: record.name, logs: all }, null, 2)}\n`);
    return;
  }
  await noteEmpty(parts, context);
  const show = printer(parts, context);
  for (const { part, line } of inOrder(parts.map(({ part }, at) => ({ part, lines: tails[at] ?? [] })))) {
    show(part, line);
  }
}

function namesOf(
  named: readonly string[],
  { nodes }: { readonly nodes: readonly { readonly name: string }[] },
): string[] {
  return named.length > 0 ? [...new Set(named)] : nodes.map(({ name }) => name);
}

/**
 * Of a cluster that another process simulates, or that cannot be asked.
 * @throws HarnessError `NODE_NOT_FOUND`, `STATE_INVALID` for a link out of its folder
 */
function filesOf(record: ClusterRecord, named: readonly string[], { stateDir }: CommandContext): Part[] {
  const folder = clusterFolder(stateDir, record.name);
  const known = [...record.nodes.map(({ name }) => name), 'chain'];
  return namesOf(named, record).map((part) => {
    if (!known.includes(part)) {
      throw new HarnessError(
        'NODE_NOT_FOUND',
        `no node '${part}'${suggestion(part, known)} (known: ${known.join(', ')})`,
      );
    }
    const path = folder.log(part);
    expectInside(folder.path, path);
    return { part, log: fileLog(path) };
  });
}

async function followed(parts: readonly Part[], limit: number, context: CommandContext): Promise<void> {
  if (!context.json) await noteEmpty(parts, context);
  const show = printer(parts, context);
  const failed = new AbortController();
  const signal = AbortSignal.any([context.signal, failed.signal]);
  try {
    await Promise.all(
      parts.map(async ({ part, log }) => {
        for await (const line of log.follow(signal, limit)) show(part, line);
      }),
    );
  } finally {
    failed.abort();
  }
}

async function noteEmpty(parts: readonly Part[], context: CommandContext): Promise<void> {
  const last = await Promise.all(parts.map(async ({ log }) => await log.tail(1)));
  for (const [at, { part, log }] of parts.entries()) {
    if (last[at]?.length === 0) context.note(`  ${part} has logged nothing yet: ${log.where}\n`);
  }
}

/** Times are written with `T` or, by a Bee, with a space; a line without one follows the line before it. */
function inOrder(logs: readonly { readonly part: string; readonly lines: readonly string[] }[]) {
  const all = logs.flatMap(({ part, lines }) => {
    let time = '';
    return lines.map((line) => {
      time = logEntry(line)?.time.replace(' ', 'T') ?? time;
      return { part, line, time };
    });
  });
  return logs.length === 1 ? all : all.toSorted((a, b) => (a.time < b.time ? -1 : Number(a.time > b.time)));
}

/** With --json it prints a document per line. Lines of several logs begin with their node. */
function printer(parts: readonly Part[], context: CommandContext): (part: string, line: string) => void {
  if (context.json) {
    return (node, line) => context.out(`${JSON.stringify({ node, line: logValue(line) })}\n`);
  }
  const names = parts.length === 1 ? 0 : Math.max(...parts.map(({ part }) => part.length)) + 2;
  const width = Math.max(context.width - names, 1);
  return (part, line) => {
    const head = part.padEnd(names).slice(0, names);
    for (const text of forPeople(line, { ...context, width })) context.out(`${head}${text}\n`);
  };
}

/** `12:30:01.123 warn pushsync receipt is shallow po=3 peer=…`; only warnings and errors are longer than the width. */
function forPeople(line: string, { style, width }: CommandContext): string[] {
  const entry = logEntry(line);
  if (entry === undefined) return line.startsWith('{') ? [clip(line, width)] : wrap(line, width, INDENT);
  const head = `${entry.time.slice(11, 23)} ${entry.level.padEnd(5)} ${entry.module.padEnd(12)} ${entry.message}`;
  const rest = Object.entries(entry.fields)
    .map(([name, value]) => `${name}=${shown(value)}`)
    .join(' ');
  const text = `${head}${rest === '' ? '' : `  ${rest}`}`;
  return entry.level === 'error' || entry.level === 'warn'
    ? wrap(text, width, INDENT).map((part) => paint(style, 'red', part))
    : [clip(text, width)];
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}
