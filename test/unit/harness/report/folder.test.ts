import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { expect, test } from 'vitest';
import {
  createReport,
  JUNIT_FILE,
  partFolder,
  RECIPE_FILE,
  REPORT_FILE,
  REPORT_TEXT,
  SCHEDULE_FILE,
} from '../../../../harness/report/folder.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';

const folder = temporaryFolder('svcnet-report');

test("removes an earlier run's report and parts, and nothing else", () => {
  const kept = [join(folder, 'part-9', 'mine.txt'), join(folder, 'parts', REPORT_FILE)];
  const removed = [
    join(folder, REPORT_FILE),
    // It would be taken for the verdict of a run that could not begin.
    join(folder, JUNIT_FILE),
    join(folder, REPORT_TEXT),
    join(folder, SCHEDULE_FILE),
    join(folder, partFolder(0), REPORT_FILE),
    // Of a part that was interrupted.
    join(folder, partFolder(1), RECIPE_FILE),
  ];
  for (const path of [...kept, ...removed]) {
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, '{}');
  }
  createReport(folder);
  expect(kept.filter((path) => !existsSync(path))).toEqual([]);
  expect(removed.filter((path) => existsSync(path))).toEqual([]);
  expect(existsSync(join(folder, partFolder(0)))).toBe(false);
});

test('keeps a schedule that the new run was given', () => {
  const schedule = join(folder, SCHEDULE_FILE);
  writeFileSync(schedule, '{}');
  createReport(folder, [5, relative('', schedule)]);
  expect(existsSync(schedule)).toBe(true);
});
