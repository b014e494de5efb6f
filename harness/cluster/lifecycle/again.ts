/** Clusters with nothing running, such as after a reboot. They start from their folders; only `down` removes them. */
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { HarnessError } from '../../base/errors.ts';
import { isAlive, ownProcess } from '../../base/machine/processes.ts';
import { haltAll, LINK_PROXY } from '../../places/driver.ts';
import { DRIVER_FACTS } from '../../places/facts.ts';
import { storeOf } from '../plan/facts.ts';
import { readDefinition } from '../plan/schema.ts';
import { endedHint, whyElsewhere } from '../state/elsewhere.ts';
import {
  type ClusterRecord,
  clusterFolder,
  findCluster,
  isMeantToStay,
  whyNotOurs,
  writeRecord,
} from '../state/state.ts';
import { namesIn } from '../state/state-folder.ts';
import { takeTurn } from '../state/turn.ts';
import { driverOf, expectNotElsewhere, partsOf } from './drivers.ts';

const GRACE_MS = 1500;

/** Why a cluster cannot start from its folder; undefined: nothing is known to be missing. */
export function whyNotAgain(stateDir: string, record: ClusterRecord): string | undefined {
  const { name, driver, nodes, definition } = record;
  const foreign = whyNotOurs(stateDir, name);
  if (foreign !== undefined) return foreign;
  // What containers hold, only their engine knows.
  if (!DRIVER_FACTS[driver].local) return undefined;
  if (storeOf(readDefinition(definition)) === 'memory') {
    return 'its nodes kept their data in memory, which has gone with their process';
  }
  const folder = clusterFolder(stateDir, name);
  const chain = join(folder.chainState(), 'state.json');
  if (!existsSync(chain)) return `the state of its chain is missing: ${chain}`;
  const missing = nodes.find((node) => !existsSync(folder.dataDir(node.name)));
  return missing === undefined
    ? undefined
    : `the data of ${missing.name} is missing: ${folder.dataDir(missing.name)}`;
}

/** Undefined: parts write elsewhere. */
export function lastWritten(stateDir: string, name: string): Date | undefined {
  const folder = clusterFolder(stateDir, name);
  const times = [folder.chainState(), join(folder.path, 'logs')].flatMap((path) =>
    namesIn(path).map((file) => statSync(join(path, file), { throwIfNoEntry: false })?.mtimeMs ?? 0),
  );
  return times.length === 0 ? undefined : new Date(Math.max(...times));
}

export function nextSteps(stateDir: string, record: ClusterRecord): string {
  const { name } = record;
  const why = whyNotAgain(stateDir, record);
  const start =
    why === undefined
      ? `Start it again with: svcnet start --name ${name}`
      : `It cannot be started again: ${why}.`;
  return `${start}\nRemove it with: svcnet down --name ${name}`;
}

/** `since 2026-05-04 12:34:56`, in UTC by this machine's clock; empty: unknown. */
export function sinceText(stateDir: string, name: string): string {
  const at = lastWritten(stateDir, name)?.toISOString().slice(0, 19).replace('T', ' ');
  return at === undefined ? '' : ` since ${at} UTC`;
}

export function downLines(stateDir: string, record: ClusterRecord): string[] {
  return [
    `nothing of it has run${sinceText(stateDir, record.name)}`,
    ...nextSteps(stateDir, record).split('\n'),
  ].map((line) => `  ${line}`);
}

/** None if it can be told from here whether it runs. */
export function elsewhereLines(record: ClusterRecord): string[] {
  const why = whyElsewhere(record);
  return why === undefined ? [] : [`  ${record.name}: ${why}`, `  ${endedHint(record.name)}`];
}

export interface TakenAgain {
  readonly before: ClusterRecord;
  readonly record: ClusterRecord;
}

/**
 * Takes a cluster with nothing running for this process.
 * @param name may be left out when there is only one
 * @throws HarnessError `CLUSTER_NOT_FOUND`, `CLUSTER_EXISTS` when it runs or starts, `STATE_INVALID` when it cannot
 * start again
 */
export async function takeAgain(stateDir: string, name: string | undefined): Promise<TakenAgain> {
  const { name: found } = findCluster(stateDir, name);
  using _turn = takeTurn(clusterFolder(stateDir, found).path, 'starting', (owner) =>
    beingStarted(found, owner.pid),
  );
  const before = findCluster(stateDir, found);
  await expectDown(stateDir, before);
  const why = isMeantToStay(before) ? whyNotAgain(stateDir, before) : 'it has never started completely';
  if (why !== undefined) {
    throw new HarnessError('STATE_INVALID', `cluster '${found}' cannot be started again: ${why}`, {
      hint: `Remove it with: svcnet down --name ${found}`,
    });
  }
  const startedIn = clusterFolder(stateDir, found).path;
  const record: ClusterRecord = { ...before, phase: 'starting', owner: ownProcess(), startedIn };
  writeRecord(stateDir, record);
  return { before: { ...before, phase: 'running' }, record };
}

const NEEDED_BY_ALL: readonly string[] = ['chain', LINK_PROXY];

async function expectDown(stateDir: string, record: ClusterRecord): Promise<void> {
  const { name, phase, owner } = record;
  if (!DRIVER_FACTS[record.driver].owned) {
    throw new HarnessError('NODE_STATE', `cannot start cluster '${name}': it was not started here`);
  }
  if (phase === 'starting' && isAlive(owner)) throw beingStarted(name, owner.pid);
  expectNotElsewhere(record, 'start');
  const driver = driverOf(stateDir, record, { stopWithParent: false, isAgain: true });
  const cluster = partsOf(stateDir, record);
  const seen = await Promise.all(
    cluster.parts.map(async (part) => ({ ...part, ...(await driver.observe(part.handle)) })),
  );
  if (seen.every(({ state }) => state === 'gone')) return;
  if (seen.some(({ name: part, state }) => state === 'gone' && NEEDED_BY_ALL.includes(part))) {
    await haltAll(driver, cluster, GRACE_MS);
    return;
  }
  throw new HarnessError('CLUSTER_EXISTS', `cluster '${name}' runs already, or a part of it`, {
    hint: `Name the node to start, as in: svcnet start node-0 --name ${name}`,
  });
}

export function unfinishedError(stateDir: string, record: ClusterRecord): HarnessError {
  const { name, phase, owner } = record;
  return phase === 'starting' && isAlive(owner)
    ? new HarnessError('CLUSTER_NOT_FOUND', `cluster '${name}' is being started by process ${owner.pid}`, {
        hint: 'Try again when it has started.',
      })
    : new HarnessError('CLUSTER_NOT_FOUND', `cluster '${name}' has not started completely`, {
        hint: isMeantToStay(record)
          ? nextSteps(stateDir, record)
          : `Remove it with: svcnet down --name ${name}`,
      });
}

function beingStarted(name: string, pid: number): HarnessError {
  return new HarnessError('CLUSTER_EXISTS', `cluster '${name}' is being started by process ${pid}`, {
    hint: 'Try again when it has started.',
  });
}
