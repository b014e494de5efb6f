/** A row as data: request and expected answer, or steps. */
import type { Level, Row } from '../row.ts';
import type { Place } from './messages.ts';
import { type Upload, upload } from './prerequisites.ts';
import { type Ask, type Expected, type HttpSubject, RowSession } from './subject.ts';

interface Entry {
  readonly id: string;
  readonly about: string;
  /** Default: the table's. */
  readonly level?: Level;
  readonly limitMs?: number;
  readonly needs?: Place | undefined;
  /** Path that shows whether the subject is on. */
  readonly enabled?: string | undefined;
}

export interface Question extends Entry {
  /** Its reference is `{upload}`. */
  readonly upload?: Upload;
  readonly ask: Ask;
  readonly expect: Expected;
  readonly isAwaited?: true;
}

export interface Steps extends Entry {
  readonly steps: (session: RowSession) => Promise<unknown>;
}

export function table(
  group: string,
  defaults: { readonly level: Level; readonly limitMs?: number },
  entries: readonly (Question | Steps)[],
): Row<HttpSubject>[] {
  return entries.map((entry) => {
    const { id, about, level, limitMs } = { ...defaults, ...entry };
    return {
      id,
      group,
      about,
      level,
      limitMs,
      run: (subject, run) => taken(entry, new RowSession(subject, run)),
    };
  });
}

async function taken(entry: Question | Steps, session: RowSession): Promise<void> {
  if (entry.needs !== undefined) session.needs(entry.needs);
  await session.enabled(entry.enabled);
  if ('steps' in entry) return void (await entry.steps(session));
  if (entry.upload !== undefined) session.given.set('upload', upload(session, entry.upload));
  const { ask, expect, isAwaited } = entry;
  await (isAwaited === true ? session.until(ask, expect) : session.ask(ask, expect));
}
