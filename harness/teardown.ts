/** Stopping a cluster and removing what it made: from its records alone, so that half a cluster can be removed too. */
import type { Driver } from './drivers/driver.ts';
import { endProcess, isAlive, killProcess } from './processes.ts';
import { type ClusterRecord, readRun, removeCluster } from './state.ts';

/** The chain stops in some ten milliseconds; with the nodes' own grace `down` stays below two seconds. */
const CHAIN_GRACE_MS = 1500;

export interface Teardown {
  /** Nodes that ran. */
  readonly stopped: readonly string[];
  /** Of those, the ones that did not stop when asked. */
  readonly forced: readonly string[];
}

/** Everything is asked at once; the folder goes when nothing writes into it any more. */
export async function tearDown(stateDir: string, record: ClusterRecord, driver: Driver): Promise<Teardown> {
  const stopped: string[] = [];
  const forced: string[] = [];
  const stopNode = async (node: string) => {
    const run = readRun(stateDir, record.name, node);
    if (run === undefined || !driver.alive(run.process)) return;
    stopped.push(node);
    if ((await driver.stop(run.process)).forced) forced.push(node);
  };
  await Promise.all([...record.nodes.map(({ name }) => stopNode(name)), stopChain(stateDir, record.name)]);
  removeCluster(stateDir, record.name);
  return { stopped: stopped.sort(), forced: forced.sort() };
}

async function stopChain(stateDir: string, name: string): Promise<void> {
  const chain = readRun(stateDir, name, 'chain');
  if (chain !== undefined) await endProcess(chain.process, CHAIN_GRACE_MS);
  // The chain takes Anvil along; only one that was killed from outside could not.
  const anvil = readRun(stateDir, name, 'anvil');
  if (anvil !== undefined && isAlive(anvil.process)) await killProcess(anvil.process);
}
