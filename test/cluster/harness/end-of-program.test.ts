import { spawn } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { temporaryFolder } from '../../temporary-folder.ts';

const LIBRARY = new URL('../../../harness/index.ts', import.meta.url).href;
const LIMIT_MS = 300_000;

let folder: string;
beforeEach(() => void (folder = temporaryFolder('svcnet-end')));

async function play(source: string, ...flags: readonly string[]) {
  const file = join(folder, 'program.mjs');
  writeFileSync(file, `import { Cluster } from ${JSON.stringify(LIBRARY)};\n${source}`);
  const stateDir = join(folder, 'state');
  const child = spawn(process.execPath, [...flags, file], {
    // A runner inside a runner would report to the outer one.
    env: { ...process.env, SVCNET_STATE: stateDir, NODE_TEST_CONTEXT: undefined, NODE_OPTIONS: undefined },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: LIMIT_MS,
    killSignal: 'SIGKILL',
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece) => (output += String(piece)));
  const ended = Promise.withResolvers<{ code: number | null; signal: string | null }>();
  child.once('error', ended.reject).once('close', (code, signal) => ended.resolve({ code, signal }));
  const { code, signal } = await ended.promise;
  return { code, signal, output, left: readdirSync(join(stateDir, 'clusters')) };
}

test('a test that throws before stop does not hang node:test, with either driver and with a subscription', async () => {
  const { code, signal, output, left } = await play(
    `import { test } from 'node:test';
     for (const driver of ['embedded', 'process']) {
       test(driver, async () => {
         const net = await Cluster.start({ driver, nodes: 2 });
         await net.node(0).bytes.upload(new Uint8Array(10_000));
         await net.node(0).messages.listen('topic');
         throw new Error('before stop of ' + driver);
       });
     }`,
    '--test',
  );
  expect(output).toContain('Error: before stop of embedded');
  expect(output).toContain('Error: before stop of process');
  expect({ code, signal, left }).toEqual({ code: 1, signal: null, left: [] });
});

test('what a program awaits of embedded nodes holds it until the end, which an uncaught error brings at once', async () => {
  const { code, signal, output, left } = await play(
    `const net = await Cluster.start({ driver: 'embedded', nodes: 2 });
     const { reference } = await net.node(0).bytes.upload(new Uint8Array(100_000).fill(7));
     await net.synced(reference);
     await net.node(1).stop();
     await net.node(1).start();
     await net.node(1).kill();
     await net.node(1).start();
     await net.node(1).pause();
     await net.node(1).resume();
     await net.meshed();
     await net.settled();
     await net.chain.mine(2);
     await net.saveSnapshot('saved');
     console.log('read', (await net.node(1).bytes.download(reference)).length);
     await net.stop();
     console.log('stopped');
     await Cluster.start({ driver: 'embedded', nodes: 1 });
     throw new Error('at top level');`,
  );
  expect(output).toContain('read 100000\nstopped\n');
  expect(output).toContain('Error: at top level');
  expect({ code, signal, left }).toEqual({ code: 1, signal: null, left: [] });
});
