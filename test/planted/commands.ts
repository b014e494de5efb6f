/** Command lines, each after the other, in one process: loading the code and compiling it takes longer than a short run. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { type Finished, svcnetHere } from '../cluster/svcnet.ts';

export interface Commanded {
  readonly args: readonly string[];
  readonly stateDir: string;
}

export interface Planted extends Finished {
  /** Processor time. */
  readonly cpuMs: number;
}

/** In this process. */
export async function commandHere(args: readonly string[], stateDir: string): Promise<Planted> {
  const before = process.cpuUsage();
  const finished = await svcnetHere(args, { stateDir });
  const { user, system } = process.cpuUsage(before);
  return { ...finished, cpuMs: (user + system) / 1000 };
}

/** With a bug, in a process that has its code. */
export class PlantedCommands implements Disposable {
  readonly #child: ChildProcess;
  readonly #bug: string;

  constructor(bug: string) {
    this.#bug = bug;
    this.#child = fork(join(import.meta.dirname, 'commands-process.ts'), [bug], { execArgv: [] });
  }

  async run(args: readonly string[], stateDir: string): Promise<Planted> {
    const over = new AbortController();
    const answered = once(this.#child, 'message', over) as Promise<[Planted]>;
    const exited = once(this.#child, 'exit', over).then((how) => {
      throw new Error(`${this.#bug}: its process ended (${how.join(', ')}) during svcnet ${args.join(' ')}`);
    });
    this.#child.send({ args, stateDir } satisfies Commanded);
    try {
      const [ended] = await Promise.race([answered, exited]);
      return ended;
    } finally {
      over.abort();
    }
  }

  [Symbol.dispose](): void {
    if (this.#child.connected) this.#child.disconnect();
  }
}
