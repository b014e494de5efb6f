/** Loaded before each test file that shares its process with others: what it leaves open would be taken for theirs. */

import { beforeAll, expect, vi } from 'vitest';

// First of all hooks to be registered, so its end runs last: after each other hook, what hooks returned included.
beforeAll(() => () => vi.waitFor(nothingLeft, { timeout: 60_000 }));

function nothingLeft(): void {
  const open = process.getActiveResourcesInfo().filter((type) => /^(TCP|UDP|Process)/.test(type));
  expect(open, 'sockets and processes this file leaves behind').toEqual([]);
}
