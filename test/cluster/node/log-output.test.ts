import { spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { expect, test } from 'vitest';

const module = new URL('../../../node/env/logger.ts', import.meta.url).href;

test('a logger has written to standard output what a node says right before it is killed', () => {
  const dying = `const { createLogger } = await import(${JSON.stringify(module)});
    const log = createLogger({ verbosity: 'info' });
    const { pbkdf2 } = await import('node:crypto');
    // Every thread that writes in the background is busy.
    for (let i = 0; i < 8; i++) pbkdf2('a', 'b', 1e6, 64, 'sha512', () => undefined);
    log.error('last words');
    process.kill(process.pid, 'SIGKILL');`;
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', dying], {
    encoding: 'utf8',
  });
  expect(stdout).toContain('"msg":"last words"');
});

test('a logger on a full disk ends no node, and keeps little of what it could not write', () => {
  const logging = `const { createLogger } = await import(${JSON.stringify(module)});
    const log = createLogger({ verbosity: 'info' });
    gc();
    const { heapUsed } = process.memoryUsage();
    for (let i = 0; i < 400; i++) log.error({ i, text: String(i % 10).repeat(100_000) }, 'disk is full');
    gc();
    const kept = process.memoryUsage().heapUsed - heapUsed;
    setImmediate(() => {
      log.error('disk is full');
      process.stderr.write(kept < 10_000_000 ? 'goes on' : 'keeps ' + kept);
    });`;
  const full = openSync('/dev/full', 'w');
  try {
    const { stderr, status } = spawnSync(
      process.execPath,
      ['--expose-gc', '--input-type=module', '-e', logging],
      { encoding: 'utf8', stdio: ['ignore', full, 'pipe'] },
    );
    expect({ stderr, status }).toEqual({ stderr: 'goes on', status: 0 });
  } finally {
    closeSync(full);
  }
});
