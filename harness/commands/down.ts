import { HarnessError, messageOf } from '../base/errors.ts';
import { formatMs, plural } from '../base/format.ts';
import { MACHINE_CLOCK } from '../base/machine/clock.ts';
import { isAlive } from '../base/machine/processes.ts';
import { driverOf, expectNotElsewhere } from '../cluster/lifecycle/drivers.ts';
import { removeLeftovers } from '../cluster/lifecycle/leftovers.ts';
import { type Teardown, tearDown } from '../cluster/lifecycle/teardown.ts';
import {
  type ClusterRecord,
  findCluster,
  foldersWithoutRecord,
  listClusters,
  readRecord,
  removeCluster,
} from '../cluster/state/state.ts';
import { DRIVER_FACTS } from '../places/facts.ts';
import { answer, type ClusterFlags, type CommandContext } from './context.ts';

interface DownFlags extends ClusterFlags {
  readonly all?: boolean;
  readonly force?: boolean;
}

/**
 * Idempotent. Removes what it can.
 * @throws HarnessError code and hint of the first failure, naming every cluster that remains
 */
export async function down(flags: DownFlags, context: CommandContext): Promise<void> {
  const { stateDir } = context;
  const startedAt = MACHINE_CLOCK.monotonic();
  const names = meant(stateDir, flags);
  const outcomes = await Promise.allSettled(names.map((name) => remove(stateDir, name, flags.force)));
  await removeLeftovers(stateDir);
  const durationMs = Math.round(MACHINE_CLOCK.monotonic() - startedAt);
  const removed = outcomes.flatMap((each) =>
    each.status === 'fulfilled' && each.value !== undefined ? [each.value] : [],
  );
  const lines = removed.map((each) => `  ${outcome(each)}`);
  const failures = outcomes.flatMap((each, i) =>
    each.status === 'rejected' ? [{ name: names[i] as string, reason: each.reason as unknown }] : [],
  );
  if (failures.length > 0) {
    if (!context.json && lines.length > 0) context.out(`${lines.join('\n')}\n`);
    throw names.length === 1 ? failures[0]?.reason : notRemoved(failures);
  }
  const clusters = removed.map(({ name, teardown }) => ({ name, ...teardown }));
  answer(context, { clusters, durationMs }, [
    ...lines,
    `  ${clusters.length === 0 ? nothing(stateDir, flags) : `done in ${formatMs(durationMs)}`}`,
  ]);
}

interface Removed {
  readonly name: string;
  readonly record?: ClusterRecord;
  readonly teardown: Teardown;
}

function notRemoved(failures: readonly { readonly name: string; readonly reason: unknown }[]): unknown {
  const reason = failures.map((failure) => failure.reason).find((each) => each instanceof HarnessError);
  const lines = failures.map(({ name, reason: why }) => `cannot remove cluster '${name}': ${messageOf(why)}`);
  return new HarnessError(reason?.code ?? 'PROCESS_FAILED', lines.join('\n'), {
    cause: failures[0]?.reason,
    hint: reason?.hint,
  });
}

function outcome({ name, record, teardown: { stopped, forced } }: Removed): string {
  if (record === undefined) return `removed what was left of ${name}`;
  const { driver, nodes } = record;
  if (!DRIVER_FACTS[driver].owned) return `forgot ${name}: its ${plural(nodes.length, 'node')} keep running`;
  const how = forced.length === 0 ? '' : `, by force: ${forced.join(', ')}`;
  return `removed ${name}: ${plural(stopped.length, 'node')} stopped${how}`;
}

function meant(stateDir: string, { all, name }: DownFlags): readonly string[] {
  const names = listClusters(stateDir);
  const remains = foldersWithoutRecord(stateDir);
  if (all === true) return [...names, ...remains];
  if (name !== undefined && remains.includes(name)) return [name];
  if (name === undefined ? names.length === 0 : !names.includes(name)) return [];
  return [findCluster(stateDir, name).name];
}

function nothing(stateDir: string, { name }: ClusterFlags): string {
  const known = listClusters(stateDir);
  const which = name === undefined ? 'no cluster' : `no cluster '${name}'`;
  return `nothing to remove: ${which}${known.length === 0 ? '' : ` (known: ${known.join(', ')})`}`;
}

/**
 * @param force even if nothing here can tell whether it runs
 * @returns undefined: none, or removed by another command meanwhile
 */
export async function remove(stateDir: string, name: string, force = false): Promise<Removed | undefined> {
  const record = readRecord(stateDir, name);
  if (record === undefined) return removeRemains(stateDir, name);
  if (record.phase === 'starting' && isAlive(record.owner)) {
    throw new HarnessError(
      'CLUSTER_EXISTS',
      `cluster '${record.name}' is being started by process ${record.owner.pid}`,
      {
        hint: 'Interrupt that command: it then removes what it started.',
      },
    );
  }
  expectNotElsewhere(record, 'remove', force);
  const driver = driverOf(stateDir, record, { stopWithParent: false });
  try {
    return { name, record, teardown: await tearDown(stateDir, record, driver) };
  } finally {
    await driver.close();
  }
}

function removeRemains(stateDir: string, name: string): Removed | undefined {
  if (!foldersWithoutRecord(stateDir).includes(name)) return undefined;
  removeCluster(stateDir, { name, token: '' });
  return { name, teardown: { stopped: [], forced: [] } };
}
