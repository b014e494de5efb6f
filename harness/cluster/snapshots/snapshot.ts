/**
 * Networks as they were at one moment, to start others from.
 *
 *   <state>/snapshots/<name>/snapshot.json    its description, its files, and what is needed to start it
 *                           /chain/           state of the chain, as `chain/state/` has it
 *                           /nodes/<node>/    data directories
 *   <state>/snapshots/.<id>/                  a snapshot being written; it gets its name when complete
 */
import { join } from 'node:path';
import { z } from 'zod';
import { anvilVersion } from '../../../chain/engine/anvil.ts';
import { VERSION } from '../../../formats/version.ts';
import { HarnessError } from '../../base/errors.ts';
import { suggestion } from '../../base/format.ts';
import { readJson } from '../../base/json-file.ts';
import { entriesOf, expectInside, NAME_PATTERN, statusOf } from '../../base/own-folder.ts';
import type { FlavourName, NodeMode } from '../../flavours/flavour.ts';
import { type DriverName, LOCAL_DRIVERS } from '../../places/facts.ts';
import { clusterName, nodeName as nodeNameText } from '../plan/fields.ts';
import { REAL_NODES_MAX } from '../plan/options/nodes.ts';
import { nodeName } from '../plan/planned-node.ts';
import type { BatchRecord, PreparedRecord } from '../state/state.ts';
import { foldersIn, statePath } from '../state/state-folder.ts';

const text = z.string({ error: 'text' });
const count = z.int({ error: 'a whole number' }).min(0, { error: 'a whole number from 0' });
const MS_MAX = 8.64e15;

/** Raised when older snapshots can no longer be started. */
const FORMAT = 2;

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
  /** Bytes of each file, by its path in the folder: a half-restored copy must not start with data missing. */
  readonly files: Readonly<Record<string, number>>;
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

export const inside = {
  record: (path: string) => join(path, 'snapshot.json'),
  chain: (path: string) => join(path, 'chain'),
  node: (path: string, node: string) => join(path, 'nodes', node),
} as const;

/** Complete ones, sorted. @param onBroken gets the name of each that cannot be read, and why */
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

export function whyUnusable({ path, record }: Snapshot): string | undefined {
  const { format, version, anvil } = currentHead();
  if (record.format !== format) return `its format is ${record.format}, this svcnet reads ${format}`;
  if (record.version !== version) return `it was saved by svcnet ${record.version}, this is ${version}`;
  if (record.anvil !== anvil) return `its chain is that of Anvil ${record.anvil}, installed is ${anvil}`;
  return recordMistake(record) ?? incompleteFile(path, record);
}

function incompleteFile(path: string, { files }: SnapshotRecord): string | undefined {
  for (const [name, bytes] of Object.entries(files)) {
    const found = statusOf(join(path, name));
    if (found === undefined) return `its file ${name} is missing`;
    if (found.size !== bytes) return `its file ${name} has ${found.size} bytes, expected ${bytes}`;
  }
  return undefined;
}

export function checkUsable(snapshot: Snapshot): void {
  const odd = oddEntry(snapshot.path);
  const why = odd === undefined ? whyUnusable(snapshot) : `${odd} is neither a file nor a folder`;
  if (why === undefined) return;
  const { name } = snapshot.record;
  throw new HarnessError('SNAPSHOT_REFUSED', `snapshot '${name}' cannot be started: ${why}`, {
    hint: `Start its cluster anew and save it again, or remove it with: svcnet snapshot rm ${name}`,
  });
}

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

export function snapshotsDir(stateDir: string): string {
  return statePath(stateDir, 'snapshots');
}

/** Enough to be listed, by any version: it may be damaged, or have come from elsewhere. */
const head = z.looseObject(
  {
    format: z.int({ error: 'a number' }),
    version: text,
    anvil: text,
    name: text,
    savedAt: count.max(MS_MAX, { error: 'milliseconds' }),
  },
  { error: 'a snapshot' },
);

/** Nodes of this package alone: others cannot be saved, and need a program or an image. */
const group = z.looseObject(
  {
    flavour: z.enum(['svc', 'dishonest'], { error: 'svc or dishonest' }),
    count: z
      .int({ error: 'a count' })
      .min(1, { error: 'a count from 1' })
      .max(REAL_NODES_MAX, { error: `a count up to ${REAL_NODES_MAX}` }),
    binary: z.undefined({ error: 'none: a snapshot names no programs' }).optional(),
    image: z.undefined({ error: 'none: a snapshot names no images' }).optional(),
    declared: z.undefined({ error: 'none: a snapshot describes no programs' }).optional(),
    options: z.record(z.string(), z.unknown(), { error: 'a map of node options' }),
  },
  { error: 'a group' },
);
const startable = z.looseObject({
  cluster: text.regex(NAME_PATTERN, { error: 'the name of a cluster' }),
  seed: text.regex(/^\d{1,20}$/, { error: 'decimal digits' }),
  driver: z.enum(LOCAL_DRIVERS, { error: `one of ${LOCAL_DRIVERS.join(', ')}` }),
  definition: z.looseObject(
    {
      nodes: z.array(group, { error: 'a list of groups' }).min(1, { error: 'at least one group' }),
      flavours: z
        .array(z.unknown(), { error: 'a list' })
        .max(0, { error: 'none: a snapshot describes no programs' })
        .optional(),
      driver: z.enum(LOCAL_DRIVERS, { error: `one of ${LOCAL_DRIVERS.join(', ')}` }),
      chain: z.looseObject({ blockTime: z.number({ error: 'milliseconds' }) }, { error: 'a map' }),
      batches: z.array(z.looseObject({ depth: count }), { error: 'a list of batches' }),
      grown: z
        .looseObject(
          { from: count, gone: z.array(count, { error: 'a list of numbers' }) },
          { error: 'a map' },
        )
        .optional(),
      upgraded: z.record(z.string(), group, { error: 'a map of nodes' }).optional(),
      prepare: z.looseObject(
        {
          uploads: z.array(z.unknown(), { error: 'a list' }),
          cheques: z.array(z.unknown(), { error: 'a list' }),
        },
        { error: 'a map' },
      ),
    },
    { error: 'a definition' },
  ),
  batches: z.array(z.looseObject({ id: text, node: nodeNameText, depth: count }), {
    error: 'a list of batches',
  }),
  height: count,
  sizeBytes: count,
  files: z.record(z.string(), count, { error: 'a map of files to bytes' }),
  nodes: z
    .array(z.looseObject({ name: nodeNameText }, { error: 'a node' }), { error: 'a list of nodes' })
    .max(REAL_NODES_MAX, { error: `at most ${REAL_NODES_MAX} nodes` }),
});

function headMistake(record: unknown, folder: string): string | undefined {
  const parsed = head.safeParse(record);
  if (!parsed.success) return mistakeOf(parsed.error);
  const { name } = parsed.data;
  return name === folder ? undefined : `name: got '${name}', expected '${folder}', the name of its folder`;
}

function recordMistake(record: unknown): string | undefined {
  const parsed = startable.safeParse(record);
  if (!parsed.success) return mistakeOf(parsed.error);
  const { nodes, definition } = parsed.data;
  const names = new Set(nodes.map(({ name }) => name));
  const given = definition.nodes.reduce((sum, one) => sum + one.count, 0);
  const gone = new Set(definition.grown?.gone);
  const wanted = Array.from({ length: given }, (_, index) => index).filter((index) => !gone.has(index));
  if (
    names.size === nodes.length &&
    nodes.length === wanted.length &&
    wanted.every((index) => names.has(nodeName(index)))
  )
    return undefined;
  const without = gone.size === 0 ? '' : ` without ${[...gone].map(nodeName).join(', ')}`;
  return `nodes: got ${nodes.length}, expected node-0 to node-${given - 1}${without}, as its definition says`;
}

/** Copies follow no links. @returns the first entry that is neither file nor folder */
function oddEntry(folder: string): string | undefined {
  for (const entry of entriesOf(folder)) {
    const path = join(folder, entry.name);
    if (!entry.isDirectory() && !entry.isFile()) return path;
    const odd = entry.isDirectory() ? oddEntry(path) : undefined;
    if (odd !== undefined) return odd;
  }
  return undefined;
}

function mistakeOf(error: z.ZodError): string {
  const [issue] = error.issues;
  return `${issue?.path.join('.') ?? ''}: expected ${issue?.message ?? 'another value'}`.replace(/^: /, '');
}
