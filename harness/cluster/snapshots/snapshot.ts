/**
 * Snapshots on disk: networks as they were at one moment, to start others from.
 *
 *   <state>/snapshots/<name>/snapshot.json    its description, and what is needed to start it
 *                           /chain/           state of the chain, as `chain/state/` has it
 *                           /nodes/<node>/    data directories
 *   <state>/snapshots/.<id>/                  a snapshot being written; it gets its name when complete
 */
import { join } from 'node:path';
import { anvilVersion } from '../../../chain/engine/anvil.ts';
import { VERSION } from '../../../formats/version.ts';
import { HarnessError } from '../../base/errors.ts';
import { suggestion } from '../../base/format.ts';
import { readJson } from '../../base/json-file.ts';
import { expectInside, NAME_PATTERN } from '../../base/own-folder.ts';
import type { FlavourName, NodeMode } from '../../flavours/flavour.ts';
import type { DriverName } from '../../places/facts.ts';
import { clusterName } from '../plan/fields.ts';
import { type BatchRecord, type PreparedRecord } from '../state/state.ts';
import { foldersIn, statePath } from '../state/state-folder.ts';
import { headMistake, oddEntry, recordMistake } from './snapshot-shape.ts';

/** Raised when older snapshots can no longer be started. */
const FORMAT = 1;

/** The part of a snapshot that every version can read. */
export interface SnapshotHead {
  /** Raised when older snapshots can no longer be started. */
  readonly format: number;
  /** Version of this package, which determines how nodes store their data. */
  readonly version: string;
  readonly anvil: string;
}

/** A snapshot of a cluster on disk. */
export interface SnapshotRecord extends SnapshotHead {
  readonly name: string;
  /** Unix milliseconds. */
  readonly savedAt: number;
  /** Name of the cluster that was saved. */
  readonly cluster: string;
  /** Decimal. */
  readonly seed: string;
  readonly driver: DriverName;
  /** By `writtenDefinition`. */
  readonly definition: unknown;
  /** Batches from its start, and those that nodes without one got later. */
  readonly batches: readonly BatchRecord[];
  /** What its start has prepared because the definition asks for it. */
  readonly prepared?: PreparedRecord | undefined;
  /** Height of the chain, blocks. */
  readonly height: number;
  /** Size of all files. */
  readonly sizeBytes: number;
  readonly nodes: readonly {
    readonly name: string;
    readonly flavour: FlavourName;
    readonly mode: NodeMode;
  }[];
}

export interface Snapshot {
  readonly path: string;
  readonly record: SnapshotRecord;
}

export function currentHead(): SnapshotHead {
  return { format: FORMAT, version: VERSION, anvil: anvilVersion() };
}

/** Paths inside a snapshot's folder. */
export const inside = {
  record: (path: string) => join(path, 'snapshot.json'),
  chain: (path: string) => join(path, 'chain'),
  node: (path: string, node: string) => join(path, 'nodes', node),
} as const;

/** Complete snapshots, sorted by name. @param onBroken gets the name of each that cannot be read, and why */
export function listSnapshots(
  stateDir: string,
  onBroken: (name: string, why: string) => void = () => undefined,
): Snapshot[] {
  return foldersIn(snapshotsDir(stateDir))
    .filter((name) => NAME_PATTERN.test(name))
    .flatMap((name) => {
      try {
        return readSnapshot(stateDir, name) ?? [];
      } catch (error) {
        if (!(error instanceof HarnessError)) throw error;
        onBroken(name, error.message);
        return [];
      }
    });
}

/** @throws HarnessError `SNAPSHOT_NOT_FOUND` naming those that exist, `SNAPSHOT_REFUSED` when it cannot be read */
export function findSnapshot(stateDir: string, name: string, argument: string): Snapshot {
  const found = clusterName.safeParse(name).success ? readSnapshot(stateDir, name) : undefined;
  if (found !== undefined) return found;
  const known = listSnapshots(stateDir).map(({ record }) => record.name);
  const what = `${argument}: no snapshot '${name}'${suggestion(name, known)}`;
  throw new HarnessError(
    'SNAPSHOT_NOT_FOUND',
    `${what}${known.length === 0 ? '' : ` (known: ${known.join(', ')})`}`,
    {
      hint:
        known.length === 0
          ? 'Save a running cluster with: svcnet snapshot save NAME'
          : 'List them with: svcnet snapshot ls',
    },
  );
}

/** Why it cannot start; undefined: it can. */
export function whyUnusable({ record }: Snapshot): string | undefined {
  const { format, version, anvil } = currentHead();
  if (record.format !== format) return `its format is ${record.format}, this svcnet reads ${format}`;
  if (record.version !== version) return `it was saved by svcnet ${record.version}, this is ${version}`;
  if (record.anvil !== anvil) return `its chain is that of Anvil ${record.anvil}, installed is ${anvil}`;
  return recordMistake(record);
}

/** @throws HarnessError `SNAPSHOT_REFUSED` */
export function checkUsable(snapshot: Snapshot): void {
  const odd = oddEntry(snapshot.path);
  const why = odd === undefined ? whyUnusable(snapshot) : `${odd} is neither a file nor a folder`;
  if (why === undefined) return;
  const { name } = snapshot.record;
  throw new HarnessError('SNAPSHOT_REFUSED', `snapshot '${name}' cannot be started: ${why}`, {
    hint: `Start its cluster anew and save it again, or remove it with: svcnet snapshot rm ${name}`,
  });
}

/** @throws HarnessError `SNAPSHOT_REFUSED` */
export function readSnapshot(stateDir: string, name: string): Snapshot | undefined {
  const path = join(snapshotsDir(stateDir), name);
  expectInside(snapshotsDir(stateDir), inside.record(path));
  const record = readJson(inside.record(path));
  if (record === undefined) return undefined;
  const mistake = headMistake(record, name);
  if (mistake === undefined) return { path, record: record as SnapshotRecord };
  throw new HarnessError('SNAPSHOT_REFUSED', `${inside.record(path)}: ${mistake}`, {
    hint: `It is damaged, or svcnet has not written it. Remove it with: svcnet snapshot rm ${name}`,
  });
}

/** @throws HarnessError as `statePath` */
export function snapshotsDir(stateDir: string): string {
  return statePath(stateDir, 'snapshots');
}
