import { resolve } from 'node:path';
import type { z } from 'zod';
import { shownUrl, withShownUrls } from '../../../formats/shown-url.ts';
import { HarnessError } from '../../base/errors.ts';
import { type Mistake, mistakeLines } from '../../base/foreign-text.ts';
import { suggestion } from '../../base/format.ts';
import { FLAVOUR_NAMES } from '../../flavours/flavour.ts';
import { isOwnProgram } from '../../flavours/svc-program.ts';
import { flavourOf } from '../../flavours/table.ts';
import { DRIVER_FACTS } from '../../places/facts.ts';
import { contradictions } from './contradictions.ts';
import { keysAt } from './editor/json-schema.ts';
import { groupsByNumber } from './facts.ts';
import { withPreset } from './presets/presets.ts';
import { type Definition, type NodeGroup, schema } from './schema.ts';

/** @param source a path or `options`, for messages @throws HarnessError `DEFINITION_INVALID` */
export function parseDefinition(input: unknown, source: string): Definition {
  const checked = checkDefinition(input);
  if ('definition' in checked) return checked.definition;
  throw new HarnessError('DEFINITION_INVALID', mistakeLines(checked.mistakes, source));
}

/**
 * Adds a group at the end.
 * @param group as in a file
 * @param source names it in messages
 * @param instead number of the node that it replaces, to look at the result
 * @throws HarnessError `DEFINITION_INVALID`
 */
export function withGroup(
  definition: Definition,
  group: unknown,
  source: string,
  instead?: number,
): Definition {
  const parsed = schema.safeParse({ nodes: [group] });
  const others = instead === undefined ? definition.nodes : singleGroups(definition).toSpliced(instead, 1);
  const last = others.length;
  const grown = { ...definition, nodes: [...others, ...(parsed.data?.nodes ?? [])] };
  const mistakes = parsed.success
    ? // Prepared already: its files may be gone.
      mistakesIn({ ...grown, prepare: { uploads: [], cheques: [] } })
    : parsed.error.issues.flatMap((issue) => explain(issue, { nodes: [group] }));
  if (mistakes.length === 0) return withPrograms(grown);
  const at = `nodes[${parsed.success ? last : 0}]`;
  const lines = mistakeLines(mistakes, source).replaceAll(`${at}.`, '').replaceAll(at, 'nodes');
  throw new HarnessError('DEFINITION_INVALID', lines);
}

function singleGroups(definition: Definition): NodeGroup[] {
  return groupsByNumber(definition).map((group) => ({
    ...group,
    count: 1,
    keys: undefined,
    neighbourhoods: undefined,
  }));
}

export function checkDefinition(
  given: unknown,
): { readonly definition: Definition } | { readonly mistakes: readonly Mistake[] } {
  const input = withPreset(given);
  const parsed = schema.safeParse(input ?? {});
  if (parsed.success) {
    const mistakes = mistakesIn(parsed.data);
    return mistakes.length === 0 ? { definition: withPrograms(parsed.data) } : { mistakes };
  }
  const mistakes = parsed.error.issues.flatMap((issue) => explain(issue, input));
  const rest = schema.safeParse(withoutMistakes(input, parsed.error.issues));
  return { mistakes: [...mistakes, ...(rest.success ? mistakesIn(rest.data) : [])] };
}

function mistakesIn(definition: Definition): readonly string[] {
  const known = [...FLAVOUR_NAMES, ...definition.flavours.map(({ name }) => name)];
  const others =
    definition.flavours.length === 0 ? ', or the name in a flavour file that --flavour gives' : '';
  const unknown = definition.nodes.flatMap(({ flavour }, index) =>
    known.includes(flavour)
      ? []
      : [
          `nodes[${index}].flavour: got '${flavour}', expected one of ${known.join(', ')}${others}${suggestion(flavour, known)}`,
        ],
  );
  const again = definition.flavours.flatMap(({ name }, index) =>
    definition.flavours.findIndex((other) => other.name === name) === index
      ? []
      : [`flavours[${index}].name: got '${name}' again, expected each name once`],
  );
  // What a flavour allows is not known before.
  return unknown.length > 0
    ? [...unknown, ...again]
    : [...again, ...contradictions(withPrograms(definition))];
}

/** Contradictions among valid keys are reported together with the other mistakes. */
function withoutMistakes(input: unknown, issues: readonly Issue[]): Record<string, unknown> {
  if (input === null || typeof input !== 'object') return {};
  const wrong = new Set(
    issues.flatMap((issue) =>
      issue.code === 'unrecognized_keys' && issue.path.length === 0 ? issue.keys : [issue.path[0]],
    ),
  );
  return Object.fromEntries(Object.entries(input).filter(([key]) => !wrong.has(key)));
}

/** Fills in programs from the environment, the flavour's variable first. Containers run none of this machine's programs. */
function withPrograms(definition: Definition): Definition {
  const { images } = DRIVER_FACTS[definition.driver];
  const nodes = definition.nodes.map((group): NodeGroup => {
    const declared = definition.flavours.find(({ name }) => name === group.flavour);
    const entry: NodeGroup = declared === undefined ? group : { ...group, declared };
    const variable = images ? undefined : flavourOf(entry).binaryVariable;
    const fallback = variable === undefined ? undefined : process.env[variable]?.split(',')[0]?.trim();
    const binary = entry.binary ?? (fallback === '' || fallback === undefined ? declared?.program : fallback);
    if (binary === undefined) return entry;
    const path = resolve(binary);
    return { ...entry, binary: entry.flavour === 'svc' && isOwnProgram(path) ? undefined : path };
  });
  return { ...definition, nodes };
}

/** Lasts `ttlMs` at a constant price. @param chain.storagePrice of one chunk and block, token units */
export function batchAmount(
  ttlMs: number,
  chain: { readonly blockTimeMs: number; readonly storagePrice: bigint },
): bigint {
  const blocks = Math.ceil(ttlMs / Math.max(chain.blockTimeMs, 1));
  return chain.storagePrice * BigInt(blocks);
}

type Issue = z.core.$ZodIssue;

/** Texts are made only when told: of a hundred thousand, few are. @param known the keys allowed at a path */
export function explain(issue: Issue, input: unknown, known = keysAt): Mistake[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => () => {
      const keys = known(issue.path);
      const at = pathText([...issue.path, key]);
      return `unknown key '${at}'${suggestion(key, keys)} (known: ${keys.join(', ')})`;
    });
  }
  if (issue.code === 'invalid_union') {
    const meant = meantBranch(issue);
    if (meant.length > 0) {
      return meant.flatMap((inner) =>
        explain({ ...inner, path: [...issue.path, ...inner.path] }, input, known),
      );
    }
  }
  return [() => got(issue, input)];
}

function got(issue: Issue, input: unknown): string {
  const at = pathText(issue.path);
  const value = valueAt(input, issue.path);
  const words = issue.code === 'invalid_value' ? issue.values.map(String) : [];
  const near = typeof value === 'string' ? suggestion(value, words) : '';
  const isUrl = URL_KEYS.has(issue.path.at(-1) ?? '') && typeof value === 'string';
  const given = isSecret(issue.path) ? 'another value' : shown(isUrl ? shownUrl(value) : value);
  return `${at === '' ? 'document' : at}: got ${given}, expected ${issue.message}${near}`;
}

const SECRETS: ReadonlySet<PropertyKey> = new Set(['key', 'keys', 'token', 'password']);

const URL_KEYS: ReadonlySet<PropertyKey> = new Set(['rpc', 'control', 'api', 'debug', 'otlp']);

/** The exceptions: a contract is called `token`, and `keys` of a flavour file says how a node reads them. */
function isSecret(path: readonly PropertyKey[]): boolean {
  const isOpen = path.includes('contracts') || path[0] === 'flavours' || path[0] === 'keys';
  return !isOpen && path.some((part) => SECRETS.has(part));
}

/**
 * The intended branch of a union: one with a list that is too long, or one that got further into the value than its type,
 * preferably without a key that only another branch knows.
 */
function meantBranch(issue: z.core.$ZodIssueInvalidUnion): Issue[] {
  const isLong = (inner: Issue) => inner.code === 'too_big' && inner.origin === 'array';
  const isForeign = (inner: Issue) => inner.path.length === 0 && inner.code === 'unrecognized_keys';
  const inside = issue.errors.filter((branch) =>
    branch.some((inner) => inner.path.length > 0 || isForeign(inner) || isLong(inner)),
  );
  const meant =
    inside.find((branch) => branch.some(isLong)) ?? inside.find((branch) => !branch.some(isForeign));
  return meant ?? inside[0] ?? [];
}

function pathText(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`;
    return text === '' ? String(part) : `${text}.${String(part)}`;
  }, '');
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      value === null || typeof value !== 'object' ? undefined : (value as Record<PropertyKey, unknown>)[key],
    input,
  );
}

/** Letters of a value in messages; URLs are searched in more, and shown shorter. */
const SHOWN_MAX = 60;
const SHOWN_URL_MAX = 1000;

function shown(value: unknown): string {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'function') return 'a function';
  const whole = typeof value === 'string' ? `'${value}'` : (JSON.stringify(value) ?? 'nothing');
  const text = withShownUrls(whole.slice(0, SHOWN_URL_MAX));
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX - 3)}...` : text;
}
