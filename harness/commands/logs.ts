/** `svcnet logs`: what a node, or the chain, has written. */
import { Cluster } from '../cluster.ts';
import { follow, tail } from '../logs.ts';
import { paint } from '../report/console.ts';
import { clusterFolder } from '../state.ts';
import { clip } from '../terminal/table.ts';
import type { ClusterFlags, CommandContext } from './context.ts';

export interface LogsFlags extends ClusterFlags {
  readonly follow?: boolean;
  readonly lines: number;
}

/** @param part name of a node, or `chain` */
export async function logs(part: string, flags: LogsFlags, context: CommandContext): Promise<void> {
  const cluster = Cluster.attach(flags.name, { stateDir: context.stateDir });
  const file =
    part === 'chain' ? clusterFolder(context.stateDir, cluster.name).log('chain') : cluster.node(part).log;
  await cluster.detach();
  const last = tail(file, flags.lines);
  if (context.json && flags.follow !== true) {
    context.out(
      `${JSON.stringify({ name: cluster.name, node: part, log: file, lines: last.map(parsed) }, null, 2)}\n`,
    );
    return;
  }
  // With --json a stream is one document per line, as the log itself is.
  const show = (line: string) =>
    context.out(`${context.json ? JSON.stringify(parsed(line)) : forPeople(line, context)}\n`);
  for (const line of last) show(line);
  if (flags.follow !== true) return;
  for await (const line of follow(file, context.signal)) show(line);
}

function parsed(line: string): unknown {
  if (!line.startsWith('{')) return line;
  try {
    return JSON.parse(line) as unknown;
  } catch (error) {
    // A line that was cut off, or the text of a crash: shown as it is.
    return error instanceof SyntaxError ? line : String(error);
  }
}

/** `12:30:01.123 warn  pushsync  receipt is shallow  po=3 peer=…` */
function forPeople(line: string, { style, width }: CommandContext): string {
  const entry = parsed(line);
  if (typeof entry !== 'object' || entry === null || !('msg' in entry)) return line;
  const { time, level, msg, module, node: _node, ...fields } = entry as Record<string, unknown>;
  const at = typeof time === 'string' ? time.slice(11, 23) : '';
  const head = `${at} ${shown(level).padEnd(5)} ${shown(module).padEnd(12)} ${shown(msg)}`;
  const rest = Object.entries(fields)
    .map(([name, value]) => `${name}=${shown(value)}`)
    .join(' ');
  const text = clip(`${head}${rest === '' ? '' : `  ${rest}`}`, width);
  return level === 'error' || level === 'warn' ? paint(style, 'red', text) : text;
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}
