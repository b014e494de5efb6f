/**
 * Takes a cluster's name: exactly one process can move a prepared folder there. Remains of a cluster that belonged to a
 * process are moved aside; one that is meant to stay keeps its name.
 */

import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../../formats/clock.ts';
import { cannotWrite, HarnessError } from '../../base/errors.ts';
import { plural } from '../../base/format.ts';
import { readJson } from '../../base/json-file.ts';
import { isAlive, ownProcess } from '../../base/machine/processes.ts';
import { writtenDefinition } from '../plan/schema.ts';
import { endedHint, whyElsewhere } from '../state/elsewhere.ts';
import { moveInto, removeFolder } from '../state/move.ts';
import {
  type ClusterRecord,
  clusterFolder,
  isMeantToStay,
  isOwnCluster,
  RECORD_VERSION,
  readRecord,
  setAside,
  writeFirstRecord,
} from '../state/state.ts';
import { markedPath } from '../state/state-folder.ts';
import { nextSteps, sinceText } from './again.ts';
import { driverOf, isInUse, partsOf } from './drivers.ts';

/**
 * First removes the remains of a cluster of that name that never started or whose process is gone.
 * @throws HarnessError `CANNOT_WRITE`, `CLUSTER_EXISTS` when a cluster of that name runs, is being started,
 * or was left to stay
 */
export async function claimCluster(
  stateDir: string,
  options: Pick<ClusterRecord, 'name' | 'ephemeral'> & {
    /** Absent: nothing in it follows from a seed. */
    readonly seed?: bigint;
    readonly clock: Pick<Clock, 'now'>;
    readonly definition: Pick<ClusterRecord, 'driver' | 'profile'>;
  },
): Promise<ClusterRecord> {
  const { name, ephemeral, definition, seed, clock } = options;
  const { path } = clusterFolder(stateDir, name);
  const record: ClusterRecord = {
    version: RECORD_VERSION,
    token: randomUUID(),
    name,
    seed: seed?.toString(),
    driver: definition.driver,
    profile: definition.profile,
    createdAt: clock.now(),
    phase: 'starting',
    owner: ownProcess(),
    ephemeral,
    startedIn: path,
    definition: writtenDefinition(definition),
    nodes: [],
    batches: [],
  };
  const prepared = join(markedPath(stateDir, 'clusters'), `.${record.token}`);
  try {
    writeFirstRecord(prepared, record);
    if (!moveInto(prepared, path)) {
      await removeAbandoned(stateDir, name);
      if (!moveInto(prepared, path)) throw takenError(stateDir, name);
    }
  } catch (error) {
    throw cannotWrite(stateDir, error);
  } finally {
    rmSync(prepared, { recursive: true, force: true });
  }
  return record;
}

/** Removes a cluster that a namespace hides. The caller knows that no cluster runs in this state folder. */
export function forgetElsewhere(stateDir: string, name: string): void {
  const record = readRecord(stateDir, name);
  if (record === undefined || whyElsewhere(record) === undefined) return;
  const aside = setAside(stateDir, name);
  if (aside !== undefined) removeFolder(aside);
}

async function removeAbandoned(stateDir: string, name: string): Promise<void> {
  const { path } = clusterFolder(stateDir, name);
  const before = readRecord(stateDir, name);
  if (before !== undefined && (await isInUse(stateDir, before))) throw takenError(stateDir, name);
  if (before !== undefined && isMeantToStay(before)) throw stayingError(stateDir, before);
  // Its folder is its last record: containers survive a reboot.
  if (before !== undefined && isOwnCluster(stateDir, name)) await disposeOf(stateDir, before);
  const aside = setAside(stateDir, name);
  if (aside === undefined) return;
  const moved = readJson(join(aside, 'cluster.json')) as ClusterRecord | undefined;
  if (moved?.token !== before?.token) {
    moveInto(aside, path);
    throw takenError(stateDir, name);
  }
  removeFolder(aside);
}

async function disposeOf(stateDir: string, record: ClusterRecord): Promise<void> {
  const driver = driverOf(stateDir, record, { stopWithParent: false });
  try {
    await driver.dispose(partsOf(stateDir, record), 0);
  } catch (error) {
    if (!(error instanceof HarnessError)) throw error;
    const { code, hint } = error;
    throw new HarnessError(
      code,
      `what is left of an earlier cluster named '${record.name}' cannot be removed: ${error.message}`,
      { cause: error, hint },
    );
  } finally {
    await driver.close();
  }
}

function stayingError(stateDir: string, record: ClusterRecord): HarnessError {
  const { name, nodes } = record;
  return new HarnessError(
    'CLUSTER_EXISTS',
    `cluster '${name}' is there, with the data of ${plural(nodes.length, 'node')}: it was left to run, and nothing of it has run${sinceText(stateDir, name)}`,
    { hint: `${nextSteps(stateDir, record)}\nOr choose another name with --name.` },
  );
}

function takenError(stateDir: string, name: string): HarnessError {
  const record = readRecord(stateDir, name);
  const taken = (what: string, hint: string) =>
    new HarnessError('CLUSTER_EXISTS', `a cluster named '${name}' is ${what}`, { hint });
  const elsewhere = record && whyElsewhere(record);
  if (elsewhere !== undefined) return taken(`there: ${elsewhere}`, endedHint(name));
  // `down` refuses it until then.
  return record?.phase === 'starting' && isAlive(record.owner)
    ? taken(
        `being started by process ${record.owner.pid}`,
        'Choose another name with --name, or wait until that command has started it.',
      )
    : taken(
        'running already',
        `Choose another name with --name, or remove it with: svcnet down --name ${name}`,
      );
}
