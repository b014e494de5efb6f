/** `svcnet conformance` on the command line: one subcommand per interface of a node. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { DIALECT_NAMES } from '../../client/dialect.ts';
import { LEVELS } from '../../conformance/row.ts';
import { bigFlag, oneOf, type RunCommand } from './values.ts';

export function addConformance(program: Command, run: RunCommand): void {
  const conformance = program
    .command('conformance')
    .description('check any storage node against the protocol, with evidence for each verdict');

  gradedBy(conformance, 'http', 'check the HTTP API of a node')
    .option('--target <url>', 'node under test, for example http://127.0.0.1:1633', originFlag)
    .option('--debug-target <url>', 'its debug API, if separate', originFlag)
    .option('--second <url>', 'another node of the same network, for rows that move content', originFlag)
    .addOption(
      new Option(
        '--dialect <dialect>',
        `API dialect: ${DIALECT_NAMES.join(', ')} (default: detected)`,
      ).argParser(oneOf(DIALECT_NAMES)),
    )
    .option('--token <token>', 'access token of the node')
    .option('--batch <id>', 'usable batch of the node, for uploads (default: the largest)', batchFlag)
    .addHelpText(
      'after',
      `${LEVELS_NOTE}
Examples:
  svcnet conformance http --target http://127.0.0.1:1633 --debug-target http://127.0.0.1:1635
  svcnet conformance http --target http://127.0.0.1:1633 --second http://127.0.0.1:1643 --level write --output report`,
    )
    .action((flags, command: Command) => {
      required(command, ['--target']);
      return run(flags, async (f, c) => (await import('../conformance.ts')).conformanceHttp(f as never, c));
    });

  gradedBy(conformance, 'wire', 'check the wire protocols of a node')
    .option('--peer <multiaddress>', 'node under test, for example /ip4/127.0.0.1/tcp/1634/p2p/12D3Koo…')
    .option('--network-id <number>', 'network id of the node', bigFlag)
    .option('--rpc <url>', 'JSON-RPC endpoint of its chain, to compare prices and to spend', urlFlag)
    .option('--contracts <file>', 'JSON file with contract addresses (default: those that svcnet deploys)')
    .option('--key <hex>', 'private key of an account that rows of level money may spend from')
    .option('--batch <id:depth>', 'batch of that account to stamp with (default: buy one)')
    .option('--hostile', 'also send malformed and hostile messages, to see whether the node survives')
    .addHelpText(
      'after',
      `
Levels: read connects as light nodes, which no other node learns of; write also connects as full nodes, which the node
announces to its peers until it finds them gone, and gossips records of nodes that do not exist; money also buys a batch
and deploys a chequebook from the account of --key. At most four connections a second are opened to another machine.

Exits with 0 when no row is red, with 1 when one is, with 2 when the node cannot be graded.

Examples:
  svcnet conformance wire --peer /ip4/127.0.0.1/tcp/1634/p2p/12D3Koo… --network-id 4020
  svcnet conformance wire --peer … --network-id 4020 --level money --rpc http://127.0.0.1:8545 --key … --hostile`,
    )
    .action((flags, command: Command) => {
      required(command, ['--peer', '--network-id']);
      return run(flags, async (f, c) => (await import('../conformance.ts')).conformanceWire(f as never, c));
    });

  gradedBy(conformance, 'chain', 'check the contracts that nodes need on a chain')
    .option('--rpc <url>', 'JSON-RPC endpoint of the chain', urlFlag)
    .option('--contracts <file>', 'JSON file with contract addresses (default: those that svcnet deploys)')
    .option('--start-block <number>', 'block of the first contract, from which nodes read events', bigFlag)
    .addHelpText(
      'after',
      `
No row writes to the chain. Exits with 0 when no row is red, with 1 when one is, with 2 when the chain cannot be graded.`,
    )
    .action((flags, command: Command) => {
      required(command, ['--rpc']);
      return run(flags, async (f, c) => (await import('../conformance.ts')).conformanceChain(f as never, c));
    });

  conformance
    .command('matrix')
    .description('write reports side by side as a Markdown page')
    .argument('<title=report...>', 'column title, and the conformance.json of a run')
    .option('--output <file>', 'file for the page (default: standard output)')
    .addHelpText(
      'after',
      '\nExample:\n  svcnet conformance matrix ours=a/conformance.json Bee=b/conformance.json --output conformance.md',
    )
    .action((reports: string[], flags) =>
      run(flags, async (f, c) => (await import('../conformance.ts')).conformanceMatrix(reports, f, c)),
    );
}

/** A subcommand with the options that all kinds share. */
function gradedBy(parent: Command, name: string, description: string): Command {
  return parent
    .command(name)
    .description(description)
    .addOption(
      new Option('--level <level>', `what rows may change: ${LEVELS.join(', ')}`)
        .argParser(oneOf(LEVELS))
        .default('read'),
    )
    .option('--only <text>', 'run only rows whose name or group contains this text')
    .option('--list', 'list the rows without running them')
    .option('--output <folder>', 'folder for conformance.json, junit.xml and report.html')
    .option('--json', 'print one JSON document and nothing else');
}

const LEVELS_NOTE = `
Levels: read changes nothing on the node; write needs a usable batch and uploads content, which stays until the batch
expires; money also buys batches, deposits and withdraws from the node's accounts. Tags, pins and settings are removed or
restored at the end. Anything else left behind is listed.

Exits with 0 when no row is red, with 1 when one is, with 2 when the node cannot be graded.
`;

/** Without a path: the rows bring theirs. */
function originFlag(text: string): string {
  const url = urlFlag(text);
  const { pathname, search, hash } = new URL(url);
  if (pathname === '/' && search === '' && hash === '') return url;
  throw new InvalidArgumentError('Expected a URL without a path, for example http://127.0.0.1:1633.');
}

/** Ends the command when one of these options is missing; `--list` needs none. */
function required(command: Command, names: readonly string[]): void {
  const flags = command.opts();
  if (flags['list'] === true) return;
  for (const option of command.options.filter(({ long }) => names.includes(long ?? '')))
    if (flags[option.attributeName()] === undefined)
      command.error(`error: required option '${option.flags}' not specified`);
}

function batchFlag(text: string): string {
  if (/^[0-9a-f]{64}$/i.test(text)) return text.toLowerCase();
  throw new InvalidArgumentError('Expected 64 hex digits.');
}

function urlFlag(text: string): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text.replace(/\/+$/, '');
  throw new InvalidArgumentError('Expected a URL, for example http://127.0.0.1:1633.');
}
