/** SVCNET_K6 names the program of k6; else the one on the PATH runs. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Cluster } from '../../harness/cluster/cluster.ts';
import type { RunResult, ScenarioResult } from '../../harness/report/result.ts';
import { loadScenario } from '../../harness/run/catalogue.ts';
import { planScenarios, runScenarios } from '../../harness/run/runner.ts';

export class LoadKit {
  readonly folder = mkdtempSync(join(tmpdir(), 'svcnet-load-'));
  readonly stateDir = join(this.folder, 'state');
  cluster!: Cluster;
  #runs = 0;

  async start(): Promise<void> {
    this.cluster = await Cluster.start({
      name: 'loaded',
      nodes: 3,
      seed: 11,
      driver: 'embedded',
      stateDir: this.stateDir,
    });
  }

  async stop(): Promise<void> {
    await this.cluster.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  next(): string {
    return join(this.folder, `run-${this.#runs++}`);
  }

  /** @param set parameters of `load` */
  async load(
    set: Readonly<Record<string, string>>,
  ): Promise<{ run: RunResult; load: ScenarioResult; folder: string }> {
    const folder = this.next();
    const given = new Map(
      Object.entries({ warmup: '0s', duration: '3s', rate: '10/s', objects: '5', ...set }),
    );
    if (set['vus'] !== undefined) given.delete('rate');
    const run = await runScenarios({
      planned: planScenarios([await loadScenario('load')], given),
      attachTo: this.cluster.name,
      seed: BigInt(this.#runs),
      stateDir: this.stateDir,
      report: folder,
      name: 'load',
      command: 'svcnet load',
      signal: new AbortController().signal,
    });
    return { run, load: run.scenarios[0] as ScenarioResult, folder };
  }
}

export function failed({ assertions, error }: ScenarioResult): string[] {
  return [
    ...(error === undefined ? [] : [error]),
    ...assertions.filter(({ passed }) => !passed).map(({ name, observed }) => `${name}: ${observed}`),
  ];
}
