/**
 * How other processes reach a tampered node: its faults and counters on disk, and a request to reload them
 * now.
 */
import { type Counts, type NodeFault, readControl, readCounts, removeFault, writeFault } from './settings.ts';

const HOST = '127.0.0.1';
const ANSWER_MS = 2_000;

/** In force from now on, even if the node is not running yet. */
export async function beginNodeFault(dataDir: string, key: string, fault: NodeFault): Promise<void> {
  writeFault(dataDir, key, fault);
  await ask(dataDir, '/reload');
}

export async function endNodeFault(dataDir: string, key: string): Promise<void> {
  removeFault(dataDir, key);
  await ask(dataDir, '/reload');
}

/** @param of key of a fault, or name of a behaviour */
export async function nodeCounts(dataDir: string, of: string): Promise<Counts> {
  await ask(dataDir, '/flush');
  return readCounts(dataDir, of);
}

/** A node that is gone or frozen reads the files when it runs again, and has written most of its counts. */
async function ask(dataDir: string, path: '/reload' | '/flush'): Promise<void> {
  const control = readControl(dataDir);
  if (control === undefined) return;
  try {
    const answer = await fetch(`http://${HOST}:${control.port}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${control.token}` },
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    await answer.arrayBuffer();
  } catch (error) {
    const isAway = error instanceof TypeError || (error as Error).name === 'TimeoutError';
    if (!isAway) throw error;
  }
}
