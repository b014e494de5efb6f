/** Loaded before each test file that shares its process with others: what it leaves open would be taken for theirs. */

import { afterAll, expect, vi } from 'vitest';

// First of all hooks to be registered, so the last to run: what the file started has been stopped.
afterAll(async () => {
  await vi.waitFor(() => expect(open(), 'sockets and processes this file leaves behind').toEqual([]), {
    timeout: 60_000,
  });
});

/** The kinds of sockets and child processes that keep this process alive. */
function open(): string[] {
  return process.getActiveResourcesInfo().filter((type) => /^(TCP|UDP|Process)/.test(type));
}
