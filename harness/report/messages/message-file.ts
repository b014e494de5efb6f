/**
 * `messages.jsonl.gz` in a run's folder: what the nodes of a tapped cluster have said to each other. Lines in order:
 *   {"schema":2,"before":0}      how many events the run had before those of this file
 *   {"cluster":1,"began":1700000000000}      of each cluster before its first event in this file
 *   {"at":1700000000000,"from":"node-0",…}   an event of the tap, with "cluster":2 of the run's second cluster
 *   {"missed":3}                 as many passed too fast to be recorded
 * The file is a row of gzip members of whole lines, so a killed run loses little. A full file becomes
 * `messages-older.jsonl.gz`, in place of the one before it: the latest events are kept.
 */
import { appendFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { cannotWrite } from '../../base/errors.ts';
import { makeFolder } from '../../base/own-folder.ts';
import type { TapEvent } from '../../places/links/tap/events.ts';

export const MESSAGES_FILE = 'messages.jsonl.gz';
export const OLDER_MESSAGES_FILE = 'messages-older.jsonl.gz';
export const MESSAGES_SCHEMA = 2;

/** In each of two files: some 15 megabytes. A second of processor time reads 200,000. */
const EVENTS_MAX = 500_000;
const zipped = promisify(gzip);

export type RecordedEvent = TapEvent & {
  /** Number of its cluster, from 2 on; absent: the first. */
  readonly cluster?: number;
};

/** An event with its cluster's beginning, ms since the epoch. */
export type ReadEvent = RecordedEvent & { readonly began: number };

export class MessageFile {
  readonly #folder: string;
  readonly #eventsMax: number;
  #count = 0;
  #inFile = 0;
  #dropped = 0;
  #older = 0;
  #begun = false;
  /** When each cluster began, and how many the current file names. */
  readonly #clusters: number[] = [];
  #named = 0;

  constructor(folder: string, eventsMax = EVENTS_MAX) {
    this.#folder = folder;
    this.#eventsMax = eventsMax;
  }

  get count(): number {
    return this.#count;
  }

  get dropped(): number {
    return this.#dropped;
  }

  /** Another cluster's events follow. @param began ms since the epoch */
  next(began: number): void {
    this.#clusters.push(began);
  }

  /** @throws HarnessError `CANNOT_WRITE`: the file may end in the midst of a member, and takes nothing more */
  async append(events: readonly RecordedEvent[], missed = 0): Promise<void> {
    try {
      if (this.#inFile >= this.#eventsMax) await this.#rotate();
      const head = this.#begun ? [] : [{ schema: MESSAGES_SCHEMA, before: this.#count }];
      const gap = missed === 0 ? [] : [{ missed }];
      const clusters = this.#clusters.map((began, i) => ({ cluster: i + 1, began })).slice(this.#named);
      const text = [...head, ...clusters, ...gap, ...events]
        .map((line) => `${JSON.stringify(line)}\n`)
        .join('');
      if (!this.#begun) makeFolder(this.#folder);
      await appendFile(join(this.#folder, MESSAGES_FILE), await zipped(text));
    } catch (error) {
      throw cannotWrite(this.#folder, error);
    }
    this.#begun = true;
    this.#named = this.#clusters.length;
    this.#count += events.length;
    this.#inFile += events.length;
  }

  async #rotate(): Promise<void> {
    await rename(join(this.#folder, MESSAGES_FILE), join(this.#folder, OLDER_MESSAGES_FILE));
    this.#dropped += this.#older;
    this.#older = this.#inFile;
    this.#inFile = 0;
    this.#begun = false;
    this.#named = 0;
  }
}
