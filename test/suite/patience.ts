/**
 * Loaded before each test file. Where tests of a file have waited long in vain, its others would wait as well, up to an hour
 * for all: they fail at once.
 */

import { beforeEach } from 'vitest';

/** For the failed tests of one file together; it ends none of them. */
const PATIENCE_MS = Number(process.env['SVCNET_PATIENCE_MS'] ?? 300_000);
// Tests may put another clock in its place.
const now = performance.now.bind(performance);

let failedMs = 0;
beforeEach(({ onTestFailed }) => {
  if (failedMs > PATIENCE_MS)
    throw new Error(`not run: failed tests of this file have taken ${Math.round(failedMs / 1000)} s`);
  const begun = now();
  onTestFailed(() => {
    failedMs += now() - begun;
  });
});
