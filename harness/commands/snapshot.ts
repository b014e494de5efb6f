import { formatMs, plural } from '../base/format.ts';
import { MACHINE_CLOCK } from '../base/machine/clock.ts';
import { renderTable } from '../base/terminal/table.ts';
import { typed } from '../base/typed.ts';
import { seedToJson } from '../cluster/plan/seed.ts';
import {
  findSnapshot,
  listSnapshots,
  type Snapshot,
  type SnapshotRecord,
  whyUnusable,
} from '../cluster/snapshots/snapshot.ts';
import { removeSnapshot } from '../cluster/snapshots/writing.ts';
import { formatBytes } from '../report/console.ts';
import { answer, type ClusterFlags, type CommandContext } from './context.ts';
import { onCluster } from './on-cluster.ts';

export async function saveSnapshot(
  name: string,
  flags: ClusterFlags & { force?: boolean },
  context: CommandContext,
): Promise<void> {
  const startedAt = MACHINE_CLOCK.monotonic();
  await onCluster(flags, context, async (cluster) => {
    const record = await cluster.saveSnapshot(name, {
      force: flags.force ?? false,
      signal: context.signal,
      onProgress: (text) => context.note(`  ${text}\n`),
    });
    const durationMs = Math.round(MACHINE_CLOCK.monotonic() - startedAt);
    answer(context, { ...documentOf(findSnapshot(context.stateDir, name, 'snapshot save')), durationMs }, [
      `  saved ${cluster.name} as ${name}: ${plural(record.nodes.length, 'node')} at block ${record.height}, ${formatBytes(record.sizeBytes)}, in ${formatMs(durationMs)}`,
      `  start it with: ${typed(`up --snapshot ${name} --name ${name}`)}`,
    ]);
  });
}

const COLUMNS = [
  { title: 'snapshot', rank: 0 },
  { title: 'nodes', rank: 1, align: 'right' },
  { title: 'block', rank: 3, align: 'right' },
  { title: 'size', rank: 1, align: 'right' },
  { title: 'cluster', rank: 3 },
  { title: 'driver', rank: 4 },
  { title: 'seed', rank: 4, align: 'right' },
  { title: 'saved', rank: 2 },
] as const;

export function listAllSnapshots(_flags: object, context: CommandContext): Promise<void> {
  const broken: { name: string; why: string }[] = [];
  const snapshots = listSnapshots(context.stateDir, (name, why) => broken.push({ name, why }));
  answer(context, { snapshots: snapshots.map(documentOf), broken }, [
    ...(snapshots.length === 0 && broken.length > 0 ? [] : linesOf(snapshots, context)),
    ...broken.map(({ name, why }) => `  ${name} cannot be read: ${why}`),
  ]);
  return Promise.resolve();
}

function linesOf(snapshots: readonly Snapshot[], { width }: CommandContext): string[] {
  if (snapshots.length === 0)
    return ['  no snapshots; save a running cluster with: svcnet snapshot save NAME'];
  const rows = snapshots.map(({ record }) => rowOf(record));
  const unusable = snapshots.flatMap((snapshot) => {
    const why = whyUnusable(snapshot);
    return why === undefined ? [] : [`  ${snapshot.record.name} cannot be started: ${why}`];
  });
  return [...renderTable(COLUMNS, rows, width).lines, ...unusable];
}

/** Only the head of another version is known. */
function rowOf({ name, savedAt, ...rest }: SnapshotRecord): string[] {
  const known: Readonly<Record<string, unknown>> = { ...rest };
  const shown = (key: string) => {
    const value = known[key];
    return typeof value === 'string' || typeof value === 'number' ? String(value) : '-';
  };
  return [
    name,
    Array.isArray(known['nodes']) ? String(known['nodes'].length) : '-',
    shown('height'),
    typeof known['sizeBytes'] === 'number' ? formatBytes(known['sizeBytes']) : '-',
    shown('cluster'),
    shown('driver'),
    shown('seed'),
    new Date(savedAt).toISOString().slice(0, 19).replace('T', ' '),
  ];
}

export function removeOneSnapshot(name: string, _flags: object, context: CommandContext): Promise<void> {
  const sizeBytes = removeSnapshot(context.stateDir, name);
  answer(context, { removed: name, sizeBytes }, [`  removed ${name}: ${formatBytes(sizeBytes)} freed`]);
  return Promise.resolve();
}

/** Known of any version. */
type Head = Partial<SnapshotRecord> & Pick<SnapshotRecord, 'name' | 'savedAt'>;

function documentOf(snapshot: Snapshot): Record<string, unknown> {
  const { name, cluster, seed, driver, nodes, height, sizeBytes, savedAt, version }: Head = snapshot.record;
  return {
    name,
    cluster,
    seed: seed !== undefined && /^\d+$/.test(seed) ? seedToJson(BigInt(seed)) : null,
    driver,
    nodes: nodes?.length ?? null,
    height,
    sizeBytes,
    savedAt: new Date(savedAt).toISOString(),
    version,
    /** `null`: it can be started. */
    unusable: whyUnusable(snapshot) ?? null,
  };
}
