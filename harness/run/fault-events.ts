import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../base/errors.ts';
import type { Breakage } from '../cluster/faults/broken.ts';
import { effectText, type Fault, inertAmong } from '../cluster/faults/fault.ts';
import type { Faults } from '../cluster/faults/faults.ts';
import { FAULTS_FILE } from '../report/folder.ts';
import type { RunEvent } from '../report/result.ts';

/**
 * Without what a fault did to its own targets.
 * @param fromMs since the epoch: earlier breakage is not the scenario's
 */
export function eventsOf(broken: readonly Breakage[], fromMs: number): RunEvent[] {
  return broken
    .filter(
      ({ at, targets, cause }) => at >= fromMs && !targets.some((part) => cause?.targets.includes(part)),
    )
    .map(({ at, endAt, targets, text, fault }) => ({
      kind: 'fault',
      at,
      endAt,
      ...(targets.length === 1 ? { part: targets[0] as string } : {}),
      text: fault === undefined ? text : `${text} (${effectText(fault.effect)})`,
    }));
}

interface MendedScenario {
  readonly name: string;
  readonly fromMs: number;
  readonly began: number;
  /** Number of its cluster, from 2 on; absent: the first. */
  readonly cluster?: number;
  readonly folder: string;
  readonly removed?: boolean;
}

/**
 * Ends the faults that a scenario has left, and writes its faults into the run's folder.
 * @param scenario.fromMs ms since the epoch @param scenario.removed its cluster goes now, with its faults
 * @returns what is wrong: a fault without effect proves nothing, a lasting one spoils later scenarios
 */
export async function mend(
  faults: Pick<Faults, 'history' | 'healOwn' | 'abandon'>,
  { name, fromMs, folder, removed = false, ...of }: MendedScenario,
): Promise<string | undefined> {
  const wrong: string[] = [];
  try {
    if (removed) faults.abandon();
    else await faults.healOwn();
  } catch (error) {
    wrong.push(messageOf(error));
  }
  const own = faults.history.filter(({ at }) => at >= fromMs);
  for (const line of journalOf(own)) {
    appendFileSync(join(folder, FAULTS_FILE), `${JSON.stringify({ scenario: name, ...of, ...line })}\n`);
  }
  // The effect of a fault that something else has ended is not known.
  const inert = inertAmong(own).filter(({ endAt }) => endAt !== undefined);
  wrong.push(...inert.map(({ id, text }) => `fault ${id} (${text}) had no effect`));
  return wrong.length === 0 ? undefined : wrong.join('\n');
}

function journalOf(faults: readonly Fault[]): object[] {
  return faults
    .flatMap((fault) => [
      { ms: fault.at, line: { event: 'begin', ...fault } },
      ...(fault.endAt === undefined ? [] : [{ ms: fault.endAt, line: { event: 'end', ...fault } }]),
    ])
    .toSorted((a, b) => a.ms - b.ms)
    .map(({ line }) => line);
}
