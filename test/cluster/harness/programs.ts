/** Programs in processes, and the driver that starts them. */
import { tail } from '../../../harness/base/logs/logs.ts';
import { MACHINE_CLOCK } from '../../../harness/base/machine/clock.ts';
import type { Driver } from '../../../harness/places/driver.ts';
import { ProcessDriver } from '../../../harness/places/process.ts';
import { until } from '../../../harness/scenario.ts';

export const PART = { kind: 'node', name: 'node-0' } as const;

export function processDriver(
  cache: string,
  options: Partial<ConstructorParameters<typeof ProcessDriver>[0]> = {},
): Driver {
  return new ProcessDriver({
    clock: MACHINE_CLOCK,
    stopWithParent: false,
    linkFaults: false,
    tap: false,
    machineFaults: false,
    listen: '127.0.0.1',
    compileCache: () => cache,
    token: 'test',
    ...options,
  });
}

/** @returns the line that begins so */
export async function printed(word: string, log: string): Promise<string> {
  return until(
    `the program has not printed ${word}`,
    () => {
      const line = tail(log, 100).find((text) => text.startsWith(word));
      return Promise.resolve(line === undefined ? { missing: 'its log has no such line' } : { done: line });
    },
    { timeoutMs: 120_000 },
  );
}
