/** Says which process holds the nodes; a file in the cluster's folder tells later commands. */

import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Clock } from '../../../formats/clock.ts';
import type { Served } from '../../base/calls.ts';
import { HarnessError } from '../../base/errors.ts';
import { readJson, writeJson } from '../../base/json-file.ts';
import { fileLog } from '../../base/logs/file-log.ts';
import { isAlive, ownProcess, type ProcessId, spawnProgram } from '../../base/machine/processes.ts';
import { ownPath } from '../../base/own-folder.ts';
import { until } from '../../base/wait.ts';
import { holderProgram } from '../../flavours/svc-program.ts';
import type { DriverOptions } from '../driver.ts';
import { EmbeddedHost } from './host.ts';
import { type NodeHost, remoteHost, serveHost } from './wire.ts';

const START_TIMEOUT_MS = 30_000;

export interface Holder extends ProcessId {
  readonly port: number;
}

interface LocalHost {
  readonly host: EmbeddedHost;
  readonly served: Served;
}

type HoldingOptions = Pick<DriverOptions, 'clock' | 'token' | 'folder' | 'stopWithParent' | 'compileCache'>;

const localHosts = new Map<string, Promise<LocalHost>>();

export class Holding {
  readonly #options: HoldingOptions;
  readonly #file: string;
  #starting: Promise<Holder> | undefined;

  constructor(options: HoldingOptions) {
    this.#options = options;
    this.#file = join(options.folder, 'holder.json');
  }

  known(): Holder | undefined {
    const known = readJson(this.#file) as Holder | undefined;
    return known !== undefined && isAlive(known) ? known : undefined;
  }

  async holder(signal?: AbortSignal): Promise<Holder> {
    const known = this.known();
    if (known !== undefined) return known;
    this.#starting ??= (
      this.#options.stopWithParent ? this.#holdHere() : this.#holdInBackground(signal)
    ).finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  async hostOf({ pid, port }: Pick<Holder, 'pid' | 'port'>): Promise<NodeHost> {
    const { token } = this.#options;
    const here = pid === process.pid ? await localHosts.get(token) : undefined;
    return here?.host ?? remoteHost({ pid, port }, token);
  }

  async endHere(): Promise<void> {
    const { token } = this.#options;
    const opened = localHosts.get(token);
    localHosts.delete(token);
    const [outcome] = await Promise.allSettled([opened]);
    // A host that could not be opened holds nothing.
    if (outcome.status === 'rejected' || outcome.value === undefined) return;
    const { host, served } = outcome.value;
    await Promise.all([host.close(), served.close()]);
  }

  async #holdHere(): Promise<Holder> {
    const { clock, token, folder } = this.#options;
    const opened = localHosts.get(token) ?? openLocal(token, basename(folder), clock);
    localHosts.set(token, opened);
    try {
      const { served } = await opened;
      return this.#write({ ...ownProcess(), port: served.port });
    } catch (error) {
      localHosts.delete(token);
      throw error;
    }
  }

  async #holdInBackground(signal: AbortSignal | undefined): Promise<Holder> {
    const { clock, token, folder, compileCache } = this.#options;
    const logFile = ownPath(folder, ['logs', 'holder.log'], 'file');
    const log = fileLog(logFile);
    // An earlier holder has logged its port there.
    const since = await log.end();
    const spawned = await spawnProgram({
      command: holderProgram(folder),
      logFile,
      stopWithParent: false,
      compileCache: compileCache('embedded'),
      label: token,
    });
    let ended = false;
    void spawned.exited.then(() => (ended = true));
    const port = await until<number>(
      'the process for the embedded nodes is not ready',
      async () => {
        const lines = await log.since(since);
        const ready = lines.find((line) => line.startsWith('{"ready":true'));
        if (ready !== undefined) return { done: (JSON.parse(ready) as Holder).port };
        if (ended) {
          throw new HarnessError('PROCESS_FAILED', 'the process for the embedded nodes has ended', {
            hint: [`${logFile}:`, ...lines.map((line) => `  ${line}`)].join('\n'),
          });
        }
        return { missing: lines.at(-1) ?? 'it has printed nothing' };
      },
      { clock, timeoutMs: START_TIMEOUT_MS, signal },
    );
    return this.#write({ ...spawned.id, port });
  }

  #write(holder: Holder): Holder {
    // The folder may have been removed meanwhile.
    if (existsSync(this.#options.folder)) writeJson(this.#file, holder);
    return holder;
  }
}

async function openLocal(token: string, cluster: string, clock: Clock): Promise<LocalHost> {
  const host = new EmbeddedHost(cluster, clock);
  return { host, served: await serveHost(host, token) };
}
