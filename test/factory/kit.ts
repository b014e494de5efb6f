/**
 * The preset, started by the command line and reached at its well-known ports by the official client. If one of these is in
 * use, the same network runs at others.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Bee, type BZZ } from '@ethersphere/bee-js';
import type { ClusterDocument } from '../../harness/cluster/cluster-document.ts';
import { eventually } from '../cluster/node/kit.ts';
import { portShift } from '../cluster/ports.ts';
import { startSvcnet } from '../cluster/svcnet.ts';

const START_LIMIT = '120s';

const folder = mkdtempSync(join(tmpdir(), 'svcnet-factory-'));
const stateDir = join(folder, 'state');
let document: ClusterDocument | undefined;

const APIS = [1633, 1635, 1637, 1639, 1641];
const CHAIN = 8545;
const shift = await portShift([CHAIN, ...APIS.flatMap((api) => [api, api + 1])]);
export const apiPorts = APIS.map((port) => port + shift);
export const chainPort = CHAIN + shift;

export const PRESET = shift === 0 ? ['--preset', 'factory'] : ['--file', presetFile('moved', chainPort)];

export function presetFile(name: string, chain: number): string {
  const file = join(folder, `${name}.json`);
  const ports = shift === 0 ? {} : { ports: { first: apiPorts[0], stride: 2, debug: 'free' } };
  writeFileSync(file, JSON.stringify({ preset: 'factory', ...ports, chain: { port: chain } }));
  return file;
}

export const bees = apiPorts.map((port) => new Bee(`http://localhost:${port}`));
export const [queen, payer, payee, reader] = bees as [Bee, Bee, Bee, Bee, Bee];
/** Coins and tokens of a node may be sent nowhere else. */
export const WITHDRAWAL = '0xd238ff944bacb478cbed5efcae784d7bf4f2ff80';

export async function startPreset(): Promise<void> {
  const { code, stdout, stderr } = await svcnet('up', ...PRESET, '--json', '--timeout', START_LIMIT);
  if (code !== 0) throw new Error(`the preset has not started: ${stderr}`);
  document = JSON.parse(stdout) as ClusterDocument;
}

/** Also after a failed start. */
export async function stopPreset(): Promise<void> {
  const { code, stderr } = await svcnet('down');
  rmSync(folder, { recursive: true, force: true });
  if (code !== 0) throw new Error(stderr);
}

export const svcnet = (...args: string[]) => startSvcnet(args, { stateDir }).finished;

export function started(): ClusterDocument {
  if (document === undefined) throw new Error('the preset has not started');
  return document;
}

export function batchOf(node: number): string {
  const batch = started().batches.find((one) => one.node === `node-${node}`);
  if (batch === undefined) throw new Error(`node-${node} has no batch`);
  return batch.id;
}

/** Waits for everything that a node has sent. */
export function mined(bee: Bee): Promise<true> {
  return eventually('transactions are pending', async () => {
    const { length } = await bee.getAllPendingTransactions();
    return length === 0 ? undefined : `${length} of them`;
  });
}

export function becomes(what: string, expected: BZZ, read: () => Promise<BZZ>): Promise<true> {
  return eventually(`${what} is not ${expected.toDecimalString()}`, async () => {
    const seen = await read();
    return seen.eq(expected) ? undefined : seen.toDecimalString();
  });
}
