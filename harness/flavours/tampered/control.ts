import { requestDirectly } from '../../base/direct.ts';
import { HarnessError } from '../../base/errors.ts';
import { processOf, whileRunning } from '../../base/machine/processes.ts';
import {
  type Controlled,
  type Counts,
  type NodeFault,
  readControl,
  readCounts,
  removeFault,
  writeFault,
} from './settings.ts';

const controlledHere = new Map<string, Controlled>();

export async function serveHere(dataDir: string, controlled: Controlled): Promise<AsyncDisposable> {
  controlledHere.set(dataDir, controlled);
  return {
    async [Symbol.asyncDispose]() {
      if (controlledHere.get(dataDir) === controlled) controlledHere.delete(dataDir);
    },
  };
}

const HOST = '127.0.0.1';

/** It is in force at once, even for a node that is not running. */
export async function beginNodeFault(dataDir: string, key: string, fault: NodeFault): Promise<void> {
  writeFault(dataDir, key, fault);
  await ask(dataDir, 'reload');
}

export async function endNodeFault(dataDir: string, key: string): Promise<void> {
  removeFault(dataDir, key);
  await ask(dataDir, 'reload');
}

/** @param of key of a fault, or name of a behaviour */
export async function nodeCounts(dataDir: string, of: string): Promise<Counts> {
  await ask(dataDir, 'flush');
  return readCounts(dataDir, of);
}

/**
 * A node that is gone or frozen reads the files when it runs again. @throws HarnessError `FAULT_REFUSED` when a running node
 * does not take it
 */
async function ask(dataDir: string, what: keyof Controlled): Promise<void> {
  const here = controlledHere.get(dataDir);
  if (here !== undefined) return here[what]();
  const control = readControl(dataDir);
  if (control === undefined) return;
  const url = `http://${HOST}:${control.port}/${what}`;
  try {
    const { statusCode, body } = await whileRunning(control.pid, (signal) =>
      requestDirectly(url, {
        method: 'POST',
        headers: { authorization: `Bearer ${control.token}` },
        signal,
      }),
    );
    await body.dump();
    // After a kill, its port may be another program's.
    if (statusCode === 204 || processOf(control.pid) === undefined) return;
    throw new HarnessError(
      'FAULT_REFUSED',
      `the node does not take the change: ${url} answers ${statusCode}`,
    );
  } catch (error) {
    if (!isAway(error)) throw error;
  }
}

/** Nothing listens, the connection broke, or its process is paused or gone. */
function isAway(error: unknown): boolean {
  const { code = '' } = error as NodeJS.ErrnoException;
  return ['ECONNREFUSED', 'ECONNRESET', 'UND_ERR_SOCKET', 'PAUSED', 'GONE'].includes(code);
}
