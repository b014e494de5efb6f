import { nearest } from '../formats/nearest.ts';
import { withShownUrls } from '../formats/shown-url.ts';
import { checkListening, checkMode, checkPayments } from './option-rules.ts';
import {
  environmentName,
  type NodeOptions,
  OPTIONS,
  OptionError,
  type OptionName,
  optionNames,
} from './options.ts';

type Given = Partial<Record<OptionName, unknown>>;

/**
 * Options of `start`. @param readFile reads and parses the configuration file
 * @throws OptionError naming source, name, value and what was expected
 */
export function resolveOptions(
  argv: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
  readConfig: (path: string) => unknown,
): NodeOptions {
  const options = resolve(optionNames(), parseFlags(argv), { environment, readConfig }) as NodeOptions;
  checkMode(options);
  checkPayments(options);
  checkListening(options);
  return options;
}

/**
 * For a command that needs only a few; environment and file may contain others. @throws OptionError as above, and for an
 * option on the command line that the command lacks
 */
export function resolveSome<N extends OptionName>(
  names: readonly N[],
  argv: readonly string[],
  sources: Sources,
): Pick<NodeOptions, N> {
  const fromFlags = parseFlags(argv);
  const other = Object.keys(fromFlags).find((name) => !names.some((known) => known === name));
  if (other !== undefined) {
    const expected = names.map((name) => `--${name}`).join(', ');
    throw new OptionError(`--${other} is not an option of this command, expected ${expected}`);
  }
  return resolve(names, fromFlags, sources) as Pick<NodeOptions, N>;
}

interface Sources {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly readConfig: (path: string) => unknown;
}

function resolve(
  names: readonly OptionName[],
  fromFlags: Given,
  { environment, readConfig }: Sources,
): Given {
  const fromEnvironment = parseEnvironment(environment);
  const configPath = fromFlags.config ?? fromEnvironment.config ?? OPTIONS.config.default;
  const fromFile =
    configPath === '' ? {} : parseConfig(readConfig(configPath as string), configPath as string);
  const resolved: Given = {};
  for (const name of names) {
    const value = fromFlags[name] ?? fromEnvironment[name] ?? fromFile[name] ?? OPTIONS[name].default;
    if (value === undefined) {
      throw new OptionError(
        `--${name} is required: ${OPTIONS[name].help}, expected ${OPTIONS[name].expected}`,
      );
    }
    resolved[name] = value;
  }
  return resolved;
}

function parseFlags(argv: readonly string[]): Given {
  const given: Given = {};
  for (let i = 0; i < argv.length; i++) {
    const argument = argv[i] as string;
    if (!argument.startsWith('--'))
      throw new OptionError(`unexpected argument '${withShownUrls(argument)}', expected --name value`);
    const equals = argument.indexOf('=');
    const name = knownName(argument.slice(2, equals === -1 ? undefined : equals), (n) => `--${n}`);
    let value = equals === -1 ? undefined : argument.slice(equals + 1);
    if (value === undefined && typeof OPTIONS[name].default === 'boolean') {
      // A bare flag means true; `--flag false` is accepted.
      const next = argv[i + 1];
      const isValue = next !== undefined && OPTIONS[name].parse(next) !== undefined;
      value = isValue ? (argv[++i] as string) : 'true';
    }
    value ??= argv[++i];
    if (value === undefined) throw new OptionError(`--${name} needs a value: ${OPTIONS[name].expected}`);
    assign(given, name, parseValue(name, value, `--${name}`));
  }
  return given;
}

function parseEnvironment(environment: Readonly<Record<string, string | undefined>>): Given {
  const given: Given = {};
  for (const name of optionNames()) {
    const value = environment[environmentName(name)];
    if (value !== undefined && value !== '')
      assign(given, name, parseValue(name, value, environmentName(name)));
  }
  return given;
}

function parseConfig(document: unknown, path: string): Given {
  if (document === null || document === undefined) return {};
  if (typeof document !== 'object' || Array.isArray(document)) {
    throw new OptionError(`${path}: expected a map of option names to values`);
  }
  const given: Given = {};
  for (const [key, value] of Object.entries(document)) {
    const name = knownName(key, (n) => `${path}: ${n}`);
    for (const item of Array.isArray(value) && 'repeatable' in OPTIONS[name] ? value : [value]) {
      if (!['string', 'number', 'boolean', 'bigint'].includes(typeof item)) {
        throw new OptionError(
          `${path}: ${name}: got ${shown(name, JSON.stringify(item))}, expected ${OPTIONS[name].expected}`,
        );
      }
      assign(given, name, parseValue(name, String(item), `${path}: ${name}`));
    }
  }
  return given;
}

function assign(given: Given, name: OptionName, value: unknown): void {
  const before = given[name];
  given[name] = Array.isArray(before) && Array.isArray(value) ? [...before, ...value] : value;
}

function parseValue(name: OptionName, value: string, source: string): unknown {
  const parsed = OPTIONS[name].parse(value);
  if (parsed === undefined)
    throw new OptionError(`${source}: got ${shown(name, `'${value}'`)}, expected ${OPTIONS[name].expected}`);
  return parsed;
}

function shown(name: OptionName, value: string): string {
  return 'secret' in OPTIONS[name] ? 'another value' : withShownUrls(value);
}

function knownName(name: string, show: (name: string) => string): OptionName {
  if (Object.hasOwn(OPTIONS, name)) return name as OptionName;
  const near = nearest(name, optionNames());
  throw new OptionError(`unknown option ${show(name)}${near === undefined ? '' : `, did you mean ${near}?`}`);
}
