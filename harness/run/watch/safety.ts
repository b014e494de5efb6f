/**
 * Conditions that hold at every moment of a scenario. The first that is false ends the scenario there and then, so that what
 * led to it is still at hand.
 */
import { messageOf } from '../../base/errors.ts';
import { plural } from '../../base/format.ts';
import { ClientError } from '../../client/errors.ts';
import type { Cluster } from '../../cluster/cluster.ts';
import type { AlwaysCondition, ScenarioContext } from '../scenario.ts';

const LINES_SHOWN = 20;

interface SafetyReport {
  readonly expect: ScenarioContext['expect'];
  readonly unchecked: ScenarioContext['unchecked'];
  readonly signal: AbortSignal;
}

export class SafetyWatch implements Disposable {
  readonly #cluster: Cluster;
  readonly #report: SafetyReport;
  readonly #aborted = new AbortController();
  readonly #watched: Watched[] = [];
  #red: Promise<void> | undefined;
  #goesOn = true;

  constructor(cluster: Cluster, report: SafetyReport) {
    this.#cluster = cluster;
    this.#report = report;
  }

  get signal(): AbortSignal {
    return this.#aborted.signal;
  }

  add(condition: AlwaysCondition): void {
    const watched: Watched = { condition, looks: 0, timer: undefined, looking: undefined };
    this.#watched.push(watched);
    this.#lookOn(watched);
  }

  /** Looks at all once more. Those that have held are conditions of the result. */
  async end(): Promise<void> {
    this[Symbol.dispose]();
    for (const watched of this.#watched) {
      await watched.looking;
      await this.#look(watched);
    }
    this.signal.throwIfAborted();
    for (const { condition, looks } of this.#watched) {
      if (looks === 0) this.#report.unchecked(`${condition.name}: no node could be asked`);
      else
        this.#report.expect(condition.name, true, {
          observed: `held ${plural(looks, 'time')}`,
          expected: 'always',
        });
    }
  }

  async isRed(): Promise<boolean> {
    await this.#red;
    return this.#red !== undefined;
  }

  [Symbol.dispose](): void {
    this.#goesOn = false;
    for (const { timer } of this.#watched) timer?.[Symbol.dispose]();
  }

  /** Runs in the background: looking must not make time pass where the scenario itself does not wait. */
  #later(watched: Watched): void {
    if (!this.#goesOn || this.#isEnded()) return;
    const look = () => this.#lookOn(watched);
    watched.timer = this.#cluster.clock.timer(watched.condition.everyMs, look, true);
  }

  #lookOn(watched: Watched): void {
    watched.looking = this.#look(watched).then(() => this.#later(watched));
  }

  #isEnded(): boolean {
    return this.signal.aborted || this.#report.signal.aborted;
  }

  async #look(watched: Watched): Promise<void> {
    if (this.#isEnded()) return;
    const { condition } = watched;
    try {
      const wrong = await condition.check(AbortSignal.any([this.signal, this.#report.signal]));
      if (wrong === undefined || this.#isEnded()) return;
      watched.looks++;
      if (wrong.length > 0) this.#red = this.#stop(condition, wrong);
    } catch (error) {
      // A node that a fault has hit does not answer: the next look may find it again.
      if (!(error instanceof ClientError) && !this.#isEnded()) this.#aborted.abort(error);
    }
  }

  async #explain(condition: AlwaysCondition): Promise<readonly string[]> {
    try {
      return (await condition.explain?.(this.#report.signal)) ?? [];
    } catch (error) {
      return [`more cannot be told: ${messageOf(error)}`];
    }
  }

  async #stop(condition: AlwaysCondition, wrong: readonly string[]): Promise<void> {
    const { name } = condition;
    const cluster = this.#cluster;
    const states = cluster.nodes.map((node) => `${node.name} ${node.state}`).join(', ');
    const faults = cluster.faults.history.flatMap(({ id, text, endAt }) =>
      endAt === undefined ? [`  ${id}: ${text}`] : [],
    );
    const frames = cluster.lastFrames.map((line) => `  ${line}`);
    const at = `${cluster.clock.monotonic().toFixed(0)} ms`;
    this.#aborted.abort(new Error(`${name}: false at ${at}: ${wrong[0]}`));
    const why = await this.#explain(condition);
    const evidence = [
      ...wrong.slice(0, LINES_SHOWN),
      `nodes: ${states}`,
      ...(faults.length === 0 ? [] : ['active faults:', ...faults]),
      ...why,
      ...(frames.length === 0 ? [] : ['last frames:', ...frames]),
    ].join('\n');
    const observed = `${plural(wrong.length, 'violation')} at ${at} of the cluster's clock`;
    this.#report.expect(name, false, { observed, expected: 'none at any time', evidence });
  }
}

interface Watched {
  readonly condition: AlwaysCondition;
  looks: number;
  timer: Disposable | undefined;
  looking: Promise<void> | undefined;
}
