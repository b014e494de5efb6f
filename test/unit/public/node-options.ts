/** The options of our nodes as an interface with docstrings, from the table of options. */
import { RESERVED_OPTIONS } from '../../../harness/flavours/svc-options.ts';
import { OPTIONS, type OptionName, optionNames } from '../../../node/options.ts';

export const NODE_OPTIONS_FILE = 'harness/flavours/node-options.gen.ts';

const HEAD = `/** Written by \`npm run api\` from the table of options in \`node/options.ts\`. */

/**
 * Options of nodes of this package, by the names of their command line. Durations are text such as \`5s\`; numbers and
 * amounts may be text too.
 */
export interface NodeOptionsInput {
`;

export function nodeOptionsSource(): string {
  const reserved: readonly string[] = RESERVED_OPTIONS;
  const rows = optionNames().filter((name) => !reserved.includes(name));
  return `${HEAD}${rows.map(rowOf).join('')}}\n`;
}

function rowOf(name: OptionName): string {
  const {
    help,
    unit,
    default: fallback,
    expected,
  } = OPTIONS[name] as {
    readonly help: string;
    readonly unit?: string;
    readonly default: unknown;
    readonly expected: string;
  };
  const given = shown(fallback, unit);
  const counted = ['', 'duration', undefined].includes(unit) ? '' : ` (${unit})`;
  const facts = [`${expected}${counted}`, ...(given === '' ? [] : [`default: ${given}`])];
  return `  /** ${sentence(help)} ${sentence(facts.join('; '))} */\n  readonly '${name}'?: ${typeOf(fallback, expected, unit)};\n`;
}

function typeOf(fallback: unknown, expected: string, unit: string | undefined): string {
  if (typeof fallback === 'boolean') return 'boolean';
  if (Array.isArray(fallback)) return 'string | readonly string[]';
  const words = /^one of (.+)$/.exec(expected)?.[1];
  if (words !== undefined)
    return words
      .split(', ')
      .map((word) => `'${word}'`)
      .join(' | ');
  // A number has no unit, and a duration needs one.
  const isNumber = unit !== 'duration' && (unit !== undefined || /^(number|bigint)$/.test(typeof fallback));
  return isNumber ? 'number | string' : 'string';
}

function shown(fallback: unknown, unit: string | undefined): string {
  if (fallback === undefined || fallback === '' || (Array.isArray(fallback) && fallback.length === 0))
    return '';
  return `${fallback as string | number | bigint | boolean}${unit === 'duration' ? ' ms' : ''}`;
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`.replaceAll('*/', '* /');
}
