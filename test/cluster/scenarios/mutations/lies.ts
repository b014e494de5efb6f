/** Lies that scenarios are told. Nodes share the process and keep the truth. */
import { join } from 'node:path';
import { vi } from 'vitest';
import { HarnessError } from '../../../../harness/base/errors.ts';
import { ClientError } from '../../../../harness/client/errors.ts';
import { ChunksClient } from '../../../../harness/client/transfers.ts';
import type { Cluster } from '../../../../harness/cluster/cluster.ts';
import { ClusterNode } from '../../../../harness/cluster/nodes/cluster-node.ts';

export type Lie = (cluster: Cluster) => void;

/** It turns these conditions red, and no others. Each is found by its name, or by its name and what it saw. */
export type Mutation = [
  scenario: string,
  set: Readonly<Record<string, string>>,
  lie: Lie,
  ...conditions: RegExp[],
];

type Answer<C, M extends keyof C> = C[M] extends (...given: never[]) => Promise<infer A> ? A : never;
type Given<C, M extends keyof C> = C[M] extends (...given: infer G) => unknown ? G : never;
type Methods = Record<string, (...given: unknown[]) => Promise<unknown>>;

/** A spy on a spy is the same spy. */
function presentOf(owner: object, method: string): ((...given: never[]) => unknown) | undefined {
  const present = Reflect.get(owner, method) as ((...given: never[]) => unknown) | undefined;
  return vi.isMockFunction(present) ? present.getMockImplementation() : present;
}

/** @param work gets the call as it was meant */
function replace(
  prototype: object,
  method: string,
  work: (call: () => Promise<unknown>, given: unknown[]) => Promise<unknown>,
): void {
  const methods = prototype as Methods;
  const original = presentOf(prototype, method) as Methods[string] | undefined;
  if (original === undefined) throw new Error(`there is no method ${method}`);
  vi.spyOn(methods, method).mockImplementation(function (this: unknown, ...given) {
    return work(() => original.apply(this, given), given);
  });
}

export function changes<C extends object, M extends keyof C & string>(
  prototype: C,
  method: M,
  change: (truth: Answer<C, M>, ...given: Given<C, M>) => Answer<C, M>,
): Lie {
  return () =>
    replace(prototype, method, async (call, given) =>
      change((await call()) as Answer<C, M>, ...(given as Given<C, M>)),
    );
}

export function answers<C extends object, M extends keyof C & string>(
  prototype: C,
  method: M,
  answer: (cluster: Cluster) => Answer<C, M>,
): Lie {
  return (cluster) => replace(prototype, method, () => Promise.resolve(answer(cluster)));
}

export function fails<C extends object>(prototype: C, method: keyof C & string, error: Error): Lie {
  return () => replace(prototype, method, () => Promise.reject(error));
}

export function takesAll<C extends object, M extends keyof C & string>(
  prototype: C,
  method: M,
  answer: (cluster: Cluster) => Answer<C, M>,
): Lie {
  return (cluster) => replace(prototype, method, (call) => call().catch(() => answer(cluster)));
}

/** Begins with the first call of a method, after its answer. */
export function after<C extends object>(prototype: C, method: keyof C & string, lie: Lie): Lie {
  return (cluster) => {
    let isTold = false;
    replace(prototype, method, async (call) => {
      const truth = await call();
      if (!isTold) lie(cluster);
      isTold = true;
      return truth;
    });
  };
}

export function all(...lies: readonly Lie[]): Lie {
  return (cluster) => {
    for (const lie of lies) lie(cluster);
  };
}

/** Whichever way a scenario looks. */
export function holding(held: boolean): Lie {
  return all(
    answers(ChunksClient.prototype, 'has', () => held),
    answers(ClusterNode.prototype, 'holds', () => held),
  );
}

export const late = new HarnessError('WAIT_TIMEOUT', 'it does not come to an end');

export function refusal(status: number): ClientError {
  const request = { node: 'node-1', method: 'GET', path: '/' };
  return new ClientError('refused by a test', { class: `http.${status}`, status, ...request });
}

const ROOT = join(import.meta.dirname, '../../../..');
const SCENARIOS = join(ROOT, 'scenarios/');
const WAIT = join(ROOT, 'harness/base/wait.ts');
/** Scenarios wait through it. */
const DOOR = join(ROOT, 'harness/scenario.ts');
const FRAMES_MAX = 20;

/** The latest first. Texts of stacks, with their source maps, would take most of a run. */
function callers(): string[] {
  const before = {
    stackTraceLimit: Error.stackTraceLimit,
    prepareStackTrace: presentOf(Error, 'prepareStackTrace'),
  };
  Error.stackTraceLimit = FRAMES_MAX;
  Error.prepareStackTrace = (_error, sites) => sites.map((site) => site.getFileName() ?? '');
  try {
    return new Error('only its stack is read').stack as unknown as string[];
  } finally {
    Object.assign(Error, before);
  }
}

/** Directly, or as part of what it waits for. */
export function isCalledFrom(file: string): boolean {
  return callers().some((caller) => caller.includes(file));
}

/** Only waits that a scenario itself begins. @param file that begins them; default: any */
export function waits(ms: number, file = ''): Lie {
  return ({ clock }) => {
    const deadline = presentOf(clock, 'deadline') as typeof clock.deadline;
    vi.spyOn(clock, 'deadline').mockImplementation((given, ...rest) => {
      const files = callers().filter((caller) => !caller.includes(DOOR));
      const caller = files[files.findIndex((one) => one.includes(WAIT)) + 1];
      const isMeant = caller?.includes(SCENARIOS) === true && files.some((one) => one.includes(file));
      return deadline(isMeant ? Math.min(ms, given) : given, ...rest);
    });
  };
}

export const impatience = waits(1000);

/** @returns path of the one that reads the clock */
function reader(): string {
  return (
    callers().find(
      (file) => file.includes(ROOT) && !file.includes(import.meta.filename) && !file.includes('node_modules'),
    ) ?? ''
  );
}

/**
 * @param ms by which clocks of scenarios go on with every call of the method
 * @param file of the scenarios whose clock does so; default: any
 */
export function lasts<C extends object>(prototype: C, method: keyof C & string, ms: number, file = ''): Lie {
  return ({ clock }) => {
    let gone = 0;
    for (const name of ['now', 'monotonic'] as const) {
      const read = presentOf(clock, name) as typeof clock.now;
      vi.spyOn(clock, name).mockImplementation(() =>
        reader().includes(join(SCENARIOS, file)) ? read() + gone : read(),
      );
    }
    replace(prototype, method, async (call) => {
      try {
        return await call();
      } finally {
        gone += ms;
      }
    });
  };
}
