/**
 * What is done to a run's cluster and asked of its nodes, as data. With the seed and the definition of the run,
 * `schedule.json` repeats everything that was drawn, so that removing an entry, a node or some time gives a smaller run of
 * the same kind.
 */
import { join } from 'node:path';
import { z } from 'zod';
import { HarnessError } from '../../base/errors.ts';
import { mistakeLines } from '../../base/foreign-text.ts';
import { readJson, writeJson } from '../../base/json-file.ts';
import type { FaultRequest } from '../../cluster/faults/fault.ts';
import { SCHEDULE_FILE } from '../../report/folder.ts';

/** Counted from the beginning of the load. Chunks and bytes are those of the ledger. */
export const MILESTONES = ['chunks acknowledged', 'uploads acknowledged', 'bytes acknowledged'] as const;

/** A count that a schedule can wait for. */
export type Milestone = (typeof MILESTONES)[number];

/** A time since the beginning of the load, or the count of a milestone and a delay after it. */
export type FaultTrigger =
  | { readonly atMs: number }
  | { readonly after: number; readonly of: Milestone; readonly delayMs?: number | undefined };

/** A fault of a schedule. */
export interface ScheduledFault {
  readonly id: string;
  readonly when: FaultTrigger;
  /** Absent: until the load has ended. */
  readonly forMs?: number | undefined;
  readonly request: FaultRequest;
}

/** What every operation of a schedule has. */
export interface OperationKeys {
  readonly n: number;
  /** Operations of a lane follow each other; lanes run side by side. */
  readonly lane: string;
  readonly atMs: number;
  readonly node: string;
}

/** The payload comes from a stream of the seed. */
export interface ScheduledUpload extends OperationKeys {
  readonly do: 'upload';
  readonly kind: 'bytes' | 'chunk' | 'file';
  readonly size: number;
  readonly mode: 'direct' | 'deferred';
  readonly data: string;
}

/**
 * An upload, a download of the upload with that number, a message, a new payload at a single-owner address near another
 * node, a request for a chunk that no node has, or cashing cheques. Ids and addresses come from streams of the seed.
 */
export type ScheduledOperation =
  | ScheduledUpload
  | (OperationKeys & { readonly do: 'download'; readonly upload: number })
  | (OperationKeys & { readonly do: 'message'; readonly to: string })
  | (OperationKeys & { readonly do: 'update'; readonly to: string; readonly data: string })
  | (OperationKeys & { readonly do: 'seek'; readonly data: string })
  | (OperationKeys & { readonly do: 'cash' });

/** What is done to a cluster and asked of its nodes during a load. */
export interface Schedule {
  readonly schema: 1;
  readonly durationMs: number;
  readonly faults: readonly ScheduledFault[];
  /** Empty for a scenario with a load of its own. */
  readonly operations: readonly ScheduledOperation[];
}

const ms = z.int({ error: 'milliseconds, a whole number' }).min(0);
const text = z.string().min(1);

const whenSchema = z.union(
  [
    z.strictObject({ atMs: ms }),
    z.strictObject({ after: z.int().min(0), of: z.enum(MILESTONES), delayMs: ms.optional() }),
  ],
  { error: `a time { atMs } or an event { after, of }, of one of ${MILESTONES.join(', ')}` },
);

const requestSchema = z.looseObject({ kind: text });

const faultSchema = z.strictObject({
  id: text,
  when: whenSchema,
  forMs: ms.optional(),
  request: requestSchema,
});

const common = {
  n: z.int().min(0),
  lane: text,
  atMs: ms,
  node: text,
};

/** It is made and compared in memory. */
const PAYLOAD_MAX = 2 ** 30;

const operationSchema = z.discriminatedUnion('do', [
  z.strictObject({
    ...common,
    do: z.literal('upload'),
    kind: z.enum(['bytes', 'chunk', 'file']),
    size: z.int().min(1).max(PAYLOAD_MAX),
    mode: z.enum(['direct', 'deferred']),
    data: text,
  }),
  z.strictObject({ ...common, do: z.literal('download'), upload: z.int().min(0) }),
  /** `to` must hear it, unless either is away meanwhile. */
  z.strictObject({ ...common, do: z.literal('message'), to: text }),
  z.strictObject({ ...common, do: z.literal('update'), to: text, data: text }),
  z.strictObject({ ...common, do: z.literal('seek'), data: text }),
  z.strictObject({ ...common, do: z.literal('cash') }),
]);

const scheduleSchema: z.ZodType<Schedule> = z.strictObject({
  schema: z.literal(1),
  durationMs: ms,
  faults: z.array(faultSchema),
  operations: z.array(operationSchema),
});

/** @param folder of the run */
export function writeSchedule(folder: string, schedule: Schedule): void {
  writeJson(join(folder, SCHEDULE_FILE), schedule);
}

/** @param path of a `schedule.json` @throws HarnessError `DEFINITION_INVALID` with every mistake */
export function readSchedule(path: string): Schedule {
  const document = readJson(path);
  if (document === undefined) throw new HarnessError('DEFINITION_INVALID', `no schedule '${path}'`);
  return parseSchedule(document, path);
}

/** @param source where it was read from @throws HarnessError `DEFINITION_INVALID` with every mistake */
export function parseSchedule(document: unknown, source: string): Schedule {
  const parsed = scheduleSchema.safeParse(document);
  if (parsed.success) return parsed.data;
  const mistakes = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
  throw new HarnessError('DEFINITION_INVALID', mistakeLines(mistakes, source));
}
