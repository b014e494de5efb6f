import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { toHex } from '../../../formats/crypto/hex.ts';
import { chunkOf, openIssuer } from './stamping.ts';

async function stampAndKill(path: string, atLeast: number): Promise<void> {
  const script = join(import.meta.dirname, 'stamping-process.ts');
  const child = spawn(process.execPath, [script, path], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const exited = once(child, 'exit');
  for await (const line of createInterface({ input: child.stdout })) {
    if (Number(line) >= atLeast) child.kill('SIGKILL');
  }
  expect(await exited).toEqual([null, 'SIGKILL']);
}

test('no slot is issued twice by a process that is killed repeatedly', async () => {
  const path = await mkdtemp(join(tmpdir(), 'svc-kill-'));
  onTestFinished(() => rm(path, { recursive: true }));
  let kept = 0;
  for (const atLeast of [50, 200, 100]) {
    await stampAndKill(path, atLeast);
    const { issuer, store } = await openIssuer(path);
    const slots = [...store.state('kept').entries('')].map(([, index]) => toHex(index));
    expect(slots.length).toBeGreaterThanOrEqual(kept + atLeast);
    expect(new Set(slots).size).toBe(slots.length);
    const next = Array.from({ length: 20 }, (_, n) =>
      toHex(issuer.stamp(chunkOf(`after ${kept} ${n}`)).index),
    );
    expect(slots.filter((slot) => next.includes(slot))).toEqual([]);
    kept = slots.length;
    await store.close();
  }
});
