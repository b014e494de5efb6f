import {
  CHUNK_PAYLOAD_SIZE,
  POWER_CUT,
  type RandomIntegers,
  type ScheduledFault,
  type ScheduledOperation,
} from 'svcnet/scenario';

export type Drawn = ScheduledOperation extends infer O
  ? O extends ScheduledOperation
    ? Omit<O, 'n' | 'lane' | 'atMs' | 'node'>
    : never
  : never;

/** While there is room. */
const UPLOADS_OF_TEN = 6;
/** Of ten uploads. */
const CHUNKS_OF_TEN = 2;
const FILES_OF_TEN = 2;
const DIRECT_OF_TEN = 5;

/**
 * @param stream name of the payload, unique in the storm
 * @param uploads that can be read; empty: none yet
 * @param full nothing more may be uploaded
 * @returns undefined: nothing to do
 */
export function drawOperation(
  random: RandomIntegers,
  {
    sizes,
    stream,
    uploads,
    full,
  }: {
    readonly sizes: readonly number[];
    readonly stream: string;
    readonly uploads: readonly number[];
    readonly full: boolean;
  },
): Drawn | undefined {
  const wantsUpload = random.below(10) < UPLOADS_OF_TEN;
  const read = random.below(2 ** 30);
  const size = sizes[random.below(sizes.length)] as number;
  const kind = random.below(10);
  const mode = random.below(10) < DIRECT_OF_TEN ? 'direct' : 'deferred';
  if ((wantsUpload || uploads.length === 0) && !full) {
    if (kind < CHUNKS_OF_TEN)
      return { do: 'upload', kind: 'chunk', size: Math.min(size, CHUNK_PAYLOAD_SIZE), mode, data: stream };
    return {
      do: 'upload',
      kind: kind < CHUNKS_OF_TEN + FILES_OF_TEN ? 'file' : 'bytes',
      size,
      mode,
      data: stream,
    };
  }
  if (uploads.length === 0) return undefined;
  return { do: 'download', upload: uploads[read % uploads.length] as number };
}

export interface PlannedKill {
  /** In the schedule. */
  readonly id: string;
  readonly node: string;
  readonly atMs: number;
}

export function plannedKills(faults: readonly ScheduledFault[]): PlannedKill[] {
  return faults.flatMap(({ id, when, request: { kind, node } }) =>
    (kind === 'kill' || kind === POWER_CUT) && typeof node === 'string' && 'atMs' in when
      ? [{ id, node, atMs: when.atMs }]
      : [],
  );
}

export function drawPair<T>(random: RandomIntegers, from: readonly T[]): readonly [T, T] {
  const first = random.below(from.length);
  const second = (first + 1 + random.below(from.length - 1)) % from.length;
  return [from[first] as T, from[second] as T];
}
