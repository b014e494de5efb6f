/** Stopping a cluster and removing what it made: from its records alone, so that half a cluster can be removed too. */

import { FLAVOURS } from '../flavours/table.ts';
import { endProcess, isAlive, killProcess } from '../machine/processes.ts';
import type { Driver } from '../places/driver.ts';
import { type ClusterRecord, type NodeRecord, readRun, removeCluster } from '../state/state.ts';

/**
 * The chain and our nodes stop in some ten milliseconds, and `down` promises two seconds in all. What takes longer has
 * nothing to save: its data is removed.
 */
const GRACE_MS = 1500;

export interface Teardown {
  /** Nodes that ran. */
  readonly stopped: readonly string[];
  /** Of those, the ones that did not stop when asked, although they promise to. */
  readonly forced: readonly string[];
}

/** Everything is asked at once; the folder goes when nothing writes into it any more. */
export async function tearDown(stateDir: string, record: ClusterRecord, driver: Driver): Promise<Teardown> {
  const stopped: string[] = [];
  const forced: string[] = [];
  const stopNode = async ({ name, flavour }: NodeRecord) => {
    const run = readRun(stateDir, record.name, name);
    if (run === undefined || !driver.alive(run.process)) return;
    stopped.push(name);
    const { forced: byForce } = await driver.stop(run.process, GRACE_MS);
    if (byForce && FLAVOURS[flavour].stopGraceMs <= GRACE_MS) forced.push(name);
  };
  await Promise.all([...record.nodes.map(stopNode), stopChain(stateDir, record.name)]);
  removeCluster(stateDir, record.name);
  return { stopped: stopped.sort(), forced: forced.sort() };
}

async function stopChain(stateDir: string, name: string): Promise<void> {
  const chain = readRun(stateDir, name, 'chain');
  if (chain !== undefined) await endProcess(chain.process, GRACE_MS);
  // The chain takes Anvil along; only one that was killed from outside could not.
  const anvil = readRun(stateDir, name, 'anvil');
  if (anvil !== undefined && isAlive(anvil.process)) await killProcess(anvil.process);
}
