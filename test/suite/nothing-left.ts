/** Loaded before each test file that shares its process with others: what it leaves open would be taken for theirs. */

import { beforeAll, expect, vi } from 'vitest';

// The first hook registered, so its end runs last, even after what hooks returned.
beforeAll(() => () => vi.waitFor(nothingLeft, { timeout: 60_000 }));

function nothingLeft(): void {
  const open = process.getActiveResourcesInfo().filter((type) => /^(TCP|UDP|Process)/.test(type));
  expect(open, 'sockets and processes this file leaves behind').toEqual([]);
}
