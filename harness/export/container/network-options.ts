import { Command, CommanderError } from 'commander';
import { HarnessError } from '../../base/errors.ts';
import { DIALECT_NAMES } from '../../client/dialect.ts';
import type { DefinitionInput } from '../../cluster/plan/definition-input.ts';
import { readClusterFile } from '../../cluster/plan/document/read.ts';
import { NotExpected, oneOf, seed, whole } from '../../cluster/plan/options/flag.ts';
import { NODES_DEFAULT, REAL_NODES_MAX } from '../../cluster/plan/options/nodes.ts';
import { expectTrusted, programsIn } from '../../cluster/plan/trust.ts';
import type { StartingDriver } from '../../places/facts.ts';
import { PORT_RANGE, RPC_PORT } from './ports.ts';

/** No containers inside a container, no attached nodes. */
const DRIVERS: readonly StartingDriver[] = ['embedded', 'process'];

export const NETWORK_HELP = `A whole storage network in one container.

usage: docker run -p 1633:1633 -p 8545:8545 svcnet network [--nodes 5] [--seed S] [--dialect svc] [-f FILE]

  --nodes N      number of nodes, 1 to ${REAL_NODES_MAX} (SVCNET_NODES, default ${NODES_DEFAULT})
  --seed S       keys, overlays, contracts and batches follow from it (SVCNET_SEED, default: drawn)
  --dialect D    names and values on HTTP: ${DIALECT_NAMES.join(', ')} (SVCNET_DIALECT, default svc)
  --allowed-hosts NAMES   host names, separated by commas, that the APIs answer to beside addresses and localhost
                 (SVCNET_ALLOWED_HOSTS); * for all
  -f FILE        cluster file (YAML) of a volume; flags and variables win over it
  --trust        run programs that this file names

The API of node i is at port 1633 + 10 i, the chain's JSON-RPC endpoint at 8545. When the network is usable the container
is healthy, and its document is the only line on standard output and in /data/network.json.
`;

/** How each key is given, and what is valid. */
const KEYS = {
  nodes: { flag: '--nodes', variable: 'SVCNET_NODES', parse: whole(1, REAL_NODES_MAX) },
  seed: { flag: '--seed', variable: 'SVCNET_SEED', parse: seed },
  dialect: { flag: '--dialect', variable: 'SVCNET_DIALECT', parse: oneOf(DIALECT_NAMES) },
} as const;

type Key = keyof typeof KEYS;
type Flags = { readonly [key in Key]?: string } & {
  readonly file?: string;
  readonly allowedHosts?: string;
  readonly trust?: true;
};

export async function networkDefinition(
  argv: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Promise<{ readonly input: DefinitionInput; readonly source: string } | undefined> {
  const flags = parse(argv);
  if (flags === undefined) return undefined;
  const file = flags.file === undefined ? {} : await readClusterFile(flags.file, '-f');
  expectTrusted(programsIn(file), { source: flags.file ?? 'network', trust: flags.trust });
  const given = Object.keys(KEYS).map((key) => [key, valueOf(key as Key, flags, environment)] as const);
  const hosts = hostNames(flags, environment);
  const input = {
    name: 'network',
    listen: '0.0.0.0',
    ports: PORT_RANGE,
    ...file,
    chain: { port: RPC_PORT, ...(file['chain'] as object | undefined) },
    ...(hosts === undefined ? {} : { allowedHosts: hosts }),
    ...Object.fromEntries(given.filter(([, value]) => value !== undefined)),
  };
  const wanted = file['driver'] ?? 'embedded';
  const driver = DRIVERS.find((known) => known === wanted);
  if (driver === undefined) {
    throw new HarnessError(
      'DEFINITION_INVALID',
      `${flags.file}: driver: got ${JSON.stringify(wanted)}, expected ${DRIVERS.join(' or ')}: all of the network is in this container`,
    );
  }
  return { input: { ...input, driver }, source: flags.file ?? 'network' };
}

function parse(argv: readonly string[]): Flags | undefined {
  const command = new Command('network')
    .helpOption(false)
    .allowExcessArguments(false)
    .option('--nodes <count>')
    .option('--seed <number>')
    .option('--dialect <name>')
    .option('--allowed-hosts <names>')
    .option('-f, --file <path>')
    .option('--trust')
    .option('-h, --help')
    .configureOutput({ writeErr: () => undefined })
    .exitOverride();
  try {
    const { help, ...flags } = command.parse([...argv], { from: 'user' }).opts<Flags & { help?: true }>();
    return help === true ? undefined : flags;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    throw new HarnessError('USAGE', error.message.replace(/^error: /, ''), {
      cause: error,
      hint: 'All flags: docker run --rm svcnet network --help',
    });
  }
}

/** Checked with the definition. */
function hostNames(
  { allowedHosts }: Flags,
  environment: Readonly<Record<string, string | undefined>>,
): string[] | undefined {
  const text = allowedHosts ?? environment['SVCNET_ALLOWED_HOSTS'];
  if (text === undefined || text === '') return undefined;
  return text.split(',').map((name) => name.trim());
}

/** A flag wins; an empty variable is none. */
function valueOf(
  key: Key,
  flags: Flags,
  environment: Readonly<Record<string, string | undefined>>,
): number | bigint | string | undefined {
  const { flag, variable, parse } = KEYS[key];
  const text = flags[key] ?? (environment[variable] || undefined);
  if (text === undefined) return undefined;
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof NotExpected)) throw error;
    const name = flags[key] === undefined ? variable : flag;
    const expected = error.message.replace(/^Expected (.*?)\.?$/, 'expected $1');
    throw new HarnessError('USAGE', `${name}: got '${text}', ${expected}`, { cause: error });
  }
}
