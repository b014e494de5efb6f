import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { FlagSpec } from '../../../../harness/cluster/plan/options/flag.ts';
import { tap as options } from '../../../../harness/commands/options/tap.ts';
import { tap } from '../../../../harness/commands/tap.ts';
import type { TapEvent } from '../../../../harness/places/links/tap/events.ts';
import { MessageFile } from '../../../../harness/report/messages/message-file.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';
import { contextOf } from './kit.ts';

const root = temporaryFolder('svcnet-tap-read');

async function recorded(folder: string, events: readonly TapEvent[], began = 0): Promise<void> {
  const file = new MessageFile(folder);
  file.next(began);
  await file.append(events);
}

test('whatever a record from elsewhere calls a message or a node, it is a short line', async () => {
  const folder = join(root, 'foreign');
  mkdirSync(folder);
  const ends = { from: 'node-0\n\u001b[31m', to: 'b', stream: 'c0/1', protocol: 'x\n', id: '/x' };
  const name = `receipt\n\u001b[31mforged${'x'.repeat(10_000)}`;
  const event: TapEvent = { at: 0, ...ends, kind: 'message', name, fields: { 'f\n': '\n' }, bytes: 1 };
  await recorded(folder, [event]);
  const read = join(folder, 'messages.jsonl.gz');
  const context = contextOf(root);
  await tap([], { read }, context);
  const [line = '', ...rest] = context.printed().split('\n');
  expect(rest).toEqual(['']);
  expect(line).not.toContain('\u001b');
  expect(line.length).toBeLessThan(1000);
  await expect(tap(['node-0\n\u001b[32m'], { read }, context)).rejects.toMatchObject({
    code: 'NODE_NOT_FOUND',
    message: expect.stringMatching(/, did you mean 'node-0 \\u001b\[31m'\?$/),
  });
});

test('an address chooses the whole streams that name it, and no other', async () => {
  const folder = join(root, 'address');
  mkdirSync(folder);
  const address = `ab12${'0'.repeat(60)}`;
  const event = (stream: string, kind: TapEvent['kind'], fields: TapEvent['fields'] = {}): TapEvent => {
    const ends = { from: 'node-0', to: 'node-1', protocol: 'pushsync', id: '/pushsync' };
    return {
      at: 0,
      ...ends,
      stream,
      kind,
      name: kind === 'message' ? 'delivery' : 'closed',
      fields,
      bytes: 1,
    };
  };
  await recorded(folder, [
    event('c0/1', 'opened'),
    event('c0/2', 'opened'),
    event('c0/1', 'message', { address: 'cd'.repeat(32) }),
    event('c0/2', 'message', { address }),
    event('c0/1', 'end'),
    event('c0/2', 'end'),
    event('c0/2', 'opened'),
  ]);
  const context = { ...contextOf(root), json: true };
  await tap([], { read: join(folder, 'messages.jsonl.gz'), address: 'ab12' }, context);
  const lines = context.printed().trim().split('\n');
  expect(
    lines.map((text) => JSON.parse(text) as TapEvent).map(({ stream, kind }) => `${stream} ${kind}`),
  ).toEqual(['c0/2 opened', 'c0/2 message', 'c0/2 end']);
});

test('a stream is chosen by the id that the line of its opening names', async () => {
  const folder = join(root, 'stream');
  mkdirSync(folder);
  const event = (stream: string, kind: TapEvent['kind']): TapEvent => {
    const ends = { from: 'node-0', to: 'node-1', protocol: 'pushsync', id: '/pushsync' };
    const name = kind === 'end' ? 'closed' : '';
    return { at: 0, ...ends, stream, kind, name, fields: {}, bytes: 1 };
  };
  const streams = ['c0/1', 'c0/12'];
  await recorded(
    folder,
    (['opened', 'end'] as const).flatMap((kind) => streams.map((stream) => event(stream, kind))),
  );
  const context = contextOf(root);
  await tap([], { read: join(folder, 'messages.jsonl.gz'), stream: 'c0/12' }, context);
  expect(context.printed()).toMatch(/^.* opened +c0\/12\n.* closed\n$/);
});

test.each(['c0', '12', 'C0/12', ''])('%j is no id of a stream', (text) => {
  const { '--stream <id>': spec } = options.options ?? {};
  const { parse } = spec as FlagSpec;
  expect(() => parse?.(text, undefined as never)).toThrow('Expected the id of a stream, such as c0/12.');
  expect(parse?.('c0/12', undefined as never)).toBe('c0/12');
});

test('a capture says how many of its messages have no bytes', async () => {
  const folder = join(root, 'bare');
  mkdirSync(folder);
  const event = (kind: TapEvent['kind']): TapEvent => {
    const ends = { from: 'node-0', to: 'node-1', stream: 'c0/1', protocol: 'pushsync', id: '/pushsync' };
    return { at: 0, ...ends, kind, name: '', fields: {}, bytes: 1 };
  };
  await recorded(folder, [event('opened'), event('headers'), event('message'), event('end')]);
  const context = contextOf(root);
  const write = join(folder, 'out.pcapng');
  await tap([], { read: join(folder, 'messages.jsonl.gz'), write }, context);
  const [wrote, lacks] = context.printed().split('\n');
  expect(wrote).toBe(`  wrote 4 packets to ${write}`);
  expect(lacks).toMatch(/^ {2}! 2 packets without the bytes of the message: /);
});

test('times count from when the cluster began, and the first line says when that was', async () => {
  const folder = join(root, 'times');
  mkdirSync(folder);
  const began = 1_700_000_000_000;
  const ends = { from: 'node-0', to: 'node-1', protocol: 'hive', id: '/hive', stream: 'c0/1' };
  const event = { ...ends, kind: 'end', name: 'closed', fields: {}, bytes: 1 } as const;
  await recorded(folder, [{ ...event, at: began + 2345 }], began);
  const notes: string[] = [];
  const context = { ...contextOf(root), note: (text: string) => void notes.push(text) };
  await tap([], { read: join(folder, 'messages.jsonl.gz') }, context);
  expect(notes).toEqual(['  times since 2023-11-14 22:13:20.000 UTC, when the cluster began\n']);
  expect(context.printed()).toMatch(/^0:02\.345 node-0 -> node-1/);
  const json = { ...contextOf(root), json: true };
  await tap([], { read: join(folder, 'messages.jsonl.gz') }, json);
  expect(JSON.parse(json.printed())).toMatchObject({ at: began + 2345, began });
});

test('messages that match nothing are said to be none', async () => {
  const folder = join(root, 'none');
  mkdirSync(folder);
  const ends = { from: 'node-0', to: 'node-1', stream: 'c0/1', protocol: 'pushsync', id: '/pushsync' };
  await recorded(folder, [{ at: 0, ...ends, kind: 'opened', name: '', fields: {}, bytes: 0 }]);
  const read = join(folder, 'messages.jsonl.gz');
  const notes: string[] = [];
  const context = { ...contextOf(root), note: (text: string) => void notes.push(text) };
  await tap([], { read, protocol: 'swap' }, context);
  expect([context.printed(), ...notes]).toEqual(['', '  no matching message\n']);
  await tap([], { read }, context);
  expect(notes).toEqual(['  no matching message\n', expect.stringContaining('times since')]);
});
