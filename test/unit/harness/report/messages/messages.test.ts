import { randomBytes } from 'node:crypto';
import { appendFileSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { TapEvent } from '../../../../../harness/places/links/tap/events.ts';
import {
  MESSAGES_FILE,
  MessageFile,
  OLDER_MESSAGES_FILE,
  type ReadEvent,
} from '../../../../../harness/report/messages/message-file.ts';
import { messageFiles, readMessages } from '../../../../../harness/report/messages/read-messages.ts';
import { messageSummaries } from '../../../../../harness/report/messages/summary.ts';
import { messages } from '../../../../../harness/report/page/message-sections.ts';
import { temporaryFolder } from '../../../../temporary-folder.ts';

const root = temporaryFolder('svcnet-messages');
let folders = 0;
function newFolder(): string {
  const folder = join(root, String(folders++));
  mkdirSync(folder);
  return folder;
}

function fileOf(folder: string, eventsMax?: number): MessageFile {
  const file = new MessageFile(folder, eventsMax);
  file.next(0);
  return file;
}

function event(at: number, more: Partial<TapEvent> = {}): TapEvent {
  const ends = { from: 'node-0', to: 'node-1', stream: 'c0/1' };
  const said = { protocol: 'pushsync', id: '/swarm/pushsync', kind: 'message', name: 'receipt' } as const;
  return { at, ...ends, ...said, fields: { storageRadius: at }, bytes: 10, ...more };
}

async function read(files: readonly string[]) {
  const lacks: string[] = [];
  const events: ReadEvent[] = [];
  for await (const one of readMessages(files, (what) => lacks.push(what))) events.push(one);
  return { times: events.map(({ at }) => at), lacks, events };
}

test('what was kept is read as it was, and a run without messages has no files', async () => {
  const folder = newFolder();
  expect(messageFiles(folder)).toEqual([]);
  const file = fileOf(folder);
  const events = [event(1), event(2, { kind: 'end', name: 'closed', fields: { nested: [{ a: [true] }] } })];
  await file.append(events);
  await file.append([event(3)], 4);
  expect(await read(messageFiles(folder))).toMatchObject({
    events: [...events, event(3)],
    lacks: ['4 messages passed too fast to be recorded'],
  });
});

test('of more messages than there is room for, the latest are kept, and the others counted', async () => {
  const folder = newFolder();
  const file = fileOf(folder, 10);
  for (let at = 0; at < 35; at += 5) await file.append([0, 1, 2, 3, 4].map((i) => event(at + i)));
  expect(file.dropped).toBe(20);
  const { times, lacks, events } = await read(messageFiles(folder));
  expect(events.every(({ began }) => began === 0)).toBe(true);
  expect(times).toEqual(Array.from({ length: 15 }, (_, i) => 20 + i));
  expect(lacks).toEqual(['20 earlier messages are in no file']);
});

test('of a file that was cut off, what is whole is read', async () => {
  const folder = newFolder();
  const path = join(folder, MESSAGES_FILE);
  const file = fileOf(folder);
  await file.append([event(1), event(2)]);
  const whole = readFileSync(path);
  await file.append([event(3), event(4)]);
  const both = readFileSync(path);
  for (let size = whole.length + 1; size < both.length; size += 7) {
    writeFileSync(path, both.subarray(0, size));
    const { times, lacks } = await read([path]);
    expect(times.slice(0, 2)).toEqual([1, 2]);
    expect(lacks).toEqual([`${path} ends in the middle of a message`]);
  }
});

test.each([
  ['a text', Buffer.from('hello\n'), 'expected messages compressed by gzip'],
  ['a compressed text', gzipSync('hello\n'), ':1: expected a line of JSON'],
  ['a list', gzipSync('[1]\n'), ':1: expected an object'],
  ['another version', gzipSync('{"schema":1,"before":0}\n'), 'schema 1, expected 2'],
  ['no version', gzipSync('{"at":1}\n'), 'schema missing, expected 2'],
  ['no message', gzipSync('{"schema":2,"before":0}\n{"at":1}\n'), ':2: expected a message'],
  [
    'a message of a cluster whose beginning is not told',
    gzipSync(`{"schema":2,"before":0}\n${JSON.stringify(event(1))}\n`),
    ':2: a message of cluster 1 before the time when that began',
  ],
  [
    'a time before 1970',
    gzipSync(`{"schema":2,"before":0}\n${JSON.stringify(event(-1))}\n`),
    ':2: expected a message',
  ],
  [
    'fields that nest without end',
    gzipSync(
      `{"schema":2,"before":0}\n${JSON.stringify(event(1)).replace(/"fields":\{[^}]*\}/, `"fields":{"a":${'['.repeat(5000)}${']'.repeat(5000)}}`)}\n`,
    ),
    ':2: expected a message',
  ],
  ['a line without end', gzipSync(Buffer.alloc(1 << 23, 'a')), 'a line has more than'],
])('%s is refused with what was expected', async (_, bytes, message) => {
  const path = join(newFolder(), 'any.gz');
  writeFileSync(path, bytes);
  await expect(read([path])).rejects.toMatchObject({
    code: 'RUN_INVALID',
    message: expect.stringContaining(message),
  });
});

test('bytes that are damaged in the middle are refused', async () => {
  const folder = newFolder();
  const path = join(folder, MESSAGES_FILE);
  await fileOf(folder).append([event(1)]);
  appendFileSync(path, gzipSync(`${JSON.stringify(event(2))}\n`).fill(0xff, 12, 20));
  await expect(read([path])).rejects.toMatchObject({ code: 'RUN_INVALID' });
});

test.each([1, 1000])('a member of %i messages whose beginning is damaged is refused', async (count) => {
  const folder = newFolder();
  const path = join(folder, MESSAGES_FILE);
  const file = fileOf(folder);
  // Random, so that members exceed one read.
  const noise = () => randomBytes(1000).toString('hex');
  const events = Array.from({ length: count }, (_, at) => event(at, { fields: { noise: noise() } }));
  await file.append(events);
  const { size } = statSync(path);
  await file.append(events);
  await file.append(events);
  const bytes = readFileSync(path);
  bytes[size] = 0;
  writeFileSync(path, bytes);
  await expect(read([path])).rejects.toMatchObject({
    code: 'RUN_INVALID',
    message: `${path}: what follows byte ${size} is damaged`,
  });
});

test('protocols beyond what nodes speak are counted together', async () => {
  const folder = newFolder();
  const events = Array.from({ length: 200 }, (_, i) => event(10, { protocol: `/${i}/${'x'.repeat(1000)}` }));
  await fileOf(folder).append(events);
  const [{ counts } = { counts: [] }] = (await messageSummaries(folder, [{ from: 10, to: 20 }])) ?? [];
  expect(counts).toHaveLength(51);
  expect(counts[0]).toEqual(['other protocols', 150]);
  expect(Math.max(...counts.map(([protocol]) => protocol.length))).toBe(100);
});

test('a page says what its tables of messages are, and shows texts of a foreign record shortened', () => {
  const touched = [event(1, { name: 'x'.repeat(1000), fields: { fault: 'delayed, dropped' } })];
  const place = { origin: 0, folder: 'run' };
  const { markup = '' } = messages(0, { counts: [['hive', 3]], touched, touchedInAll: 3 }, place) ?? {};
  expect(markup).toContain('<p>Messages that faults have touched: the first 1 of 3</p>');
  expect(markup).toContain('>delayed, dropped<');
  expect(markup).toContain(`>${'x'.repeat(99)}…<`);
});

test('a link that leads out of the folder is not read', async () => {
  const folder = newFolder();
  symlinkSync('/etc/hostname', join(folder, OLDER_MESSAGES_FILE));
  await expect(read(messageFiles(folder))).rejects.toMatchObject({ code: 'STATE_INVALID' });
});

test('a full disk is named, with the folder', async () => {
  const folder = newFolder();
  symlinkSync('/dev/full', join(folder, MESSAGES_FILE));
  await expect(fileOf(folder).append([event(1)])).rejects.toMatchObject({
    code: 'CANNOT_WRITE',
    message: expect.stringContaining(`cannot write to ${folder}: disk full (ENOSPC)`),
  });
});

test('the report counts messages by protocol, and shows those that a fault has touched', async () => {
  const folder = newFolder();
  const dropped = event(15, { fields: { fault: 'dropped' } });
  await fileOf(folder).append([
    event(5),
    event(11, { protocol: 'hive' }),
    event(12),
    event(13, { kind: 'end', name: 'closed' }),
    dropped,
    event(25),
  ]);
  expect(await messageSummaries(folder, [{ from: 10, to: 20 }])).toEqual([
    {
      counts: [
        ['pushsync', 2],
        ['hive', 1],
      ],
      touched: [{ ...dropped, began: 0 }],
      touchedInAll: 1,
    },
  ]);
  expect(await messageSummaries(newFolder(), [{ from: 10, to: 20 }])).toBeUndefined();
});
