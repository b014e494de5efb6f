import { DIALECT_NAMES } from '../../client/dialect.ts';
import { NotExpected, oneOf } from '../../cluster/plan/options/flag.ts';
import { LEVELS } from '../../conformance/row.ts';
import type { CommandOptions, Options } from './spec.ts';
import { batch, big, JSON_OPTION } from './values.ts';

/** Every kind's. */
const GRADED: Options = {
  '--level <level>': {
    help: `what rows may change: ${LEVELS.join(', ')}`,
    parse: oneOf(LEVELS),
    default: 'read',
  },
  '--only <text>': 'run only rows whose name or group contains this text',
  '--list': 'list the rows without running them',
  '--output <folder>': 'folder for conformance.json, junit.xml and report.html',
  ...JSON_OPTION,
};

export const conformanceHttp: CommandOptions = {
  options: {
    ...GRADED,
    '--target <url>': {
      help: 'node under test, for example http://127.0.0.1:1633',
      parse: origin,
      required: 'unlisted',
    },
    '--debug-target <url>': { help: 'debug API of the node, if separate', parse: origin },
    '--second <url>': {
      help: 'another node in the same network, for rows that move content',
      parse: origin,
    },
    '--dialect <dialect>': {
      help: `API dialect: ${DIALECT_NAMES.join(', ')} (default: detected)`,
      parse: oneOf(DIALECT_NAMES),
    },
    '--token <token>': 'access token of the node',
    '--batch <id>': { help: 'usable batch of the node, for uploads (default: the largest)', parse: batch },
  },
  note: `
Levels: read changes nothing on the node; write needs a usable batch and uploads content, which stays until the batch
expires; money also buys batches, deposits and withdraws from the node's accounts. Tags, pins and settings are removed or
restored at the end. The command lists anything else left behind.

Exits with 0 when no row is marked failed or error, with 1 when one is, with 2 when the node cannot be graded.

Examples:
  svcnet conformance http --target http://127.0.0.1:1633 --debug-target http://127.0.0.1:1635
  svcnet conformance http --target http://127.0.0.1:1633 --second http://127.0.0.1:1643 --level write --output report`,
};

const CONTRACTS_HELP = 'JSON file with contract addresses (default: those that svcnet deploys)';

export const conformanceWire: CommandOptions = {
  options: {
    ...GRADED,
    '--peer <multiaddress>': {
      help: 'node under test, for example /ip4/127.0.0.1/tcp/1634/p2p/12D3Koo…',
      required: 'unlisted',
    },
    '--network-id <number>': { help: 'network id of the node', parse: big, required: 'unlisted' },
    '--rpc <url>': { help: 'JSON-RPC endpoint of the chain, to compare prices and to spend', parse: url },
    '--contracts <file>': CONTRACTS_HELP,
    '--key <hex>': 'private key of an account that money-level rows may spend from',
    '--batch <id:depth>': 'batch that this account owns, to stamp with (default: buy one)',
    '--hostile': 'also send malformed and hostile messages, to see whether the node survives',
  },
  note: `
Levels: read connects as light nodes, which no other node learns of; write also connects as full nodes, which the node
announces to its peers until it finds them gone, and gossips records of nodes that do not exist; money also buys a batch
and deploys a chequebook from the account of --key. It opens at most four connections per second to a remote machine.

Exits with 0 when no row is marked failed or error, with 1 when one is, with 2 when the node cannot be graded.

Examples:
  svcnet conformance wire --peer /ip4/127.0.0.1/tcp/1634/p2p/12D3Koo… --network-id 4020
  svcnet conformance wire --peer … --network-id 4020 --level money --rpc http://127.0.0.1:8545 --key … --hostile`,
};

export const conformanceChain: CommandOptions = {
  options: {
    ...GRADED,
    '--rpc <url>': { help: 'JSON-RPC endpoint of the chain', parse: url, required: 'unlisted' },
    '--contracts <file>': CONTRACTS_HELP,
    '--start-block <number>': {
      help: 'block of the first contract, from which nodes read events',
      parse: big,
    },
  },
  note: `
No row writes to the chain. Exits with 0 when no row is marked failed or error, with 1 when one is, with 2
when the chain cannot be graded.`,
};

export const conformanceMatrix: CommandOptions = {
  arguments: ['column title, and the conformance.json of a run'],
  options: { '--output <file>': 'file for the page (default: standard output)' },
  note: `
Example:
  svcnet conformance matrix ours=a/conformance.json Bee=b/conformance.json --output conformance.md`,
};

function origin(text: string): string {
  const whole = url(text);
  const { pathname, search, hash } = new URL(whole);
  if (pathname === '/' && search === '' && hash === '') return whole;
  throw new NotExpected('Expected a URL without a path, for example http://127.0.0.1:1633.');
}

function url(text: string): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text.replace(/\/+$/, '');
  throw new NotExpected('Expected a URL, for example http://127.0.0.1:1633.');
}
