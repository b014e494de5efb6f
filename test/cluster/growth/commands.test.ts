import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { temporaryFolder } from '../../temporary-folder.ts';
import { svcnetHere } from '../svcnet.ts';

const stateDir = temporaryFolder('svcnet-growth');
const svcnet = async (line: string) => svcnetHere(line.split(' '), { stateDir });

interface Answer {
  readonly nodes: readonly { readonly name: string; readonly overlay: string; readonly pid: number | null }[];
  readonly batches: readonly { readonly node: string }[];
  readonly [change: string]: unknown;
}

async function answerOf(line: string): Promise<Answer> {
  const { code, stdout, stderr } = await svcnet(`${line} --json`);
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout) as Answer;
}

const namesOf = ({ nodes }: Answer) => nodes.map(({ name }) => name);

beforeAll(async () => {
  const { code, stderr } = await svcnet('up -n 2 --seed 3 --driver embedded');
  expect(code, stderr).toBe(0);
}, 60_000);
afterAll(async () => void (await svcnet('down')));

test('add starts nodes that ps shows, in the neighbourhood that was asked for', async () => {
  const added = await answerOf('add -n 2 --neighbourhood 11');
  expect(added['added']).toEqual(['node-2', 'node-3']);
  expect(added.nodes.slice(2).every(({ overlay }) => /^[c-f]/.test(overlay))).toBe(true);
  expect(added.batches.map(({ node }) => node)).toEqual(['node-0', 'node-1', 'node-2', 'node-3']);
  expect(namesOf(await answerOf('ps'))).toEqual(['node-0', 'node-1', 'node-2', 'node-3']);
});

test('remove keeps what scale brings back, and only then adds', async () => {
  expect(await answerOf('remove node-3')).toMatchObject({ removed: ['node-3'] });
  expect(await answerOf('scale 5')).toMatchObject({ started: ['node-3'], added: ['node-4'] });
  expect(await answerOf('scale 3 --for-good')).toMatchObject({ removed: ['node-4', 'node-3'] });
  const { stdout } = await svcnet('scale 3');
  expect(stdout).toMatch(/local {3}3 nodes {3}nothing to do/);
  expect(stdout).toMatch(/node-2 +running/);
});

test('what cannot be done is refused with what was expected', async () => {
  expect(await svcnet('remove node-9')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("no node 'node-9'"),
  });
  expect(await svcnet('add --neighbourhood 012')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("add: neighbourhoods: got '012', expected the first bits of an overlay"),
  });
  expect(await svcnet('add --flavour bee --bee-binary /nowhere/bee')).toMatchObject({ code: 2 });
  expect(await svcnet('scale 0')).toMatchObject({ code: 2 });
  expect(namesOf(await answerOf('ps'))).toEqual(['node-0', 'node-1', 'node-2']);
});

test('a cluster that takes no new nodes is as it was when scale asks for more than can come back', async () => {
  const named = '--name ring';
  const file = join(temporaryFolder('svcnet-growth-file'), 'ring.yaml');
  writeFileSync(file, 'driver: embedded\nnodes: [{ count: 3 }]\ntopology: ring\n');
  await answerOf(`up -f ${file} ${named}`);
  try {
    await answerOf(`remove node-2 ${named}`);
    expect(await svcnet(`scale 4 ${named}`)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('its topology names the links of all nodes') as string,
    });
    expect((await svcnet(`ps ${named}`)).stdout).toMatch(/node-2 +stopped/);
    expect(await answerOf(`scale 3 ${named}`)).toMatchObject({ started: ['node-2'], added: [] });
  } finally {
    await svcnet(`down ${named}`);
  }
});
