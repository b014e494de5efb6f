/**
 * An honest client beside attackers: it uploads 4 KiB and reads them back, before an attack and during it. Bars: p95 of a
 * round trip within three times the quiet one, memory less than 200 MiB above. `SVCNET_ATTACKS` names rows of
 * `attack/attacks.ts`, separated by commas.
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Cluster } from '../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../harness/cluster/nodes/cluster-node.ts';
import { parseExposition } from '../../harness/metrics/exposition.ts';
import { ATTACKS, type AttackName, type Target } from './attack/attacks.ts';
import { anonymousMib } from './processes.ts';
import type { BenchResult } from './result.ts';

export const name = 'An honest client of a node that is attacked, three nodes, each a process';

const P95_BAR = 3;
const MEMORY_BAR_MIB = 200;
const QUIET_MS = 2000;
const ATTACKED_MS = 5000;
const RECOVERY_MS = 1500;
/** An attack that is not under way by then is measured nevertheless: its beginning keeps the node busy. */
const BEGIN_MS = 15_000;
const LOOK_MS = 100;

export async function run(): Promise<BenchResult[]> {
  const stateDir = mkdtempSync(join(tmpdir(), 'svcnet-bench-'));
  const cluster = await Cluster.start({ nodes: 3, seed: 7, stateDir });
  try {
    const node = cluster.node(0);
    const results: BenchResult[] = [];
    // As in a node that has been used.
    await roundTrips(node, QUIET_MS);
    for (const attack of wanted()) results.push(...(await attacked(node, attack)));
    return results;
  } finally {
    await cluster.stop();
    rmSync(stateDir, { recursive: true, force: true });
  }
}

function wanted(): AttackName[] {
  const names = Object.keys(ATTACKS) as AttackName[];
  const chosen = process.env.SVCNET_ATTACKS?.split(',');
  const unknown = chosen?.find((one) => !(names as string[]).includes(one));
  if (unknown !== undefined)
    throw new Error(`SVCNET_ATTACKS: got '${unknown}', expected of ${names.join(', ')}`);
  return names.filter((one) => chosen === undefined || chosen.includes(one));
}

async function attacked(node: ClusterNode, attack: AttackName): Promise<BenchResult[]> {
  const quiet = p95(await roundTrips(node, QUIET_MS));
  // The first look begins to measure, the others begin anew.
  await longestStallMs(node);
  const memory = watchMemory(node.pid as number);
  const attacker = await begin(attack, node);
  let measured: { busy: number; peak: number; stallMs: number };
  try {
    const busy = p95(await roundTrips(node, ATTACKED_MS));
    measured = { busy, peak: memory.peakMib(), stallMs: await longestStallMs(node) };
  } finally {
    memory.end();
    await attacker.end();
  }
  await pause(RECOVERY_MS);
  const { busy, peak, stallMs } = measured;
  return [
    {
      name: `${attack}: p95`,
      value: busy,
      unit: 'ms',
      ratio: busy / quiet,
      baseline: `quiet, bar ${P95_BAR}x`,
    },
    { name: `${attack}: longest stall`, value: stallMs, unit: 'ms' },
    {
      name: `${attack}: memory`,
      value: peak,
      unit: 'MiB',
      ratio: peak / MEMORY_BAR_MIB,
      baseline: `the bar, ${MEMORY_BAR_MIB} MiB`,
    },
    { name: `${attack}: memory that stays`, value: memory.nowMib(), unit: 'MiB' },
  ];
}

interface Attacker {
  end(): Promise<void>;
}

async function begin(attack: AttackName, node: ClusterNode): Promise<Attacker> {
  const target: Target = { api: node.api, p2p: node.p2p, batch: node.batch as string };
  const program = join(import.meta.dirname, 'attack', 'attacker-process.ts');
  const attacker = spawn(process.execPath, [program, attack, JSON.stringify(target)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(attacker, 'exit');
  await Promise.race([once(attacker.stdout, 'data'), exited, pause(BEGIN_MS)]);
  return {
    async end() {
      const hadEnded = attacker.exitCode !== null || attacker.signalCode !== null;
      attacker.kill('SIGKILL');
      await exited;
      if (hadEnded) throw new Error(`the attacker of '${attack}' ended with ${attacker.exitCode}`);
    },
  };
}

/** @returns milliseconds of each, one after the other */
async function roundTrips({ api, batch }: ClusterNode, forMs: number): Promise<number[]> {
  const took: number[] = [];
  const headers = { 'svc-postage-batch-id': batch as string };
  const until = performance.now() + forMs;
  do {
    const body = randomBytes(4096);
    const start = performance.now();
    const uploaded = await fetch(`${api}/bytes`, { method: 'POST', headers, body });
    const { reference } = (await uploaded.json()) as { reference: string };
    const read = await fetch(`${api}/bytes/${reference}`);
    const bytes = Buffer.from(await read.arrayBuffer());
    if (!bytes.equals(body)) throw new Error(`the node answered ${read.status} with other bytes`);
    took.push(performance.now() - start);
    // The client does not take all there is.
    await pause(5);
  } while (performance.now() < until);
  return took;
}

async function longestStallMs({ api }: ClusterNode): Promise<number> {
  const text = await (await fetch(`${api}/metrics`)).text();
  const { samples } = parseExposition(text);
  const max = samples.find((sample) => sample.name === 'nodejs_eventloop_lag_max_seconds');
  return (max?.value ?? Number.NaN) * 1000;
}

/** Above what it is now. */
function watchMemory(pid: number) {
  const before = anonymousMib(pid);
  let peak = before;
  const looks = setInterval(() => {
    peak = Math.max(peak, anonymousMib(pid));
  }, LOOK_MS);
  return {
    peakMib: () => peak - before,
    nowMib: () => anonymousMib(pid) - before,
    end: () => clearInterval(looks),
  };
}

function p95(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.95)] as number;
}
