import type { Argument, Command, Option } from 'commander';
import { commandLine } from '../../harness/commands/command-line.ts';
import { faultProgram } from '../../harness/commands/fault.ts';
import { code, page, table } from './markdown.ts';

export async function commandsPage(): Promise<string> {
  const all = (await wholeCommandLine()).commands.flatMap((command) => withSubcommands(command, ''));
  const index = table(
    ['Command', 'What it does'],
    all.map(({ name, command }) => [`[\`${name}\`](#${anchor(name)})`, command.description()]),
  );
  const intro =
    'Every command also has `--help`. `svcnet` stands for `npx svcnet`, or for `npm run svcnet --` in a clone of the repository. Exit codes are in [errors](errors.md#exit-codes).';
  return page(
    'Commands',
    'the command line',
    intro,
    index,
    ...all.map(({ name, command }) => section(name, command)),
  );
}

export async function wholeCommandLine(): Promise<Command> {
  const program = await commandLine(() => Promise.resolve());
  const fault = program.commands.find((command) => command.name() === 'fault');
  for (const kind of faultProgram(() => Promise.resolve()).commands) fault?.addCommand(kind);
  return program;
}

interface Named {
  readonly name: string;
  readonly command: Command;
}

/** Without commands that only group others. */
function withSubcommands(command: Command, before: string): Named[] {
  const name = `${before}${command.name()}`;
  const inner = command.commands.flatMap((one) => withSubcommands(one, `${name} `));
  return inner.length === 0 ? [{ name, command }] : inner;
}

function section(name: string, command: Command): string {
  const help = command.createHelp();
  const usage = ['svcnet', name, ...command.registeredArguments.map(argumentText), '[options]'].join(' ');
  const argumentsTable = table(['Argument', 'Meaning'], command.registeredArguments.map(argumentRow));
  const optionsTable = table(
    ['Option', 'Default', 'Meaning'],
    help
      .visibleOptions(command)
      .filter(({ long }) => long !== '--help')
      .map(optionRow),
  );
  const hasOptions = command.options.some(({ hidden }) => !hidden);
  return [
    `## ${name}`,
    sentence(command.description()),
    `\`\`\`\n${usage}\n\`\`\``,
    ...(command.registeredArguments.length > 0 ? [argumentsTable] : []),
    ...(hasOptions ? [optionsTable] : []),
  ].join('\n\n');
}

function argumentText(argument: Argument): string {
  const name = `${argument.name()}${argument.variadic ? '...' : ''}`;
  return argument.required ? `<${name}>` : `[${name}]`;
}

function argumentRow(argument: Argument): string[] {
  return [code(argumentText(argument)), argument.description];
}

function optionRow(option: Option): string[] {
  const { flags, description, defaultValue, defaultValueDescription } = option;
  return [code(flags), code(defaultValueDescription ?? defaultText(defaultValue)), description];
}

function defaultText(value: unknown): string {
  if (value === undefined || value === false || value === true) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

function anchor(name: string): string {
  return name.replaceAll(' ', '-');
}
