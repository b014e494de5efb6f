import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import type { StatusDocument } from '../../../harness/inspect/status/document.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const CLI = join(import.meta.dirname, '../../../harness/cli.ts');
const stateDir = temporaryFolder('svcnet-status');
let net: Cluster;

beforeAll(async () => {
  net = await Cluster.start({ name: 'net', nodes: 3, seed: 7, stateDir });
});
afterAll(() => net.stop());

interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function start(...args: string[]): { child: ChildProcess; finished: Promise<Finished> } {
  const child = spawn(process.execPath, [CLI, ...args], {
    env: { ...process.env, SVCNET_STATE: stateDir },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stdout?.on('data', (piece) => (stdout += String(piece)));
  child.stderr?.on('data', (piece) => (stderr += String(piece)));
  const finished = new Promise<Finished>((resolve) => {
    child.once('close', (code) => resolve({ code, stdout, stderr }));
  });
  return { child, finished };
}

async function statusNow(): Promise<StatusDocument> {
  const { stdout } = await start('status', '--json').finished;
  return JSON.parse(stdout) as StatusDocument;
}

function documents(child: ChildProcess): AsyncIterator<string> {
  return createInterface({ input: child.stdout as NodeJS.ReadableStream })[Symbol.asyncIterator]();
}

async function next(
  lines: AsyncIterator<string>,
  isWanted: (document: StatusDocument) => boolean,
): Promise<StatusDocument> {
  for (;;) {
    const line = await lines.next();
    if (line.done === true) throw new Error('the command ended before it showed what was waited for');
    const document = JSON.parse(line.value) as StatusDocument;
    if (isWanted(document)) return document;
  }
}

test('a paused node does not affect the rows of the others', async () => {
  await net.node(2).pause();
  const { nodes, problems } = await statusNow();
  await net.node(2).resume();
  expect(problems).toEqual(['node-2 is paused']);
  for (const node of nodes.slice(0, 2)) {
    expect(node).toMatchObject({ state: 'running', answers: true, unheard: [] });
    expect(node.peers).toBeGreaterThan(0);
    expect(node.block).toBeGreaterThan(0);
  }
  expect(nodes[2]).toMatchObject({ state: 'paused', peers: null, block: null });
});

test('a node frozen from outside is shown as paused', async () => {
  const pid = net.node(1).pid as number;
  process.kill(pid, 'SIGSTOP');
  const { nodes, problems } = await statusNow();
  process.kill(pid, 'SIGCONT');
  expect(problems).toEqual(['node-1 is paused']);
  expect(nodes.map(({ state }) => state)).toEqual(['running', 'paused', 'running']);
  expect(nodes[0]?.peers).toBeGreaterThan(0);
});

test('a watch shows a node die and come back, one document per line, and ends with 130', async () => {
  const { child, finished } = start('status', '--watch', '100ms', '--json');
  const lines = documents(child);
  await next(lines, ({ problems }) => problems.length === 0);
  await net.node(2).kill();
  const without = await next(lines, ({ nodes }) => nodes[2]?.state === 'killed');
  expect(without.nodes[0]).toMatchObject({ answers: true });
  await net.node(2).start();
  await next(lines, ({ problems }) => problems.length === 0);
  child.kill('SIGINT');
  const { code, stderr } = await finished;
  expect({ code, stderr }).toEqual({ code: 130, stderr: '' });
});

test('a watch without a terminal, as nohup starts it, outlives the end of one', async () => {
  const { child, finished } = start('status', '--watch', '100ms', '--json');
  const lines = documents(child);
  await next(lines, () => true);
  child.kill('SIGHUP');
  // The pipe may hold some from before the signal.
  for (let looks = 0; looks < 5; looks++) await next(lines, () => true);
  child.kill('SIGTERM');
  expect((await finished).code).toBe(130);
});

test('without a terminal a watch prints one block per look', async () => {
  const { child, finished } = start('status', '--watch', '100ms');
  const lines = documents(child);
  const seen: string[] = [];
  while (seen.filter((line) => line === '').length < 2) {
    const line = await lines.next();
    if (line.done === true) break;
    seen.push(line.value);
  }
  child.kill('SIGTERM');
  expect((await finished).code).toBe(130);
  expect(seen[0]).toMatch(/^ {2}\d{4}-\d\d-\d\dT[\d:.]+Z$/);
  expect(seen[1]).toMatch(/^ {2}net {3}chain at block \d+$/);
  expect(seen.join('\n')).not.toContain('\u001b');
});

test('a watch of a cluster that is removed says so and ends with 1', async () => {
  const watched = await Cluster.start({ name: 'leaving', nodes: 1, batches: false, stateDir });
  const { child, finished } = start('status', '--name', 'leaving', '--watch', '100ms');
  await documents(child).next();
  await watched.stop();
  const { code, stderr } = await finished;
  expect(code).toBe(1);
  expect(stderr).toContain("cluster 'leaving' has been removed");
  expect(stderr).toContain('svcnet up --name leaving');
});

test.each(['0s', '99ms', '2h', 'soon'])('%s is not a valid interval', async (interval) => {
  const { code, stderr } = await start('status', '--name', 'net', '--watch', interval).finished;
  expect(code).toBe(2);
  expect(stderr).toContain('Expected a duration such as 500ms, 15s or 1m30s, from 100ms to 1h.');
});
