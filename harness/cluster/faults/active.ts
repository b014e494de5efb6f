/** A file per fault, so that processes need no lock, and a journal. */
import { randomUUID } from 'node:crypto';
import { appendFileSync, existsSync, linkSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { clusterGone } from '../../base/errors.ts';
import { readJson, writeJson } from '../../base/json-file.ts';
import { makeFolder, ownPath } from '../../base/own-folder.ts';
import type { Handle } from '../../places/driver.ts';
import type { Fault } from './fault.ts';

export const FAULT_JOURNAL = 'faults.jsonl';

export interface FaultLine extends Fault {
  readonly event: 'begin' | 'end';
}

/** The effect, which changes, is not kept. */
export interface ActiveFault extends Omit<Fault, 'effect' | 'endAt'> {
  /** Absent: still beginning, or its process died. */
  readonly handle?: Handle;
}

const FOLDER = 'faults';

export class ActiveFaults {
  readonly #cluster: string;

  constructor(cluster: string) {
    this.#cluster = cluster;
  }

  claim(fault: Omit<ActiveFault, 'id'>): ActiveFault {
    this.expectCluster();
    const folder = this.#folder();
    makeFolder(folder, 0o700);
    for (let number = this.#highest() + 1; ; number++) {
      const claimed = { id: `f${number}`, ...fault };
      // Complete from the start, for processes that list faults.
      const written = join(folder, `${randomUUID()}.tmp`);
      writeFileSync(written, JSON.stringify(claimed), { mode: 0o600 });
      try {
        linkSync(written, this.#path(claimed.id));
        return claimed;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      } finally {
        rmSync(written);
      }
    }
  }

  write(fault: ActiveFault): void {
    this.expectCluster();
    writeJson(this.#path(fault.id), fault);
  }

  remove({ id }: Pick<ActiveFault, 'id'>): void {
    rmSync(this.#path(id), { force: true });
  }

  list(): ActiveFault[] {
    return this.#numbers()
      .toSorted((a, b) => a - b)
      .flatMap((number) => (readJson(this.#path(`f${number}`)) as ActiveFault | undefined) ?? []);
  }

  note(line: FaultLine): void {
    this.expectCluster();
    appendFileSync(ownPath(this.#cluster, [FAULT_JOURNAL], 'file'), `${JSON.stringify(line)}\n`, {
      mode: 0o600,
    });
  }

  get clusterGone(): boolean {
    return !existsSync(this.#cluster);
  }

  /** A fault must not recreate a removed folder. */
  expectCluster(): void {
    if (!this.clusterGone) return;
    throw clusterGone(basename(this.#cluster));
  }

  #path(id: string): string {
    return ownPath(this.#cluster, [FOLDER, `${id}.json`], 'file');
  }

  #folder(): string {
    return ownPath(this.#cluster, [FOLDER], 'folder');
  }

  #highest(): number {
    return Math.max(0, ...this.#numbers());
  }

  #numbers(): number[] {
    try {
      return readdirSync(this.#folder()).flatMap((file) => {
        const [, number] = /^f(\d+)\.json$/.exec(file) ?? [];
        return number === undefined ? [] : [Number(number)];
      });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw error;
    }
  }
}
