import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tap } from '../../../../../harness/commands/tap.ts';
import { trace } from '../../../../../harness/commands/trace.ts';
import { RECIPE_FILE } from '../../../../../harness/report/folder.ts';
import { MessageFile, type RecordedEvent } from '../../../../../harness/report/messages/message-file.ts';
import { temporaryFolder } from '../../../../temporary-folder.ts';
import { contextOf } from '../../commands/kit.ts';

const root = temporaryFolder('svcnet-trace-record');
const ADDRESS = 'ab'.repeat(32);
const BYTES = { delivery: 4104, receipt: 100 } as const;

function push(from: string, to: string, more: Partial<RecordedEvent> = {}): RecordedEvent[] {
  const stream = { stream: 'c0/1', protocol: 'pushsync', id: '/swarm/pushsync', ...more };
  const said = (name: keyof typeof BYTES, at: number, ends: { from: string; to: string }): RecordedEvent => ({
    at,
    ...ends,
    ...stream,
    kind: 'message',
    name,
    fields: { address: ADDRESS },
    bytes: BYTES[name],
  });
  return [said('delivery', 1000, { from, to }), said('receipt', 1020, { from: to, to: from })];
}

async function folderWith(name: string, events: readonly RecordedEvent[]): Promise<string> {
  const folder = join(root, name);
  mkdirSync(folder, { recursive: true });
  const file = new MessageFile(folder);
  file.next(0);
  file.next(500);
  await file.append(events);
  return folder;
}

test('the route of a chunk is read from the record of a run', async () => {
  const run = await folderWith('one', push('node-0', 'node-1'));
  const context = contextOf(root);
  expect(await trace(`${ADDRESS}${'00'.repeat(32)}`, { run, chunks: 1 }, context)).toBe(0);
  const text = context.printed();
  expect(text).toContain('node-0 pushed it, receipt of node-1');
  expect(text).toContain('node-1 got it from node-0 and signed the receipt');
  expect(text).toMatch(/^ +0:01\.000 {2}node-0 pushed it/m);
  expect(text).not.toContain('cluster ');
  expect(await trace('cd'.repeat(32), { run, chunks: 1 }, context)).toBe(1);
  expect(context.printed()).toContain('no message of the record is about it');
});

test('clusters of one run, whose nodes have the same names, are told apart, and so are its parts', async () => {
  const run = await folderWith('several', [
    ...push('node-0', 'node-1'),
    ...push('node-0', 'node-2', { cluster: 2 }),
  ]);
  const part = await folderWith('several/part-2', push('node-0', 'node-3'));
  writeFileSync(join(part, RECIPE_FILE), '{}');
  const context = contextOf(root, true);
  await trace(ADDRESS, { run, chunks: 1 }, context);
  const { clusters } = JSON.parse(context.printed()) as {
    clusters: { cluster: string; route: { pushes: { storer: string }[] } }[];
  };
  expect(clusters.map(({ cluster, route }) => [cluster, route.pushes[0]?.storer])).toEqual([
    ['cluster-1', 'node-1'],
    ['cluster-2', 'node-2'],
    ['part-2/cluster-1', 'node-3'],
  ]);
  const page = contextOf(root);
  await trace(ADDRESS, { run, chunks: 1 }, page);
  expect(page.printed()).toContain('cluster     part-2/cluster-1');
  await tap([], { read: run }, page);
  expect(page.printed()).toMatch(/^ ?0:00\.500 cluster-2 node-0 -> node-2/m);
  expect(page.printed()).toMatch(/^ ?0:01\.000 node-0 -> node-1/m);
  expect(page.printed()).toMatch(/^ ?0:01\.000 part-2\/cluster-1 node-0 -> node-3/m);
});

test('nodes that lost their data afterwards, and that nobody holds the chunk, are told with its route', async () => {
  const run = await folderWith('wiped', push('node-0', 'node-1'));
  const fault = { event: 'begin', kind: 'restart', request: { wipe: true }, began: 0 };
  const wipe = (node: string, at: number, more = {}) =>
    `${JSON.stringify({ ...fault, at, targets: [node], text: `restarts ${node} without its data`, ...more })}\n`;
  writeFileSync(
    join(run, 'faults.jsonl'),
    [
      wipe('node-1', 500),
      wipe('node-1', 3000, { request: {} }),
      wipe('node-1', 3000, { began: 500 }),
      wipe('node-7', 3000),
    ].join(''),
  );
  const before = contextOf(root);
  await trace(ADDRESS, { run, chunks: 1 }, before);
  expect(before.printed()).toContain('held by     node-1, as the messages tell');
  expect(before.printed()).toContain(
    '0:00.500  node-1 ✖ lost its data: fault restarts node-1 without its data',
  );
  expect(before.printed()).not.toContain('0:03.000');
  appendFileSync(join(run, 'faults.jsonl'), wipe('node-1', 4000));
  const after = contextOf(root);
  await trace(ADDRESS, { run, chunks: 1 }, after);
  expect(after.printed()).toContain('held by     nobody: all nodes that took it have lost their data since');
  expect(after.printed()).toContain('0:04.000  node-1 ✖ lost its data');
  writeFileSync(join(run, 'losses.jsonl'), `${JSON.stringify({ chunk: ADDRESS })}\n`);
  const looked = contextOf(root);
  await trace(ADDRESS, { run, chunks: 1 }, looked);
  expect(looked.printed()).toContain('held by     nobody: the run looked for it on every node');
  writeFileSync(join(run, 'losses.jsonl'), 'no JSON\n');
  await expect(trace(ADDRESS, { run, chunks: 1 }, looked)).rejects.toMatchObject({
    code: 'RUN_INVALID',
    message: `${join(run, 'losses.jsonl')}:1: expected an object of JSON`,
  });
});

test('what a record lacks is said, and what it calls a node or an error is a short line', async () => {
  const name = `node-0\n\u001b[31m${'x'.repeat(1000)}`;
  const [delivery, receipt] = push(name, 'node-1') as [RecordedEvent, RecordedEvent];
  const run = join(root, 'foreign');
  mkdirSync(run);
  const refusal = { ...receipt, fields: { err: `no\n\u001b[31m${'x'.repeat(1000)}` } };
  const file = new MessageFile(run);
  file.next(0);
  await file.append([delivery, refusal], 3);
  const context = contextOf(root);
  await trace(ADDRESS, { run, chunks: 1 }, context);
  expect(context.printed()).toContain('! 3 messages passed too fast to be recorded');
  expect(context.printed()).not.toContain('\u001b');
  expect(context.printed().length).toBeLessThan(3000);
});

test('a record and a running cluster, or chunks below it, exclude each other', async () => {
  const context = contextOf(root);
  const run = join(root, 'one');
  await expect(trace(ADDRESS, { run, chunks: 2 }, context)).rejects.toMatchObject({
    code: 'USAGE',
    message: '--run and --chunks exclude each other',
  });
  await expect(trace(ADDRESS, { run, chunks: 1, name: 'net' }, context)).rejects.toThrow('--run and --name');
  await expect(trace(ADDRESS, { run: 'nothing', chunks: 1 }, context)).rejects.toMatchObject({
    code: 'RUN_NOT_FOUND',
  });
});
