import { PassThrough, Writable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { Viewers } from '../../../../../harness/inspect/live/viewers.ts';
import { ManualClock } from '../../../protocols/manual-clock.ts';

class SlowReader extends Writable {
  readonly messages: string[] = [];
  #done: (() => void) | undefined;

  constructor() {
    super({ highWaterMark: 1, decodeStrings: false });
  }

  override _write(text: string, _encoding: BufferEncoding, done: () => void): void {
    this.messages.push(text);
    this.#done = done;
  }

  async take(): Promise<void> {
    this.#done?.();
    await turn();
  }
}

function opened(clock = new ManualClock()): {
  viewers: Viewers;
  state: { value: number };
  watched: boolean[];
} {
  const state = { value: 0 };
  const watched: boolean[] = [];
  const viewers = new Viewers({
    clock,
    snapshot: () => JSON.stringify(state),
    onWatched: (wanted) => watched.push(wanted),
  });
  onTestFinished(() => viewers.close());
  return { viewers, state, watched };
}

const snapshot = (value: number) => `event: snapshot\ndata: {"value":${value}}\n\n`;

test('a connection begins with a snapshot, and gets every delta after it', () => {
  const { viewers } = opened();
  const stream = new PassThrough({ encoding: 'utf8' });
  viewers.add(stream);
  viewers.tell('{"a":1}');
  viewers.tell('{"a":2}');
  expect(stream.read()).toBe(`${snapshot(0)}event: delta\ndata: {"a":1}\n\nevent: delta\ndata: {"a":2}\n\n`);
});

test('nothing is queued for a slow reader: it gets the current state when it reads', async () => {
  const { viewers, state } = opened();
  const reader = new SlowReader();
  viewers.add(reader);
  for (let i = 1; i <= 1000; i++) {
    state.value = i;
    viewers.tell(`{"value":${i}}`);
  }
  expect(reader.writableLength).toBeLessThan(100);
  await reader.take();
  await reader.take();
  expect(reader.messages).toEqual([snapshot(0), snapshot(1000)]);
  viewers.tell('{"value":1001}');
  expect(reader.messages.at(-1)).toContain('"value":1001');
});

test('a slow reader that has missed nothing gets nothing twice', async () => {
  const { viewers } = opened();
  const reader = new SlowReader();
  viewers.add(reader);
  await reader.take();
  expect(reader.messages).toEqual([snapshot(0)]);
});

test('a state that no delta tells is sent whole, to a slow reader once it reads', async () => {
  const { viewers, state } = opened();
  const slow = new SlowReader();
  const stream = new PassThrough({ encoding: 'utf8' });
  viewers.add(slow);
  viewers.add(stream);
  state.value = 1;
  viewers.renew();
  expect(stream.read()).toBe(`${snapshot(0)}${snapshot(1)}`);
  state.value = 2;
  await slow.take();
  await slow.take();
  expect(slow.messages).toEqual([snapshot(0), snapshot(2)]);
});

test('a slow reader does not delay others', () => {
  const { viewers } = opened();
  viewers.add(new SlowReader());
  const stream = new PassThrough({ encoding: 'utf8' });
  viewers.add(stream);
  viewers.tell('{"a":1}');
  expect(stream.read()).toContain('"a":1');
});

test('a heartbeat shows a reader that the server is there', async () => {
  const clock = new ManualClock();
  const { viewers } = opened(clock);
  const stream = new PassThrough({ encoding: 'utf8' });
  viewers.add(stream);
  await clock.advance(5000);
  expect(stream.read()).toContain(`event: beat\ndata: ${clock.now()}\n\n`);
});

test('a reader that takes nothing for a minute is disconnected', async () => {
  const clock = new ManualClock();
  const { viewers } = opened(clock);
  const reader = new SlowReader();
  viewers.add(reader);
  await clock.advance(60_000);
  expect(viewers.count).toBe(1);
  await clock.advance(5000);
  expect(reader.destroyed).toBe(true);
  expect(viewers.count).toBe(0);
});

test('looking begins with the first viewer and ends with the last', async () => {
  const { viewers, watched } = opened();
  const streams = [new PassThrough(), new PassThrough()];
  for (const stream of streams) viewers.add(stream);
  expect(watched).toEqual([true]);
  streams[0]?.destroy();
  await turn();
  expect(watched).toEqual([true]);
  streams[1]?.destroy(new Error('reset by the reader'));
  await turn();
  expect(watched).toEqual([true, false]);
});
