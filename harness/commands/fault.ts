import { Command, type OutputConfiguration } from 'commander';
import { formatMs } from '../base/format.ts';
import { MACHINE_CLOCK } from '../base/machine/clock.ts';
import { type Column, renderTable } from '../base/terminal/table.ts';
import { typed } from '../base/typed.ts';
import { effectText, type Fault, type FaultKind, type FaultRequest } from '../cluster/faults/fault.ts';
import { type FaultField, NODE_FIELD } from '../cluster/faults/fields.ts';
import { FAULT_KINDS } from '../cluster/faults/table.ts';
import { answer, type ClusterFlags, type CommandContext } from './context.ts';
import { onCluster } from './on-cluster.ts';

export interface FaultFlags extends ClusterFlags {
  readonly json?: boolean | undefined;
}

type Work = (flags: FaultFlags, context: CommandContext) => Promise<void>;
type Run = (flags: FaultFlags, work: Work) => Promise<void>;

/** @param words after `fault` */
export async function fault(
  words: readonly string[],
  _flags: object,
  context: CommandContext,
): Promise<void> {
  const run: Run = (flags, work) => work(flags, { ...context, json: flags.json === true });
  const program = faultProgram(run, { writeOut: context.out, writeErr: context.note });
  if (words.length === 0 || words[0] === '--help' || words[0] === '-h') program.outputHelp();
  else await program.parseAsync(words, { from: 'user' });
}

export function faultProgram(run: Run, write: OutputConfiguration = {}): Command {
  const program = new Command('svcnet fault')
    .configureOutput(write)
    .usage('<kind> [arguments] [options]')
    .description('Inject a fault until it is healed.')
    .showSuggestionAfterError(true)
    .showHelpAfterError('(--help lists all options)')
    .exitOverride();
  for (const kind of FAULT_KINDS) addKind(program, kind, run);
  return program.addHelpText(
    'after',
    '\nExamples:\n  svcnet fault link node-0 node-3 --latency 200ms --jitter 20ms --bandwidth 1MB/s\n  svcnet fault partition node-0,node-1 / node-2,node-3\n  svcnet fault kill node-2\n  svcnet faults\n  svcnet heal\n',
  );
}

function addKind(program: Command, kind: FaultKind, run: Run): void {
  const { fields = [NODE_FIELD] } = kind;
  const command = program.command(kind.name).description(kind.about);
  for (const { flag, about } of fields) {
    if (isOption(flag)) command.option(flag, about);
    else command.argument(flag, about);
  }
  command
    .option('--name <cluster>', 'name of the cluster (default: the only one)')
    .option('--json', 'print one JSON document and nothing else')
    .action((...given: unknown[]) => {
      // Commander passes options and command last.
      const [flags] = given.slice(-2) as [Record<string, unknown>];
      const { name, json, ...options } = flags as FaultFlags & Record<string, unknown>;
      const request = { kind: kind.name, ...requestOf(fields, given.slice(0, -2), options) };
      return run({ name, json }, (f, c) => begin(request, f, c));
    });
}

function requestOf(
  fields: readonly FaultField[],
  given: readonly unknown[],
  options: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const values = given.values();
  const request: Record<string, unknown> = {};
  for (const { field, flag, parse } of fields) {
    const value = isOption(flag) ? options[optionName(flag)] : values.next().value;
    if (value === undefined) continue;
    const text = Array.isArray(value) ? value.join(' ') : value;
    request[field] = typeof text === 'string' && parse !== undefined ? parse(text) : text;
  }
  return request;
}

function isOption(flag: string): boolean {
  return flag.startsWith('-');
}

/** `--one-way <text>` → `oneWay`. */
function optionName(flag: string): string {
  const [, name = ''] = /^--([\w-]+)/.exec(flag) ?? [];
  return name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

async function begin(request: FaultRequest, flags: ClusterFlags, context: CommandContext): Promise<void> {
  await onCluster(flags, context, async (cluster) => {
    context.signal.addEventListener(
      'abort',
      // An interrupted process has only a few seconds.
      () =>
        context.note(`healing the faults; if this ends early, run ${typed(`heal --name ${cluster.name}`)}\n`),
      { once: true },
    );
    const begun = await cluster.faults.begin(request, { signal: context.signal });
    const again =
      begun.endAt === undefined ? [`  heal it with: svcnet heal ${begun.id} --name ${cluster.name}`] : [];
    answer(context, { name: cluster.name, fault: begun }, [
      `  ${begun.id}   ${begun.text}`,
      ...(begun.note === undefined ? [] : [`  ${begun.note}`]),
      ...again,
    ]);
  });
}

export async function faults(flags: ClusterFlags, context: CommandContext): Promise<void> {
  await onCluster(flags, context, async (cluster) => {
    const active = await cluster.faults.list();
    answer(context, { name: cluster.name, faults: active }, faultTable(active, context));
  });
}

/** @param ids default: all */
export async function heal(
  ids: readonly string[],
  flags: ClusterFlags,
  context: CommandContext,
): Promise<void> {
  await onCluster(flags, context, async (cluster) => {
    const ended: Fault[] = [];
    if (ids.length === 0) ended.push(...(await cluster.faults.heal()));
    for (const id of ids) ended.push(...(await cluster.faults.heal(id)));
    answer(context, { name: cluster.name, healed: ended }, faultTable(ended, context));
  });
}

export function activeFaults(list: readonly Fault[]): readonly string[] {
  return list.map(
    ({ id, at, text, effect }) =>
      `  fault ${id} for ${formatMs(MACHINE_CLOCK.now() - at)}: ${text} (${effectText(effect)})`,
  );
}

const COLUMNS = [
  { title: 'id', rank: 0 },
  { title: 'for', rank: 1, align: 'right' },
  { title: 'what', rank: 0 },
  { title: 'effect', rank: 0 },
] as const satisfies readonly Column[];

function faultTable(list: readonly Fault[], { width }: CommandContext): readonly string[] {
  if (list.length === 0) return ['  no fault is active'];
  const rows = list.map(({ id, at, endAt = MACHINE_CLOCK.now(), text, effect }) => [
    id,
    formatMs(endAt - at),
    text,
    effectText(effect),
  ]);
  return renderTable(COLUMNS, rows, width).lines;
}
