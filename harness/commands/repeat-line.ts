/** Repeats a command: seed first, others in the help's order. */
import { shellWord, typed } from '../base/typed.ts';
import { attributeOf, isGiven, longOf } from './cluster-flags.ts';
import type { Options } from './options/spec.ts';

export function repeatLine(
  [name = '', ...words]: readonly string[],
  options: Options,
  flags: object,
): string {
  return [typed(name), ...[...words, ...repeatFlags(options, flags)].map(shellWord)].join(' ');
}

export function repeatFlags(options: Options, flags: object): string[] {
  const values: Readonly<Record<string, unknown>> = { ...flags };
  return seedFirst(options).flatMap(([flag, about]) => {
    const spec = typeof about === 'string' ? { help: about } : about;
    const long = longOf(flag);
    const value = values[attributeOf(long)];
    if (spec.once === true || !isGiven(long, value)) return [];
    if (typeof value === 'boolean') return [long];
    const write = (spec.write ?? String) as (one: unknown) => string;
    const all: readonly unknown[] = spec.repeatable === true ? (value as readonly unknown[]) : [value];
    return all.flatMap((one) => [long, write(one)]);
  });
}

function seedFirst(options: Options): (readonly [string, Options[string]])[] {
  const all = Object.entries(options);
  const isSeed = ([flag]: readonly [string, unknown]) => longOf(flag) === '--seed';
  return [...all.filter(isSeed), ...all.filter((one) => !isSeed(one))];
}
