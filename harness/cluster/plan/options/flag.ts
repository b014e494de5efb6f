import { suggestion } from '../../../base/format.ts';
import { seedIn } from '../seed.ts';

/** Without a parser the value is a text, or the option is just on. */
export interface FlagSpec {
  readonly help: string;
  /** @param before what `repeatable` has collected @throws NotExpected */
  readonly parse?: (text: string, before: never) => unknown;
  readonly repeatable?: true;
  readonly default?: unknown;
  readonly shown?: string;
  readonly preset?: string;
  readonly required?: 'always' | 'unlisted';
  readonly write?: (value: never) => string;
  /** Not part of the line that repeats a run. */
  readonly once?: true;
}

export class NotExpected extends Error {}

export function whole(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    throw new NotExpected(`Expected a whole number from ${min} to ${max}.`);
  };
}

export function oneOf<W extends string>(words: readonly W[]): (text: string) => W {
  return (text) => {
    const known = words.find((candidate) => candidate === text);
    if (known !== undefined) return known;
    throw new NotExpected(`Expected one of ${words.join(', ')}${suggestion(text, words)}`);
  };
}

export function someOf<W extends string>(words: readonly W[]): (text: string) => readonly W[] {
  return (text) => text.split(',').map((name) => oneOf(words)(name.trim()));
}

export function collect(text: string, before: readonly string[]): readonly string[] {
  return [...before, text];
}

export function seed(text: string): bigint {
  const value = seedIn(text);
  if (value !== undefined) return value;
  throw new NotExpected('Expected a whole number from 0 to 2^64 - 1.');
}
