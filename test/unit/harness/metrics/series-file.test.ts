import {
  appendFile,
  mkdtemp,
  open,
  readFile,
  rename,
  rm,
  symlink,
  unlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { rowsByCluster, type SeriesColumns, type SeriesId } from '../../../../harness/metrics/series.ts';
import { METRICS_FILE, readSeries, SeriesFile } from '../../../../harness/metrics/series-file.ts';

const SENT: SeriesId = { node: 'node-0', name: 'pushsync_total_sent', labels: {}, kind: 'counter' };
const UP: SeriesId = { name: 'testbed_node_up', labels: { node: 'node-0' }, kind: 'gauge' };
const GAP = Number.NaN;

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'series-'));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

const scrape = (at: number, values: readonly [number, number][]) => ({ at, values: new Map(values) });

test('what is written is read back in columns, including gaps', async () => {
  const run = await folder();
  const file = new SeriesFile(run);
  await file.append(scrape(1000, [[0, 5]]), [SENT]);
  await file.append(scrape(2000, [[1, 0]]), [SENT, UP]);
  await file.append(
    scrape(3000, [
      [0, 5],
      [1, 1],
    ]),
    [SENT, UP],
  );
  expect(await readSeries(run)).toEqual({
    times: Float64Array.of(1000, 2000, 3000),
    clusters: [1, 1, 1],
    series: [
      { ...SENT, values: Float64Array.of(5, GAP, 5) },
      { ...UP, values: Float64Array.of(GAP, 0, 1) },
    ],
  });
});

test('a name is written once, and a value only when it has changed', async () => {
  const run = await folder();
  const file = new SeriesFile(run);
  for (let at = 0; at < 10; at++) await file.append(scrape(at, [[0, 42]]), [SENT]);
  const text = await readFile(join(run, METRICS_FILE), 'utf8');
  expect(text.match(/pushsync_total_sent/g)).toHaveLength(1);
  expect(text.match(/42/g)).toHaveLength(1);
  expect((await readSeries(run))?.series[0]?.values).toEqual(new Float64Array(10).fill(42));
});

test('an hour of fifty busy nodes is some tens of megabytes', async () => {
  const run = await folder();
  const file = new SeriesFile(run);
  const ids = Array.from({ length: 50 * 130 }, (_, i) => ({
    ...SENT,
    node: `node-${i % 50}`,
    name: `counter_${i}`,
  }));
  const scrapes = 20;
  for (let n = 0; n < scrapes; n++) {
    // Under load, more than half of the series change.
    const values = ids.map((_, i): [number, number] => [
      i,
      i % 2 === 0 ? i : 1_000_000 + n * (i + 1) + n / 7,
    ]);
    await file.append(scrape(1_700_000_000_000 + n, values), ids);
  }
  const lines = (await readFile(join(run, METRICS_FILE), 'utf8')).split('\n');
  const steady = lines.slice(-6, -1).reduce((sum, line) => sum + line.length, 0) / 5;
  const perHour = 3600 / 5;
  expect((steady * perHour) / 2 ** 20).toBeLessThan(50);
});

test('only the wanted series are read', async () => {
  const run = await folder();
  await new SeriesFile(run).append(
    scrape(1, [
      [0, 1],
      [1, 1],
    ]),
    [SENT, UP],
  );
  const read = await readSeries(run, ({ node }) => node === undefined);
  expect(read?.series.map(({ name }) => name)).toEqual(['testbed_node_up']);
});

test('a line cut off by the end of the run is skipped', async () => {
  const run = await folder();
  await new SeriesFile(run).append(scrape(1, [[0, 1]]), [SENT]);
  await appendFile(join(run, METRICS_FILE), '{"at":2,"val');
  expect((await readSeries(run))?.times).toEqual(Float64Array.of(1));
});

test('after lines that could not be written, as on a full disk, the file goes on without them', async () => {
  const run = await folder();
  const path = join(run, METRICS_FILE);
  const file = new SeriesFile(run);
  await symlink('/dev/full', path);
  await expect(file.append(scrape(1, [[0, 5]]), [SENT])).rejects.toMatchObject({ code: 'CANNOT_WRITE' });
  await unlink(path);
  await file.append(scrape(2, [[0, 5]]), [SENT]);
  await rename(path, `${path}.whole`);
  await symlink('/dev/full', path);
  await expect(file.append(scrape(3, [[1, 1]]), [SENT, UP])).rejects.toMatchObject({ code: 'CANNOT_WRITE' });
  await rename(`${path}.whole`, path);
  await appendFile(path, '{"series":[[null,"testbed');
  await file.append(scrape(3, [[1, 1]]), [SENT, UP]);
  expect(await readSeries(run)).toEqual({
    times: Float64Array.of(2, 3),
    clusters: [1, 1],
    series: [
      { ...SENT, values: Float64Array.of(5, GAP) },
      { ...UP, values: Float64Array.of(GAP, 1) },
    ],
  });
});

test('lines of a file that could not be closed do not count: the file goes on without them', async () => {
  const run = await folder();
  let isFull = false;
  const file = new SeriesFile(run, async (opened, flags) => {
    const handle = await open(opened, flags);
    const close = async () => {
      await handle.close();
      if (!isFull) return;
      throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC', syscall: 'close' });
    };
    return { truncate: handle.truncate.bind(handle), appendFile: handle.appendFile.bind(handle), close };
  });
  await file.append(scrape(1, [[0, 5]]), [SENT]);
  isFull = true;
  await expect(file.append(scrape(2, [[0, 6]]), [SENT])).rejects.toMatchObject({ code: 'CANNOT_WRITE' });
  isFull = false;
  await file.append(scrape(3, [[0, 7]]), [SENT]);
  expect(await readSeries(run)).toEqual({
    times: Float64Array.of(1, 3),
    clusters: [1, 1],
    series: [{ ...SENT, values: Float64Array.of(5, 7) }],
  });
});

test('a run without series has none, and a foreign file is refused with the line number', async () => {
  const run = await folder();
  expect(await readSeries(run)).toBeUndefined();
  await writeFile(join(run, METRICS_FILE), '{"schema":1}\nhello\n');
  await expect(readSeries(run)).rejects.toMatchObject({
    code: 'STATE_INVALID',
    message: expect.stringContaining(`${METRICS_FILE}:2: got 'hello'`) as string,
  });
});

test('a file of another schema is refused', async () => {
  const run = await folder();
  await writeFile(join(run, METRICS_FILE), '{"schema":9}\n');
  await expect(readSeries(run)).rejects.toThrow('got schema 9, expected 1');
});

test('rows have the cluster whose they are, though a later one begins at the same instant', async () => {
  const run = await folder();
  const file = new SeriesFile(run);
  for (const cluster of [1, 2])
    for (const at of [1000, 2000]) await file.append({ ...scrape(at, [[0, cluster]]), cluster }, [SENT]);
  const columns = (await readSeries(run)) as SeriesColumns;
  expect([...columns.times]).toEqual([1000, 2000, 1000, 2000]);
  expect([...rowsByCluster(columns)]).toEqual([
    [1, [0, 2]],
    [2, [2, 4]],
  ]);
});
