/**
 * Makes a failing run as small as it can while it still fails the same way. Each candidate runs on a fresh cluster; one
 * whose failure depends on timing is tried several times, and the smallest is run again to count how often it fails. A
 * simulated run is exact, so one run says all of it.
 */
import { cpSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { CHUNK_PAYLOAD_SIZE } from '../../../formats/chunk/chunk.ts';
import { HarnessError } from '../../base/errors.ts';
import { formatMs, plural } from '../../base/format.ts';
import { MACHINE_CLOCK } from '../../base/machine/clock.ts';
import { shellWord, typed } from '../../base/typed.ts';
import { DRIVER_DEFAULT, DRIVER_FACTS } from '../../places/facts.ts';
import { byteSize } from '../../web/base/format.ts';
import {
  amountsOf,
  type Case,
  groupsOf,
  largeUploadsOf,
  limitedFaultsOf,
  listsOf,
  oddOf,
  type Size,
  sizeOf,
  sooner,
  withCount,
  withFaults,
  withFirst,
  withLeaves,
  withOdd,
  withOperations,
  withParameter,
} from './case.ts';
import { layCase, writeCase } from './case-files.ts';
import { lowered, shortened } from './reduce.ts';
import { ENDING_TEXTS, type ReplayedRun, tryOnce } from './replay.ts';
import type { Rerun } from './rerun.ts';
import { mostFrequent } from './signature.ts';
import { type Subject, subjectOf } from './subject.ts';

interface Repetition {
  readonly first: number;
  /** A failure that occurs in fewer than one of these runs is too rare to minimise within a budget. */
  readonly firstMax: number;
  readonly last: number;
}
const BY_TIMING: Repetition = { first: 3, firstMax: 10, last: 3 };
const EXACT: Repetition = { first: 1, firstMax: 1, last: 1 };
const TRIES_MAX = 5;
const MISSED_SHARE = 0.1;
const ROUNDS_MAX = 4;
/** Times are shortened by this factor, again and again. */
const SHARE = 0.5;
/** A report counts requests; an operation makes several. */
const SCHEDULED = 'scheduled operation';

export interface MinimiseRequest extends Omit<Rerun, 'recipe' | 'report' | 'display'> {
  /** Also runs code and programs of a run that was not made here. */
  readonly trust?: boolean | undefined;
  readonly out: string;
  readonly attempts: number;
  readonly budgetMs: number;
  readonly onProgress?: (progress: Progress) => void;
}

export interface Progress {
  readonly runs: number;
  readonly attempts: number;
  readonly from: Size;
  readonly to: Size;
  readonly trying: string;
  readonly last: ReplayedRun['ending'];
}

export interface MinimiseDocument {
  readonly folder: string;
  readonly failure: string;
  readonly from: Size;
  readonly to: Size;
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly runs: number;
  /** Why it may not be the smallest; null: it is. */
  readonly stopped: 'attempts' | 'budget' | 'interrupted' | null;
  /** How often the smallest one failed the same way, of its last runs. */
  readonly failed: number;
  readonly of: number;
  /** Folder of the smallest run. */
  readonly out: string;
  readonly scenario: string;
}

class Stopped extends Error {
  readonly why: NonNullable<MinimiseDocument['stopped']>;

  constructor(why: NonNullable<MinimiseDocument['stopped']>) {
    super(why);
    this.why = why;
  }
}

/**
 * @throws HarnessError `RUN_NOT_FOUND`, `NOT_TRUSTED`, `RUN_INVALID` when the run has no failure, or no longer fails;
 * `INTERRUPTED` before it has failed once
 */
export async function minimise(request: MinimiseRequest): Promise<MinimiseDocument> {
  return new Minimiser(request, await subjectOf(request.folder, join(request.out, 'inputs'), request)).run();
}

class Minimiser {
  readonly #request: MinimiseRequest;
  readonly #subject: Subject;
  readonly #work: string;
  readonly #repetition: Repetition;
  readonly #startedMs = MACHINE_CLOCK.monotonic();
  readonly #refused = new Set<string>();
  #failure: string;
  #best: Case;
  #runs = 0;
  #tries = 1;

  constructor(request: MinimiseRequest, subject: Subject) {
    this.#request = request;
    this.#subject = subject;
    this.#work = join(request.out, 'tried');
    const { driver = DRIVER_DEFAULT } = subject.given.recipe.definition;
    this.#repetition = DRIVER_FACTS[driver].simulated ? EXACT : BY_TIMING;
    this.#best = subject.given;
    this.#failure = subject.failures[0] ?? '';
  }

  async run(): Promise<MinimiseDocument> {
    const request = this.#request;
    const subject = this.#subject;
    let stopped: MinimiseDocument['stopped'] = null;
    try {
      try {
        await this.#confirm();
        for (let round = 0; round < ROUNDS_MAX; round++) {
          const before = JSON.stringify(this.#best);
          await this.#reduce();
          if (JSON.stringify(this.#best) === before) break;
        }
        // Last, so that it takes no attempts from the rest.
        await this.#smallerUploads();
      } catch (error) {
        if (!(error instanceof Stopped)) throw error;
        if (!existsSync(this.#kept)) throw this.#notAgain(this.#runs);
        stopped = error.why;
      }
      const { failed, of } = stopped === 'interrupted' ? { failed: 1, of: 1 } : await this.#measure();
      const changed = parametersOf(this.#best);
      const original = parametersOf(subject.given);
      return {
        folder: request.folder,
        failure: this.#failure,
        from: sizeOf(subject.given, subject.scenario),
        to: sizeOf(this.#best, subject.scenario),
        parameters: Object.fromEntries(
          Object.entries(changed).filter(
            ([key, value]) => JSON.stringify(value) !== JSON.stringify(original[key]),
          ),
        ),
        runs: this.#runs,
        stopped,
        failed,
        of,
        out: request.out,
        scenario: writeCase(this.#best, subject, request.out),
      };
    } finally {
      rmSync(this.#work, { recursive: true, force: true });
      // If nothing failed again, nothing stays, so that the folder can be used again.
      if (!existsSync(this.#kept)) rmSync(join(request.out, 'inputs'), { recursive: true, force: true });
    }
  }

  /** @throws HarnessError `RUN_INVALID` when it does not fail again */
  async #confirm(): Promise<void> {
    const { failures, given } = this.#subject;
    const again: (readonly string[])[] = [];
    const failed = () => again.filter((signatures) => signatures.includes(this.#failure)).length;
    const { first, firstMax } = this.#repetition;
    while (again.length < first || (failed() === 0 && again.length < firstMax)) {
      if (again.length >= this.#request.attempts) break;
      await this.#once(given, 'the run as it was', ({ signatures }) => {
        again.push(signatures);
        this.#failure = mostFrequent(failures, again) ?? this.#failure;
      });
    }
    if (failed() === 0) throw this.#notAgain(again.length);
    const rate = failed() / again.length;
    this.#tries =
      rate === 1 ? 1 : Math.min(TRIES_MAX, Math.ceil(Math.log(MISSED_SHARE) / Math.log(1 - rate)));
  }

  #notAgain(runs: number): HarnessError {
    return new HarnessError(
      'RUN_INVALID',
      `the run did not fail the same way again in ${plural(runs, 'run')}`,
      { hint: `Expected: ${this.#failure}; see svcnet replay ${this.#subject.folder} --times 10` },
    );
  }

  async #reduce(): Promise<void> {
    await this.#fewerNodes();
    await shortened(oddOf(this.#best), (rest) =>
      this.#try(withOdd(this.#best, rest), `odd: ${rest.length === 0 ? 'nothing' : rest.join()}`),
    );
    if (this.#best.schedule === undefined) await this.#lowerParameters();
    else await this.#shorterSchedule(this.#best.schedule);
  }

  async #fewerNodes(): Promise<void> {
    const { scenario } = this.#subject;
    const groups = groupsOf(this.#best.recipe, scenario);
    // Starts with the last group: removing one shifts those behind it.
    for (let index = groups.length - 1; index >= 0; index--) {
      const count = groups[index]?.count ?? 1;
      const others = groupsOf(this.#best.recipe, scenario).reduce(
        (sum, group) => sum + (group.count ?? 1),
        -count,
      );
      const least = Math.max(index === 0 && others === 0 ? 1 : 0, scenario.needs.nodes - others);
      if (count <= least) continue;
      const base = this.#best;
      await lowered(count, least, (fewer) =>
        this.#try(withCount(base, scenario, index, fewer), plural(others + fewer, 'node')),
      );
    }
  }

  async #shorterSchedule(schedule: NonNullable<Case['schedule']>): Promise<void> {
    await shortened(schedule.faults, (rest) =>
      this.#try(withFaults(this.#best, rest), plural(rest.length, 'fault')),
    );
    for (const { id, first } of limitedFaultsOf(this.#best)) {
      const fewer = (count: number) =>
        this.#try(withFirst(this.#best, id, count), `${id}: ${plural(count, 'message')}`);
      if (first === undefined) await fewer(1);
      else await lowered(first, 1, fewer);
    }
    const operations = this.#best.schedule?.operations ?? [];
    await shortened(operations, (rest) => {
      const candidate = withOperations(this.#best, rest);
      return this.#try(candidate, operationsText(candidate));
    });
    for (;;) {
      const shorter = sooner(this.#best, SHARE);
      const ms = shorter.schedule?.durationMs ?? 0;
      if (ms < 1000 || !(await this.#try(shorter, formatMs(ms)))) return;
    }
  }

  async #smallerUploads(): Promise<void> {
    for (const { n, leaves } of largeUploadsOf(this.#best)) {
      await lowered(leaves, 1, (fewer) =>
        this.#try(withLeaves(this.#best, n, fewer), `upload ${n} of ${byteSize(fewer * CHUNK_PAYLOAD_SIZE)}`),
      );
    }
  }

  async #lowerParameters(): Promise<void> {
    for (const { name, items } of listsOf(this.#best)) {
      await shortened(items, (rest) =>
        rest.length === 0
          ? Promise.resolve(false)
          : this.#try(withParameter(this.#best, name, rest), `${name}: ${rest.join()}`),
      );
    }
    for (const { name, value, least } of amountsOf(this.#best, this.#subject.scenario)) {
      await lowered(value, least, (lower) =>
        this.#try(withParameter(this.#best, name, lower), `${name}: ${lower}`),
      );
    }
  }

  async #try(candidate: Case | undefined, what: string): Promise<boolean> {
    if (candidate === undefined) return false;
    const key = JSON.stringify(candidate);
    if (this.#refused.has(key)) return false;
    this.#refused.add(key);
    for (let n = 0; n < this.#tries; n++) {
      const ending = await this.#once(candidate, what);
      if (ending === 'same') {
        this.#refused.delete(key);
        return true;
      }
      // A candidate that does not start, or breaks another condition, is a different run.
      if (ending === 'not-run') return false;
    }
    return false;
  }

  async #once(
    candidate: Case,
    trying: string,
    onRun?: (run: ReplayedRun) => void,
  ): Promise<ReplayedRun['ending']> {
    const { attempts, budgetMs, signal, stateDir, onProgress } = this.#request;
    if (this.#runs >= attempts) throw new Stopped('attempts');
    if (MACHINE_CLOCK.monotonic() - this.#startedMs >= budgetMs) throw new Stopped('budget');
    this.#runs++;
    const folder = join(this.#work, 'candidate');
    const report = join(this.#work, String(this.#runs));
    layCase(candidate, this.#subject.folder, folder);
    let run: ReplayedRun;
    try {
      run = await tryOnce(
        { folder, recipe: candidate.recipe, report, stateDir, signal },
        this.#subject.failures,
      );
    } catch (error) {
      if (signal.aborted && existsSync(this.#kept)) throw new Stopped('interrupted');
      throw error;
    }
    onRun?.(run);
    const ending =
      run.ending === 'same' && !run.signatures.includes(this.#failure) ? 'otherwise' : run.ending;
    if (ending === 'same') {
      this.#best = candidate;
      rmSync(this.#kept, { recursive: true, force: true });
      cpSync(report, this.#kept, { recursive: true });
    }
    rmSync(report, { recursive: true, force: true });
    const { scenario, given } = this.#subject;
    onProgress?.({
      runs: this.#runs,
      attempts,
      from: sizeOf(given, scenario),
      to: sizeOf(this.#best, scenario),
      trying,
      last: ending,
    });
    return ending;
  }

  get #kept(): string {
    return join(this.#request.out, 'run');
  }

  /** Repeats as far as the budget goes; the run that made it the best counts too. */
  async #measure(): Promise<{ failed: number; of: number }> {
    let failed = 1;
    let of = 1;
    const best = this.#best;
    try {
      for (; of < this.#repetition.last; of++)
        if ((await this.#once(best, 'the smallest one again')) === 'same') failed++;
    } catch (error) {
      if (!(error instanceof Stopped)) throw error;
    }
    return { failed, of };
  }
}

function parametersOf({ recipe }: Case): Readonly<Record<string, unknown>> {
  return recipe.scenarios[0]?.parameters ?? {};
}

/** Without downloads of dropped uploads: what the candidate has. */
export function operationsText(candidate: Case | undefined): string {
  return plural(candidate?.schedule?.operations.length ?? 0, SCHEDULED);
}

export function progressText({ runs, attempts, from, to, trying, last }: Progress): string {
  return `${runs} of ${plural(attempts, 'run')}: ${sizeText(from, to)}; tried ${trying}: ${ENDING_TEXTS[last]}`;
}

/** `3 of 10 nodes, 2 of 9 faults, 14 of 200 scheduled operations, 4 KiB of 9 MiB uploaded, 5.0 s of 60.0 s` */
function sizeText(from: Size, to: Size): string {
  return [
    `${to.nodes} of ${plural(from.nodes, 'node')}`,
    ...(from.faults === 0 ? [] : [`${to.faults} of ${plural(from.faults, 'fault')}`]),
    ...(from.operations === 0 ? [] : [`${to.operations} of ${plural(from.operations, SCHEDULED)}`]),
    ...(from.uploadedBytes === 0
      ? []
      : [`${byteSize(to.uploadedBytes)} of ${byteSize(from.uploadedBytes)} uploaded`]),
    ...(from.durationMs === 0 ? [] : [`${formatMs(to.durationMs)} of ${formatMs(from.durationMs)}`]),
  ].join(', ');
}

export function minimiseLines(document: MinimiseDocument): string[] {
  const { failure, from, to, parameters, runs, stopped, failed, of, out, scenario } = document;
  const why = {
    attempts: '--attempts is used up',
    budget: '--budget is used up',
    interrupted: 'it was interrupted',
  };
  return [
    `  ${failure}`,
    `  ${sizeText(from, to)}, after ${plural(runs, 'run')}`,
    ...Object.entries(parameters).map(([name, value]) => `  ${name}: ${String(value)}`),
    `  the smallest run failed the same way ${failed} of ${plural(of, 'time')}`,
    ...(stopped === null ? [] : [`  ! ${why[stopped]}: it may be possible to leave out more`]),
    `  run          ${join(out, 'run')}`,
    `  again        ${typed(`run ${shellWord(scenario)}`)}`,
  ];
}
