/** Parsers of option values, each naming what it expected, and the options that several commands share. */

import { type Command, InvalidArgumentError, Option } from 'commander';
import { DURATION_EXPECTED, parseDurationMs, parseWaitMs, WAIT_EXPECTED } from '../../../formats/units.ts';
import { suggestion } from '../../base/format.ts';
import { DIALECT_NAMES } from '../../client/dialect.ts';
import { TRUST } from '../../cluster/plan/trust.ts';
import type { Machine } from '../../export/export-request.ts';
import { BEHAVIOUR_NAMES } from '../../flavours/dishonest/names.ts';
import { FLAVOUR_NAMES } from '../../flavours/flavour.ts';
import { CREDITS, PROFILES } from '../../flavours/profiles.ts';
import { DRIVER_DEFAULT, DRIVER_NAMES } from '../../places/driver.ts';
import type { CommandContext } from '../context.ts';
import type { FlavourCount } from '../nodes-flags.ts';

export const NODES_MAX = 200;
const INTERVAL_MS = { min: 100, max: 3_600_000 } as const;

/** Runs a command with its context; commands know nothing about the terminal. */
export type RunCommand = <F>(
  flags: F,
  command: (flags: F, context: CommandContext) => Promise<number | void>,
) => Promise<void>;

/** A command on one cluster, with the options that all of these share. */
export type ClusterCommand = (name: string, description: string) => Command;

export function clusterCommands(program: Command): ClusterCommand {
  return (name, description) =>
    program
      .command(name)
      .description(description)
      .option('--name <cluster>', 'name of the cluster (default: the only one)')
      .option('--json', 'print one JSON document and nothing else');
}

/** For commands that can start a cluster of several flavours. */
export const MIXED_NOTE = `
Add real Bees with --with bee=COUNT; --bee-binary or SVCNET_BEE_BINARY names the executable. In a cluster with a Bee,
blocks are mined at the block time and never on demand, and every node uses the public network's payment-threshold and
refresh-rate, even in the fast profile: a Bee blocklists peers that settle at another rate.
`;

export function whole(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}.`);
  };
}

export function oneOf<W extends string>(words: readonly W[]): (text: string) => W {
  return (text) => {
    const known = words.find((candidate) => candidate === text);
    if (known !== undefined) return known;
    throw new InvalidArgumentError(`Expected one of ${words.join(', ')}${suggestion(text, words)}`);
  };
}

export function driverOption(): Option {
  const help = `where nodes run: process (one each), embedded (all in one process), docker (a container each) (default: ${DRIVER_DEFAULT})`;
  return new Option('--driver <driver>', help).argParser(oneOf(DRIVER_NAMES));
}

export function beeBinaryOption(): Option {
  const help = 'executable of nodes of flavour bee (default: SVCNET_BEE_BINARY)';
  return new Option('--bee-binary <path>', help);
}

export function metricsPortOption(): Option {
  return new Option(
    '--metrics-port <port>',
    'local port that serves /metrics of the run itself while it lasts (default: none)',
  ).argParser(whole(1024, 65_535));
}

export function profileOption(): Option {
  const help = `timing constants: ${PROFILES.join(', ')} (default: fast)`;
  return new Option('--profile <profile>', help).argParser(oneOf(PROFILES));
}

export function creditOption(fallback: string): Option {
  const help = `debt that peers allow each other before a payment is due: ${CREDITS.join(', ')} (default: ${fallback})`;
  return new Option('--credit <credit>', help).argParser(oneOf(CREDITS));
}

export function coldGossipOption(): Option {
  const help =
    "svc nodes discover each other by gossip only (default: they start with each other's addresses)";
  return new Option('--cold-gossip', help);
}

export function linkFaultsOption(): Option {
  return new Option('--link-faults', 'put a proxy between the nodes, for link faults');
}

export function dialectOption(): Option {
  const help = `API dialect of svc nodes: ${DIALECT_NAMES.join(', ')} (default: svc)`;
  return new Option('--dialect <dialect>', help).argParser(oneOf(DIALECT_NAMES));
}

export function trustOption(): Option {
  return new Option(TRUST, 'run code and programs that a file or run from elsewhere names');
}

export function machineFaultsOption(): Option {
  const help = 'make clocks and disks of svc nodes, and the RPC endpoint, available to svcnet fault';
  return new Option('--machine-faults', help);
}

export function dishonestOption(): Option {
  const help =
    'comma-separated behaviours of the nodes of --with dishonest=COUNT (one node if there are none)';
  return new Option('--dishonest <behaviours>', `${help}: ${BEHAVIOUR_NAMES.join(', ')}`).argParser((text) =>
    text.split(',').map((name) => oneOf(BEHAVIOUR_NAMES)(name.trim())),
  );
}

export function withFlavours(): Option {
  return new Option('--with <flavour=count>', 'additional nodes of another flavour (repeatable)')
    .argParser(flavourCount)
    .default([], 'none');
}

function flavourCount(text: string, before: readonly FlavourCount[]): readonly FlavourCount[] {
  const [, name = '', count = '1'] = /^([^=]*)(?:=(.*))?$/.exec(text) ?? [];
  return [...before, { flavour: oneOf(FLAVOUR_NAMES)(name), count: whole(1, NODES_MAX)(count) }];
}

export function collect(text: string, before: readonly string[]): readonly string[] {
  return [...before, text];
}

export function machineFlag(text: string, before: readonly Machine[]): readonly Machine[] {
  const [, name = '', address = ''] = /^([^=\s]+)=([^=\s:/]+)$/.exec(text) ?? [];
  if (name === '')
    throw new InvalidArgumentError('Expected a host name and an address, for example worker-1=10.0.0.11.');
  if (before.some((machine) => machine.name === name))
    throw new InvalidArgumentError(`${name} is given twice.`);
  return [...before, { name, address }];
}

export function seedFlag(text: string): bigint {
  const value = /^(\d{1,20}|0x[0-9a-fA-F]{1,16})$/.test(text) ? BigInt(text) : undefined;
  if (value !== undefined && value >> 64n === 0n) return value;
  throw new InvalidArgumentError('Expected a whole number from 0 to 2^64 - 1.');
}

export function bigFlag(text: string): bigint {
  if (/^\d{1,78}$/.test(text)) return BigInt(text);
  throw new InvalidArgumentError('Expected a whole number.');
}

export function durationFlag(text: string): number {
  const ms = parseDurationMs(text);
  if (ms !== undefined) return ms;
  throw new InvalidArgumentError(`Expected ${DURATION_EXPECTED}.`);
}

/** A time that something may take at most. */
export function limitFlag(text: string): number {
  const ms = parseWaitMs(text);
  if (ms !== undefined) return ms;
  throw new InvalidArgumentError(`Expected ${WAIT_EXPECTED}.`);
}

export function intervalFlag(text: string): number {
  const ms = parseDurationMs(text);
  if (ms !== undefined && ms >= INTERVAL_MS.min && ms <= INTERVAL_MS.max) return ms;
  throw new InvalidArgumentError(`Expected ${DURATION_EXPECTED}, from 100ms to 1h.`);
}
