import { Argument, Command, Help, InvalidArgumentError, Option, type OutputConfiguration } from 'commander';
import { withShownUrls } from '../../formats/shown-url.ts';
import { VERSION } from '../../formats/version.ts';
import { withPlainWords } from '../base/foreign-text.ts';
import { type FlagSpec, NotExpected } from '../cluster/plan/options/flag.ts';
import type { CommandContext } from './context.ts';
import type { CommandOptions } from './options/spec.ts';
import { type Action, COMMANDS, type CommandRow, type GroupRow } from './table.ts';

/** Independent of the terminal. */
export type RunCommand = (
  flags: object,
  command: (context: CommandContext) => Promise<number | void>,
) => Promise<void>;

/**
 * In the help's order.
 * @param words other commands' arguments are not loaded, so their own help lacks them
 * @param write help and mistakes, default: this process's streams
 */
export async function commandLine(
  run: RunCommand,
  words?: readonly string[],
  write: Pick<OutputConfiguration, 'writeOut' | 'writeErr'> = {},
): Promise<Command> {
  const terms = new Map<Command, string>();
  const program = new Command('svcnet')
    .description('A whole decentralised storage network on one machine.')
    .version(VERSION, '-v, --version', 'print the version')
    .showSuggestionAfterError(true)
    .configureOutput({
      ...write,
      outputError: (text, write) => write(withPlainWords(withShownUrls(text), words ?? [])),
    })
    .showHelpAfterError('(--help lists all options)')
    .configureHelp({
      subcommandTerm: (command) => terms.get(command) ?? Help.prototype.subcommandTerm(command),
      // The description covers an option without value; the parser would add its own words.
      optionDescription: (option) =>
        Help.prototype.optionDescription(
          Object.create(option, { presetArg: { value: undefined } }) as Option,
        ),
    })
    .exitOverride();
  const add = async (to: Command, row: CommandRow | GroupRow): Promise<void> => {
    const [name = '', ...takes] = row.usage.split(' ');
    const command = to.command(name).description(row.about);
    terms.set(command, row.usage);
    if (words?.includes(name) === false) return;
    if ('commands' in row) {
      for (const inner of row.commands) await add(command, inner);
    } else {
      const given = takes.filter((word) => word !== '[options]');
      define(command, given, await row.options());
      command.action((...values: unknown[]) => act(command, values, row, run));
    }
  };
  for (const row of COMMANDS) await add(program, row);
  return program;
}

function define(command: Command, takes: readonly string[], spec: CommandOptions): void {
  for (const [place, take] of takes.entries()) {
    const about = fullSpec(spec.arguments?.[place] ?? '');
    const argument = new Argument(take, about.help);
    const parse = about.parse ?? (PATH_ARGUMENT.test(take) ? pathOf : undefined);
    if (parse !== undefined) argument.argParser(parserOf(parse));
    if (about.default !== undefined) argument.default(about.default);
    command.addArgument(argument);
  }
  if (spec.options === undefined) command.helpOption(false).allowUnknownOption();
  for (const [flag, about] of Object.entries(spec.options ?? {}))
    command.addOption(optionOf(flag, fullSpec(about)));
  if (spec.note !== undefined) command.addHelpText('after', spec.note);
}

const PATH = /<(?:file|folder|path)>/;
const PATH_ARGUMENT = /^[<[](?:file|folder|path)[>\]]$/;

function pathOf(text: string): string {
  if (text.trim() !== '') return text;
  throw new NotExpected('Expected a path.');
}

function optionOf(flag: string, spec: FlagSpec): Option {
  const { help, preset, required, repeatable } = spec;
  const parse = spec.parse ?? (PATH.test(flag) ? pathOf : undefined);
  const option = new Option(flag, help);
  if (parse !== undefined) option.argParser(parserOf(parse));
  if (repeatable === true) option.default([], spec.shown ?? 'none');
  if (spec.default !== undefined) option.default(spec.default, spec.shown);
  if (preset !== undefined) option.preset(preset);
  option.makeOptionMandatory(required === 'always');
  return option;
}

function fullSpec(given: string | FlagSpec): FlagSpec {
  return typeof given === 'string' ? { help: given } : given;
}

function parserOf(parse: NonNullable<FlagSpec['parse']>): <T>(text: string, before: T) => T {
  return <T>(text: string, before: T) => {
    try {
      return parse(text, before as never) as T;
    } catch (error) {
      if (error instanceof NotExpected) throw new InvalidArgumentError(error.message);
      throw error;
    }
  };
}

async function act(
  command: Command,
  values: readonly unknown[],
  { options, action }: CommandRow,
  run: RunCommand,
): Promise<void> {
  const flags = command.opts();
  expectRequired(command, flags, await options());
  const given = values.slice(0, -2);
  await run(flags, async (context) => {
    const work = (await action()) as (...all: unknown[]) => ReturnType<Action>;
    return work(...given, flags, context);
  });
}

/** Only `--list` can do without. */
function expectRequired(
  command: Command,
  flags: Readonly<Record<string, unknown>>,
  { options = {} }: CommandOptions,
): void {
  if (flags['list'] === true) return;
  for (const option of command.options)
    if (
      fullSpec(options[option.flags] ?? '').required === 'unlisted' &&
      flags[option.attributeName()] === undefined
    )
      command.error(`error: required option '${option.flags}' not specified`);
}
