import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

test.each([
  ['exit', 3],
  ['throw', 1],
  ['stop', 0],
  ['exit while loading', 3],
  ['stop while loading', 0],
])('threads do not take the process with them when they end in native code: %s', async (how, code) => {
  const program = fileURLToPath(new URL('signing-process.ts', import.meta.url));
  const child = spawn(process.execPath, [program, how], {
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: 30_000,
    killSignal: 'SIGKILL',
  });
  const errors = text(child.stderr);
  const [ended] = (await once(child, 'exit')) as [number | null];
  expect({ ended, native: (await errors).includes('Napi') }).toEqual({ ended: code, native: false });
});
