/** Tests ask for the port numbers that users ask for. They are shifted if another program listens on one. */
import { randomInt } from 'node:crypto';
import { messageOf } from '../../harness/base/errors.ts';
import { checkPortsFree } from '../../harness/base/machine/ports.ts';

/** Clusters pick their ports from here on. */
const PICKED_FROM = 12_000;
const TRIES = 20;
/** Ports of one test are closer together. */
const SHIFT_MIN = 100;

/**
 * @returns what to add to each port: 0 if all are free, as in continuous integration. Otherwise it says what is in
 * the way.
 */
export async function portShift(ports: readonly number[]): Promise<number> {
  const why = await busy(ports, 0);
  if (why === undefined) return 0;
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const shift = randomInt(SHIFT_MIN, PICKED_FROM - Math.max(...ports));
    if ((await busy(ports, shift)) !== undefined) continue;
    process.stderr.write(`not run at the usual ports, but ${shift} above them: ${why}\n`);
    return shift;
  }
  throw new Error(`no range of free ports below ${PICKED_FROM}; the usual one is not free: ${why}`);
}

async function busy(ports: readonly number[], shift: number): Promise<string | undefined> {
  try {
    await checkPortsFree(ports.map((port) => ({ port: port + shift, by: 'a test' })));
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}
