/**
 * `metrics.jsonl` in a run's folder: all series of all scrapes, without a metrics server. Lines in order:
 *   {"schema":1}
 *   {"series":[["node-0","pushsync_total_sent",{},"counter"],…]}   new ones; numbered from 0 through the whole file
 *   {"at":1700000000000,"cluster":2,"values":[0,17,3,0.25],"gone":[5]}   number, value, …: changed values; the
 *                                                                  cluster, unless it is the run's first
 * A series keeps its value until a line changes it, or says that it is gone: fifty busy nodes write about 25 MB in an hour.
 */
import { type FileHandle, open, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { cannotWrite, HarnessError } from '../base/errors.ts';
import { expectFile, makeFolder } from '../base/own-folder.ts';
import type { Scrape } from './scrape.ts';
import type { Series, SeriesColumns, SeriesId } from './series.ts';

export const METRICS_FILE = 'metrics.jsonl';
const SCHEMA = 1;
/** Of fractions; the rest of a duration's digits is noise. */
const DIGITS = 7;

type SeriesRow = readonly [
  node: string | null,
  name: string,
  labels: SeriesId['labels'],
  kind: SeriesId['kind'],
];
interface Line {
  readonly schema?: number;
  readonly series?: readonly SeriesRow[];
  readonly at?: number;
  readonly cluster?: number;
  readonly values?: readonly number[];
  readonly gone?: readonly number[];
}

/** File handles of Yarn's PnP can be closed, but not disposed of. */
type Opening = (path: string, flags: 'a') => Promise<Pick<FileHandle, 'truncate' | 'appendFile' | 'close'>>;

export class SeriesFile {
  readonly #path: string;
  #last: ReadonlyMap<number, number> = new Map();
  #known = 0;
  #begun = false;
  /** Of whole lines. */
  #size = 0;
  /** Part of a line may follow: a full disk takes what still fits. */
  #torn = false;

  readonly #open: Opening;

  constructor(folder: string, opening: Opening = open) {
    this.#path = join(folder, METRICS_FILE);
    this.#open = opening;
  }

  /**
   * Goes on where the file was whole.
   * @param ids all series so far, by number @throws HarnessError `CANNOT_WRITE`
   */
  async append({ at, cluster = 1, values }: Scrape, ids: readonly SeriesId[]): Promise<void> {
    const lines: Line[] = this.#begun ? [] : [{ schema: SCHEMA }];
    const added = ids.slice(this.#known);
    if (added.length > 0) lines.push({ series: added.map(rowOf) });
    const rounded = new Map<number, number>();
    const changed: number[] = [];
    for (const [number, exact] of values) {
      const value = Number.isInteger(exact) ? exact : Number(exact.toPrecision(DIGITS));
      rounded.set(number, value);
      if (this.#last.get(number) !== value) changed.push(number, value);
    }
    const gone = [...this.#last.keys()].filter((number) => !values.has(number));
    lines.push({
      at,
      ...(cluster === 1 ? {} : { cluster }),
      values: changed,
      ...(gone.length === 0 ? {} : { gone }),
    });
    const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('');
    try {
      if (!this.#begun) makeFolder(dirname(this.#path));
      const file = await this.#open(this.#path, 'a');
      try {
        if (this.#torn) await file.truncate(this.#size);
        this.#torn = true;
        await file.appendFile(text);
      } finally {
        await file.close();
      }
    } catch (error) {
      throw cannotWrite(dirname(this.#path), error);
    }
    // Some disks report only at closing that they are full.
    this.#torn = false;
    this.#begun = true;
    this.#known = ids.length;
    this.#last = rounded;
    this.#size += Buffer.byteLength(text);
  }
}

function rowOf({ node, name, labels, kind }: SeriesId): SeriesRow {
  return [node ?? null, name, labels, kind];
}

/**
 * Without a last line cut off by a kill.
 * @param folder of the run @param wanted selects series: an hour of fifty nodes is millions of values
 * @returns undefined: none kept @throws HarnessError `STATE_INVALID` naming the line
 */
export async function readSeries(
  folder: string,
  wanted: (id: SeriesId) => boolean = () => true,
): Promise<SeriesColumns | undefined> {
  const path = join(folder, METRICS_FILE);
  expectFile(folder, path);
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  const lines = text
    .split('\n')
    .slice(0, -1)
    .map((line, i) => parseLine(line, `${path}:${i + 1}`));
  const rows = lines.filter(({ at }) => at !== undefined);
  const times = Float64Array.from(rows, ({ at = Number.NaN }) => at);
  const clusters = rows.map(({ cluster = 1 }) => cluster);
  const columns = new Map<number, Series>();
  const current = new Map<number, number>();
  let known = 0;
  let row = 0;
  for (const { series = [], at, values = [], gone = [] } of lines) {
    for (const [node, name, labels, kind] of series) {
      const id: SeriesId = { ...(node === null ? {} : { node }), name, labels, kind };
      if (wanted(id)) columns.set(known, { ...id, values: new Float64Array(times.length).fill(Number.NaN) });
      known++;
    }
    for (let i = 0; i < values.length; i += 2) {
      const number = values[i] as number;
      if (columns.has(number)) current.set(number, values[i + 1] as number);
    }
    for (const number of gone) current.delete(number);
    if (at === undefined) continue;
    for (const [number, value] of current) (columns.get(number) as Series).values[row] = value;
    row++;
  }
  return { times, clusters, series: [...columns.values()] };
}

function parseLine(line: string, where: string): Line {
  try {
    const parsed = JSON.parse(line) as Line;
    if (parsed.schema !== undefined && parsed.schema !== SCHEMA)
      throw new HarnessError('STATE_INVALID', `${where}: got schema ${parsed.schema}, expected ${SCHEMA}`);
    return parsed;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new HarnessError('STATE_INVALID', `${where}: got '${line.slice(0, 80)}', expected a line of JSON`, {
      cause: error,
    });
  }
}
