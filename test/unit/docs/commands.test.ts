import type { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { bundledScenarios } from '../../../harness/run/catalogue.ts';
import { SUITES } from '../../../harness/run/suites.ts';
import { wholeCommandLine } from '../../reference/commands.ts';
import { files, read } from './repository.ts';

const PAGES = files().filter((path) => path === 'README.md' || /^docs\/.*\.(md|svg)$/.test(path));

/** As typed in a clone, with the package, with the installed program, or in a picture. */
const TYPED = /(?:npm run (?:-s )?svcnet --|npx svcnet|^svcnet|>(?:\$ )?svcnet) +([a-z][^\n#")`|<;]*)/gm;

interface Line {
  readonly page: string;
  readonly words: readonly string[];
}

const lines: readonly Line[] = PAGES.flatMap((page) =>
  [...read(page).matchAll(TYPED)].map(([, line = '']) => ({ page, words: line.trim().split(/\s+/) })),
);
const program = await wholeCommandLine();

/** The command named by the words, with the remaining words. */
function resolved(
  words: readonly string[],
  at: Command = program,
): { readonly command: Command; readonly rest: readonly string[] } {
  const [name, ...rest] = words;
  const next = at.commands.find((command) => command.name() === name);
  return next === undefined ? { command: at, rest: words } : resolved(rest, next);
}

describe('pages', () => {
  test('every command exists, with the options that the page shows', () => {
    expect(lines.length).toBeGreaterThan(100);
    const wrong = lines.flatMap(({ page, words }) => {
      const { command, rest } = resolved(words);
      if (command === program) return [`${page}: no command ${words.join(' ')}`];
      const known = new Set(command.options.flatMap(({ short, long }) => [short, long]));
      return rest
        .map((word) => word.split('=')[0] ?? '')
        .filter((word) => /^--?[a-z]/.test(word) && word !== '--help' && !known.has(word))
        .map((word) => `${page}: ${words.join(' ')}: no option ${word}`);
    });
    expect(wrong).toEqual([]);
  });

  test('every scenario run by its name exists', () => {
    const scenarios = bundledScenarios();
    const unknown = lines
      .filter(({ words: [command] }) => command === 'run')
      .flatMap(({ page, words: [, ...words] }) => {
        const names = words.slice(
          0,
          [...words, '--'].findIndex((word) => word.startsWith('-')),
        );
        return names
          .filter((name) => /^[a-z-]+$/.test(name) && !scenarios.includes(name))
          .map((name) => `${page}: ${name}`);
      });
    expect(unknown).toEqual([]);
  });

  test('every scenario that docs/scenarios.md recommends exists', () => {
    const rows = read('docs/scenarios.md').match(/^\|.*\?.*$/gm) ?? [];
    const named = rows.flatMap((row) =>
      [...row.matchAll(/`([a-z]+(?:-[a-z]+)*)`/g)].map(([, name = '']) => name),
    );
    const known = [...bundledScenarios(), ...Object.keys(SUITES)];
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter((name) => !known.includes(name))).toEqual([]);
  });
});

/** A command and all below it. */
function withSubcommands(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(withSubcommands)];
}

describe('help', () => {
  const commands = withSubcommands(program);

  test('an option states its default once', () => {
    const twice = commands.flatMap((command) =>
      command.options
        .filter(
          ({ defaultValue, description }) => defaultValue !== undefined && description.includes('(default'),
        )
        .map(({ flags }) => `${command.name()} ${flags}`),
    );
    expect(twice).toEqual([]);
  });

  test('what an option means without its value is not told a second time', () => {
    const texts = commands.map((command) => command.helpInformation());
    expect(texts.filter((text) => text.includes('default interval:')).length).toBeGreaterThan(1);
    expect(texts.filter((text) => text.includes('preset:'))).toEqual([]);
  });

  test('a description says what to do, not what is done', () => {
    const third = commands.map((command) => command.description()).filter((text) => /^[a-z]+s /.test(text));
    expect(third).toEqual([]);
  });
});
