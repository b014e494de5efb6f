import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseDurationMs } from '../../../formats/units.ts';
import { HarnessError } from '../../base/errors.ts';
import { suggestion } from '../../base/format.ts';
import type { Command } from '../../base/machine/processes.ts';
import type { NodeClient } from '../../client/node-client.ts';
import type { Flavour, NodePlan, PlannedFile } from '../flavour.ts';
import { checkRunnable, invalidProgram, optionsListed, programOutput } from '../program.ts';
import { multiaddress } from '../underlays.ts';
import { type DeclaredFlavour, flavourFile, LAUNCH_FILE } from './file.ts';
import type { FlavourInput } from './input.ts';
import { keyFiles, libp2pPem, peerIdOf } from './keys.ts';
import { filled, filledText, type Value, valueText } from './values.ts';

/** An expression may take long on a long text. */
const VERSION_CHARACTERS_MAX = 4096;

const made = new WeakMap<FlavourInput, Flavour>();

export function binaryVariable(name: string): string {
  return `SVCNET_${prefixOf(name)}BINARY`;
}

function prefixOf(name: string): string {
  return `${name.toUpperCase().replaceAll('-', '_')}_`;
}

/** @param given was checked when it was read; parsing it again fills in its defaults */
export function declaredFlavour(given: FlavourInput): Flavour {
  const before = made.get(given);
  if (before !== undefined) return before;
  const file = flavourFile.parse(given);
  const flavour: Flavour = {
    name: file.name,
    dialect: file.dialect,
    modes: file.modes,
    reserved: Object.keys(file.config?.values ?? {}),
    binaryVariable: binaryVariable(file.name),
    public: file.publicConstants,
    debugApi: false,
    bootstraps: file.bootstraps,
    takesLinks: false,
    takesRecords: false,
    learnsListeners: file.learnsListeners,
    adoptsChequebook: false,
    watchesParent: false,
    stored: file.stored,
    redialMs: file.redial === undefined ? undefined : msOf(file.redial),
    stopGraceMs: msOf(file.stop),
    optionMistakes: (options) =>
      file.options === 'none'
        ? Object.keys(options).map((name) => `.options: got '${name}', flavour ${file.name} takes none`)
        : [],
    check: ({ where, binary, options }) => checkProgram(file, { where, binary, options }),
    files: (plan) => filesOf(file, plan),
    command: ({ dataDir, binary }) => commandOf(file, dataDir, programOf(file, binary)),
    containerCommand: () => {
      throw new TypeError(`flavour ${file.name} runs as a process`);
    },
    linkKey: (identity) => libp2pPem(identity, file.keys.libp2p.type),
    underlay: ({ identity, port, host }) =>
      multiaddress({ host, port, peerId: peerIdOf(identity, file.keys.libp2p.type) }),
    lacking: (client, signal) => lacking(file, client, signal),
  };
  made.set(given, flavour);
  return flavour;
}

function msOf(text: string): number {
  const ms = parseDurationMs(text);
  if (ms === undefined) throw new TypeError(`'${text}' was checked when the file was read`);
  return ms;
}

function programOf({ program }: DeclaredFlavour, binary: string | undefined): string {
  return binary ?? program;
}

const asked = new Map<string, Promise<ReadonlySet<string>>>();

async function knownOptions(
  { name, config }: DeclaredFlavour,
  binary: string,
): Promise<ReadonlySet<string> | undefined> {
  if (config?.known === undefined) return undefined;
  const key = [name, binary, ...config.known].join('\0');
  const answer =
    asked.get(key) ?? programOutput(binary, config.known, { prefix: prefixOf(name) }).then(optionsListed);
  asked.set(key, answer);
  try {
    return await answer;
  } catch (error) {
    asked.delete(key);
    throw error;
  }
}

/** Configuration names that the program does not list. @throws HarnessError `BINARY_INVALID` */
export async function valuesLeftOut(given: FlavourInput, binary: string): Promise<string[]> {
  const file = flavourFile.parse(given);
  const known = await knownOptions(file, binary);
  const names = Object.keys({ ...file.config?.defaults, ...file.config?.values });
  return names.filter((name) => known?.has(name) === false);
}

async function checkProgram(
  file: DeclaredFlavour,
  {
    where,
    binary,
    options,
  }: {
    readonly where: string;
    readonly binary: string | undefined;
    readonly options: Readonly<Record<string, unknown>>;
  },
): Promise<void> {
  const program = programOf(file, binary);
  try {
    checkRunnable(program);
    await checkVersion(file, program);
    const known = await knownOptions(file, program);
    if (known?.size === 0) {
      throw invalidProgram(`'${program} ${file.config?.known?.join(' ')}' lists no options such as --name`);
    }
    const unknown = known === undefined ? undefined : Object.keys(options).find((name) => !known.has(name));
    if (known === undefined || unknown === undefined) return;
    throw new HarnessError(
      'DEFINITION_INVALID',
      `options: ${program} knows no option '${unknown}'${suggestion(unknown, [...known])}`,
    );
  } catch (error) {
    if (!(error instanceof HarnessError)) throw error;
    const { hint } = error;
    throw new HarnessError(error.code, `${where} (flavour ${file.name}): ${error.message}`, {
      cause: error,
      hint,
    });
  }
}

async function checkVersion({ name, version }: DeclaredFlavour, program: string): Promise<void> {
  if (version === undefined) return;
  const output = await programOutput(program, version.args, { prefix: prefixOf(name) });
  if (new RegExp(version.pattern, 'u').test(output.slice(0, VERSION_CHARACTERS_MAX))) return;
  throw invalidProgram(
    `'${[program, ...version.args].join(' ')}' printed nothing in its first 4 KiB that matches /${version.pattern}/`,
    { hint: 'Is it another program? The flavour file says what it prints: version.pattern.' },
  );
}

async function lacking(
  { well }: DeclaredFlavour,
  client: Pick<NodeClient, 'text'>,
  signal: AbortSignal,
): Promise<string | undefined> {
  for (const { path, pattern } of well) {
    const matches = new RegExp(pattern, 'mu').test(await client.text(path, signal));
    if (!matches) return `answers nothing at ${path} that matches /${pattern}/`;
  }
  return undefined;
}

async function filesOf(file: DeclaredFlavour, plan: NodePlan): Promise<PlannedFile[]> {
  const { config, files, args, env } = file;
  const own = config === undefined ? [] : [{ path: config.path, content: await configText(file, plan) }];
  const given =
    file.options === 'args'
      ? Object.entries(plan.options).map(([name, value]) => `--${name}=${valueText(value as Value)}`)
      : [];
  const launch: Launch = {
    args: [...args.map((text) => filledText(text, plan)), ...given],
    env: Object.fromEntries(Object.entries(env).map(([name, text]) => [name, filledText(text, plan)])),
  };
  return [
    ...keyFiles(file, plan.identity),
    ...own,
    ...files.map(({ path, text }) => ({ path, content: filledText(text, plan) })),
    { path: LAUNCH_FILE, content: JSON.stringify(launch) },
  ];
}

/** A later start has no plan of the node. */
type Launch = Pick<Command, 'args' | 'env'>;

function commandOf({ name }: DeclaredFlavour, dataDir: string, program: string): Command {
  const { args, env } = JSON.parse(readFileSync(join(dataDir, LAUNCH_FILE), 'utf8')) as Launch;
  return { file: program, args, env, prefix: prefixOf(name) };
}

async function configText(file: DeclaredFlavour, plan: NodePlan): Promise<string> {
  const { config } = file;
  if (config === undefined) throw new TypeError('only a flavour with a configuration writes one');
  const known = await knownOptions(file, programOf(file, plan.binary));
  const fill = (values: Readonly<Record<string, Value>>) =>
    Object.entries(values).map(([name, value]): [string, Value] => [name, filledValue(value, plan)]);
  const chosen = file.options === 'config' ? (plan.options as Readonly<Record<string, Value>>) : {};
  const entries = Object.entries({
    ...Object.fromEntries(fill(config.defaults)),
    ...chosen,
    ...Object.fromEntries(fill(config.values)),
  }).filter(([name]) => known?.has(name) ?? true);
  return WRITTEN[config.format](entries);
}

function filledValue(value: Value, plan: NodePlan): Value {
  if (typeof value === 'string') return filled(value, plan);
  return typeof value === 'object' ? value.map((text) => filledText(text, plan)) : value;
}

/** JSON is YAML and, for texts, numbers, booleans and lists, TOML. */
const WRITTEN: Readonly<
  Record<NonNullable<DeclaredFlavour['config']>['format'], (entries: readonly [string, Value][]) => string>
> = {
  yaml: (entries) => lines(entries, ([name, value]) => `${name}: ${JSON.stringify(value)}`),
  toml: (entries) => lines(entries, ([name, value]) => `${name} = ${JSON.stringify(value)}`),
  env: (entries) => lines(entries, ([name, value]) => `${name}=${valueText(value)}`),
  json: (entries) => `${JSON.stringify(Object.fromEntries(entries), undefined, 2)}\n`,
};

function lines(
  entries: readonly [string, Value][],
  line: (entry: readonly [string, Value]) => string,
): string {
  return entries.map((entry) => `${line(entry)}\n`).join('');
}
