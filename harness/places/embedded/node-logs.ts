import { closeSync, writeSync } from 'node:fs';
import type { Clock } from '../../../formats/clock.ts';
import { messageOf } from '../../base/errors.ts';
import { openLog } from '../../base/machine/processes.ts';

interface Logged {
  readonly name: string;
  readonly log: string;
}

export class NodeLogs {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #files = new Map<string, number>();

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  write({ name, log }: Logged, line: string): void {
    let file = this.#files.get(name);
    if (file === undefined) {
      file = openLog(log);
      this.#files.set(name, file);
    }
    writeSync(file, line);
  }

  /** Uses the format of the node's own lines, so that log tools find it. */
  report(node: Logged, message: string, error: unknown): void {
    const entry = {
      level: 'error',
      time: new Date(this.#clock.now()).toISOString(),
      node: node.name,
      module: 'embedded',
      err: error instanceof Error ? { message: error.message, stack: error.stack } : String(error),
      msg: message,
    };
    try {
      this.write(node, `${JSON.stringify(entry)}\n`);
    } catch (unwritten) {
      process.stderr.write(
        `svcnet: ${node.name}: ${message}: ${messageOf(error)} (${messageOf(unwritten)})\n`,
      );
    }
  }

  close(): void {
    for (const file of this.#files.values()) closeSync(file);
    this.#files.clear();
  }
}
