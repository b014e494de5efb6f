/** What a scenario has broken, as events of its run: each lasts until the fault ends. */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../base/errors.ts';
import type { ChainFault } from '../chain/faults.ts';
import { effectText, type Fault, hadEffect } from '../cluster/faults/fault.ts';
import type { Faults } from '../cluster/faults/faults.ts';
import type { ClusterNode, Deed } from '../cluster/nodes/cluster-node.ts';
import { FAULTS_FILE } from '../report/folder.ts';
import type { RunEvent } from '../report/result.ts';

const WORDS: Readonly<Partial<Record<Deed['state'], string>>> = {
  killed: 'was killed',
  paused: 'was paused',
  stopped: 'was stopped',
};

/** @param fromMs since the epoch: earlier deeds are not the scenario's */
export function faultsOf(nodes: readonly Pick<ClusterNode, 'name' | 'deeds'>[], fromMs: number): RunEvent[] {
  return nodes.flatMap(({ name, deeds }) => {
    const events: RunEvent[] = [];
    for (const [i, { state, at }] of deeds.entries()) {
      const what = WORDS[state];
      if (what === undefined || at < fromMs) continue;
      const end = deeds[i + 1];
      events.push({
        kind: 'fault',
        at,
        ...(end === undefined ? {} : { endAt: end.at }),
        part: name,
        text: `${name} ${what}`,
      });
    }
    return events;
  });
}

/** @param fromMs as above */
export function chainFaultsOf(faults: readonly ChainFault[], fromMs: number): RunEvent[] {
  return faults.filter(({ at }) => at >= fromMs).map((fault) => ({ kind: 'fault', part: 'chain', ...fault }));
}

/** Faults begun through `faults`, each with its effect. @param fromMs as above */
export function begunFaultsOf(history: readonly Fault[], fromMs: number): RunEvent[] {
  return history
    .filter(({ at }) => at >= fromMs)
    .map(({ at, endAt, targets, text, effect }) => ({
      kind: 'fault',
      at,
      ...(endAt === undefined ? {} : { endAt }),
      ...(targets.length === 1 ? { part: targets[0] as string } : {}),
      text: `${text} (${effectText(effect)})`,
    }));
}

/** Without deeds that a fault already covers: those done to the same part while it lasted. */
export function withoutBegun(events: readonly RunEvent[], history: readonly Fault[]): RunEvent[] {
  return events.filter(
    ({ at, part }) =>
      !history.some(
        (fault) => targeted(fault, part) && at >= fault.at && at <= (fault.endAt ?? Number.POSITIVE_INFINITY),
      ),
  );
}

function targeted({ targets }: Fault, part: string | undefined): boolean {
  return part !== undefined && targets.includes(part);
}

interface MendedScenario {
  readonly name: string;
  readonly fromMs: number;
  readonly folder: string;
  readonly removed?: boolean;
}

/**
 * Ends the faults a scenario has left, and writes its faults into the run's folder.
 * @param scenario.fromMs when it began, ms since the epoch @param scenario.removed its cluster is removed now,
 * so that its faults end with it
 * @returns what is wrong with them: a fault without effect proves nothing, one that stays spoils later
 * scenarios
 */
export async function mend(
  faults: Pick<Faults, 'history' | 'healOwn' | 'abandon'>,
  { name, fromMs, folder, removed = false }: MendedScenario,
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
    appendFileSync(join(folder, FAULTS_FILE), `${JSON.stringify({ scenario: name, ...line })}\n`);
  }
  // The effect of a fault that something else has ended is not known.
  const inert = own.filter((fault) => fault.endAt !== undefined && !hadEffect(fault));
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
