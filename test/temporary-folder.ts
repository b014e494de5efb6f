import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, onTestFinished, TestRunner } from 'vitest';

/**
 * Its name begins with `name`. Made in a test or its `beforeEach`, it is removed when the test has finished; made while a
 * file or a `describe` is read, after their last test. No `beforeAll` may make one.
 */
export function temporaryFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `${name}-`));
  const end = TestRunner.getCurrentTest() === undefined ? afterAll : onTestFinished;
  end(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
