/** Reads a run's messages. Its folder may come from elsewhere: nothing in it is believed. */
import { createReadStream, existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { cannotRead, HarnessError } from '../../base/errors.ts';
import { expectFile } from '../../base/own-folder.ts';
import type { TapEvent, TapValue } from '../../places/links/tap/events.ts';
import {
  MESSAGES_FILE,
  MESSAGES_SCHEMA,
  OLDER_MESSAGES_FILE,
  type ReadEvent,
  type RecordedEvent,
} from './message-file.ts';

const LINE_MAX = 1 << 20;
/** Fields in fields. */
const DEPTH_MAX = 16;
const KINDS: readonly unknown[] = ['opened', 'headers', 'message', 'end'] satisfies TapEvent['kind'][];
const TEXTS = ['from', 'to', 'stream', 'protocol', 'id', 'name'] as const;

type OnLack = (what: string) => void;

export function messageFiles(folder: string): string[] {
  return [OLDER_MESSAGES_FILE, MESSAGES_FILE]
    .map((name) => join(folder, name))
    .filter((path) => existsSync(path));
}

/**
 * @throws HarnessError `RUN_INVALID` naming file and line, `STATE_INVALID`, `CANNOT_READ`
 */
export async function* readMessages(files: readonly string[], onLack: OnLack): AsyncGenerator<ReadEvent> {
  for (const file of files) yield* messagesOf(file, onLack);
}

async function* messagesOf(file: string, onLack: OnLack): AsyncGenerator<ReadEvent> {
  expectFile(dirname(file), file);
  let number = 0;
  let missed = 0;
  const began = new Map<number, number>();
  for await (const text of lines(file, onLack)) {
    number++;
    const line = parsed(text, `${file}:${number}`);
    if (number === 1) {
      const before = headOf(line, file);
      const older = join(dirname(file), OLDER_MESSAGES_FILE);
      if (before > 0 && (file === older || !existsSync(older)))
        onLack(`${before} earlier messages are in no file`);
    } else if (isCount(line['missed'])) missed += line['missed'];
    else if (isCount(line['cluster']) && isTime(line['began'])) began.set(line['cluster'], line['began']);
    else if (isEvent(line)) yield { ...line, began: begunOf(began, line, `${file}:${number}`) };
    else throw invalid(`${file}:${number}`, 'expected a message');
  }
  if (missed > 0) onLack(`${missed} messages passed too fast to be recorded`);
}

function headOf({ schema, before }: Readonly<Record<string, unknown>>, file: string): number {
  if (schema === MESSAGES_SCHEMA && isCount(before)) return before;
  throw new HarnessError(
    'RUN_INVALID',
    `${file}: schema ${JSON.stringify(schema) ?? 'missing'}, expected ${MESSAGES_SCHEMA}`,
    { hint: 'It is no record of messages, or of another version of svcnet.' },
  );
}

function invalid(where: string, why: string, cause?: unknown): HarnessError {
  return new HarnessError('RUN_INVALID', `${where}: ${why}`, { cause });
}

function parsed(text: string, where: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw invalid(where, 'expected a line of JSON', error);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalid(where, 'expected an object');
  }
  return value as Readonly<Record<string, unknown>>;
}

async function* lines(file: string, onLack: OnLack): AsyncGenerator<string> {
  let rest = '';
  try {
    const unzipped = createGunzip();
    const source = createReadStream(file);
    // The loop that reads from it gets its errors.
    pipeline(source, unzipped, () => undefined);
    const decoder = new TextDecoder();
    for await (const bytes of unzipped as AsyncIterable<Buffer>) {
      const parts = (rest + decoder.decode(bytes, { stream: true })).split('\n');
      rest = parts.pop() ?? '';
      if (rest.length > LINE_MAX) throw invalid(file, `a line has more than ${LINE_MAX} characters`);
      yield* parts;
    }
    // The engine ignores what does not begin as a member.
    if (unzipped.bytesWritten < source.bytesRead)
      throw invalid(file, `what follows byte ${unzipped.bytesWritten} is damaged`);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code === 'Z_BUF_ERROR') return onLack(`${file} ends in the middle of a message`);
    if (code.startsWith('Z_')) throw invalid(file, 'expected messages compressed by gzip', error);
    throw cannotRead(file, error);
  }
  if (rest !== '') onLack(`${file} ends in the middle of a message`);
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** @throws HarnessError `RUN_INVALID` */
function begunOf(
  began: ReadonlyMap<number, number>,
  { cluster = 1 }: Pick<RecordedEvent, 'cluster'>,
  where: string,
): number {
  const at = began.get(cluster);
  if (at === undefined)
    throw invalid(where, `a message of cluster ${cluster} before the time when that began`);
  return at;
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value < 8.64e15;
}

function isEvent(
  line: Readonly<Record<string, unknown>>,
): line is Readonly<Record<string, unknown>> & RecordedEvent {
  const { at, kind, fields, bytes, cluster = 1 } = line;
  if (!isTime(at) || !isCount(bytes) || !isCount(cluster) || !KINDS.includes(kind)) return false;
  return TEXTS.every((name) => typeof line[name] === 'string') && isFields(fields, 0);
}

function isFields(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.values(value).every((inner) => isValue(inner, depth + 1));
}

function isValue(value: unknown, depth: number): value is TapValue {
  if (depth > DEPTH_MAX) return false;
  if (Array.isArray(value)) return value.every((inner) => isValue(inner, depth + 1));
  return ['string', 'number', 'boolean'].includes(typeof value) || isFields(value, depth);
}
