import { toHex } from '../../../formats/crypto/hex.ts';
import { suggestion } from '../../base/format.ts';
import type { NodePlan } from '../flavour.ts';

export type Value = string | number | boolean | readonly string[];

interface Row {
  readonly about: string;
  of(plan: NodePlan): Value;
}

/** Keys follow from the seed, so a password protects nothing. */
export const PASSWORD = 'svcnet';

/** A Bee refuses loopback addresses, and plain `localhost`. */
export function loopbackNamed(hostAndPort: string): string {
  return hostAndPort.replace(/^127\.[\d.]+(?=:)/, 'LOCALHOST');
}

export const VALUES = {
  name: { about: 'name of the node in its cluster', of: ({ name }) => name },
  mode: { about: 'full, light or boot', of: ({ mode }) => mode },
  'full-node': { about: 'true, except for a light node', of: ({ mode }) => mode !== 'light' },
  'boot-node': { about: 'true for a boot node', of: ({ mode }) => mode === 'boot' },
  'data-dir': { about: 'folder of the node, which has its keys and files', of: ({ dataDir }) => dataDir },
  password: { about: 'password of its key files', of: () => PASSWORD },
  listen: { about: 'IPv4 address to listen on', of: ({ listen }) => listen },
  'api-port': { about: 'port of its HTTP API', of: ({ ports }) => ports.api },
  'p2p-port': { about: 'port of its p2p listener', of: ({ ports }) => ports.p2p },
  'debug-port': { about: 'a port for whatever else it serves', of: ({ ports }) => ports.debug },
  advertised: {
    about: '`host:port` to advertise to peers; empty: the address that it listens on',
    of: ({ advertised }) => advertised ?? '',
  },
  'advertised-name': {
    about: 'the same with `LOCALHOST` for a loopback address, for a program that advertises none',
    of: ({ advertised }) => loopbackNamed(advertised ?? ''),
  },
  bootnodes: {
    about: 'multiaddresses of the nodes to contact first; a list',
    of: ({ network }) => network.bootnodes,
  },
  'dedicated-bootnodes': {
    about: 'the same, but empty in a network without boot nodes',
    of: ({ network }) => (network.dedicatedBootnodes ? network.bootnodes : []),
  },
  'network-id': { about: 'id of the network', of: ({ network }) => network.networkId },
  rpc: { about: "URL of the chain's JSON-RPC endpoint", of: ({ network }) => network.rpc },
  'block-time': { about: 'seconds between blocks', of: ({ network }) => network.blockTimeMs / 1000 },
  'start-block': { about: 'block of the postage contract', of: ({ network }) => network.startBlock },
  'token-address': { about: 'contract of the token', of: ({ network }) => network.contracts.token },
  'postage-stamp-address': {
    about: 'contract of postage',
    of: ({ network }) => network.contracts.postageStamp,
  },
  'staking-address': { about: 'contract of stakes', of: ({ network }) => network.contracts.stakeRegistry },
  'redistribution-address': {
    about: 'contract of the storage game',
    of: ({ network }) => network.contracts.redistribution,
  },
  'chequebook-factory-address': {
    about: 'contract that deploys chequebooks',
    of: ({ network }) => network.contracts.chequebookFactory,
  },
  'price-oracle-address': {
    about: 'contract with the exchange rate of cheques',
    of: ({ network }) => network.contracts.swapPriceOracle,
  },
  'swap-enable': { about: 'whether debts are paid by cheques', of: ({ network }) => network.swap !== false },
  'swap-deposit': {
    about: 'what its chequebook starts with, token units',
    of: ({ network }) => (network.swap === false ? '0' : network.swap.deposit.toString()),
  },
  profile: { about: 'timing of the cluster: fast or production', of: ({ profile }) => profile },
  cors: { about: 'web origins that may call its API; a list', of: ({ cors }) => cors },
  'ethereum-address': {
    about: 'address of its account, `0x` and 40 hex digits',
    of: ({ identity }) => `0x${identity.ethereum}`,
  },
  'swarm-key': {
    about: 'key of its account, 64 hex digits',
    of: ({ identity }) => toHex(identity.keys.swarm),
  },
  'libp2p-key': {
    about: 'key of its libp2p identity, 64 hex digits',
    of: ({ identity }) => toHex(identity.keys.libp2p),
  },
  'pss-key': { about: 'key of its messages, 64 hex digits', of: ({ identity }) => toHex(identity.keys.pss) },
} as const satisfies Readonly<Record<string, Row>>;

const NAMES = Object.keys(VALUES);
/** A single word in braces; other braces are text, as in JSON and TOML, and so is a variable of a shell: `${HOME}`. */
const PLACEHOLDER = /(?<!\$(?=\{[A-Z][A-Z\d_]*\}))\{([A-Za-z][\w-]*)\}/g;

/** @returns what was expected; undefined: every value in braces is known */
export function unknownValue(text: string): string | undefined {
  const unknown = [...text.matchAll(PLACEHOLDER)].find(([, name = '']) => !NAMES.includes(name))?.[1];
  if (unknown !== undefined) return `known values in braces; {${unknown}} is none${meant(unknown)}`;
  const open = /\{[a-z][\w-]*$/i.exec(text)?.[0];
  return open === undefined ? undefined : `a brace after ${open}`;
}

/** `{port}` stands for several. */
function meant(unknown: string): string {
  const whole = NAMES.filter((name) => name.split('-').includes(unknown.toLowerCase()));
  return whole.length === 0
    ? suggestion(unknown, NAMES)
    : `, did you mean ${whole.map((name) => `'${name}'`).join(' or ')}?`;
}

/** A lone value keeps its type. */
export function filled(text: string, plan: NodePlan): Value {
  const [, alone] = /^\{([a-z][\w-]*)\}$/i.exec(text) ?? [];
  return alone === undefined ? filledText(text, plan) : valueOf(alone, plan);
}

export function filledText(text: string, plan: NodePlan): string {
  return text.replaceAll(PLACEHOLDER, (_, name: string) => valueText(valueOf(name, plan)));
}

export function valueText(value: Value): string {
  return typeof value === 'object' ? value.join(',') : String(value);
}

function valueOf(name: string, plan: NodePlan): Value {
  const row: Row | undefined = (VALUES as Readonly<Record<string, Row>>)[name];
  if (row === undefined) throw new TypeError(`{${name}} was checked when the file was read`);
  return row.of(plan);
}
