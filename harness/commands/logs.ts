import { logEntry, logValue } from '../base/logs/log-entry.ts';
import { clip, wrap } from '../base/terminal/table.ts';
import { paint } from '../report/console.ts';
import type { ClusterFlags, CommandContext } from './context.ts';
import { onCluster } from './on-cluster.ts';

/** Indentation of wrapped lines. */
const INDENT = '    ';

export interface LogsFlags extends ClusterFlags {
  readonly follow?: boolean;
  readonly lines: number;
}

/** @param part name of a node, or `chain` */
export async function logs(part: string, flags: LogsFlags, context: CommandContext): Promise<void> {
  const { name, log } = await onCluster(flags, context, (cluster) => ({
    name: cluster.name,
    log: cluster.logOf(part),
  }));
  if (context.json && flags.follow !== true) {
    const lines = (await log.tail(flags.lines)).map(logValue);
    context.out(`${JSON.stringify({ name, node: part, log: log.where, lines }, null, 2)}\n`);
    return;
  }
  // With --json, one document per line, as in the log.
  const show = (line: string) =>
    context.out(`${context.json ? JSON.stringify(logValue(line)) : forPeople(line, context).join('\n')}\n`);
  if (!context.json && (await log.tail(1)).length === 0)
    context.note(`  ${part} has logged nothing yet: ${log.where}\n`);
  const lines = flags.follow === true ? log.follow(context.signal, flags.lines) : await log.tail(flags.lines);
  for await (const line of lines) show(line);
}

/** `12:30:01.123 warn  pushsync  receipt is shallow  po=3 peer=…`. Cut at the width, except warnings and errors. */
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
