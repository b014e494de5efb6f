/** What was heard is in the file soon, also when nothing more is said and when the tap fails. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { MACHINE_CLOCK } from '../../../../../harness/base/machine/clock.ts';
import { until } from '../../../../../harness/base/wait.ts';
import type { Cluster } from '../../../../../harness/cluster/cluster.ts';
import type { TapEvent } from '../../../../../harness/places/links/tap/events.ts';
import { MESSAGES_FILE } from '../../../../../harness/report/messages/message-file.ts';
import { messageFiles, readMessages } from '../../../../../harness/report/messages/read-messages.ts';
import { MessageWatch } from '../../../../../harness/run/watch/messages.ts';
import { temporaryFolder } from '../../../../temporary-folder.ts';

const root = temporaryFolder('svcnet-message-watch');

function event(at: number): TapEvent {
  const ends = { from: 'node-0', to: 'node-1', stream: 'c0/1', protocol: 'pushsync', id: '/swarm/pushsync' };
  return { at, ...ends, kind: 'message', name: 'receipt', fields: {}, bytes: 10 };
}

async function kept(folder: string): Promise<number[]> {
  const times: number[] = [];
  for await (const { at } of readMessages(messageFiles(folder), () => undefined)) times.push(at);
  return times;
}

function clusterOf(events: () => AsyncGenerator<TapEvent>) {
  return {
    capabilities: new Set(['tap'] as const),
    startedAt: 5,
    tap: events,
    timings: { totalMs: 0 } as Cluster['timings'],
  };
}

function watched(name: string, events: () => AsyncGenerator<TapEvent>, eventsMax?: number) {
  const folder = join(root, name);
  mkdirSync(folder);
  const problems: string[] = [];
  const watch = new MessageWatch(folder, problems, eventsMax);
  watch.watch(clusterOf(events));
  return { folder, problems, watch };
}

test('what was said before the tap failed is kept', async () => {
  const { folder, problems, watch } = watched('failed', async function* () {
    yield event(1);
    yield event(2);
    throw new Error('the proxy is gone');
  });
  await watch.release();
  expect(await kept(folder)).toEqual([1, 2]);
  expect(problems).toEqual([`${MESSAGES_FILE} ends early: the proxy is gone`]);
});

test('a message is in the file although nothing more is said', async () => {
  const silence = Promise.withResolvers<void>();
  const { folder, problems, watch } = watched('quiet', async function* () {
    yield event(1);
    await silence.promise;
    yield event(2);
  });
  const probe = async () => {
    const times = await kept(folder);
    return times.length === 0 ? { missing: 'no message' } : { done: times };
  };
  const options = { clock: MACHINE_CLOCK, timeoutMs: 30_000 };
  expect(await until('nothing is kept', probe, options)).toEqual([1]);
  silence.resolve();
  await watch.release();
  expect(await kept(folder)).toEqual([1, 2]);
  expect(problems).toEqual([]);
});

test('messages of a second cluster say so, also when the first had no tap', async () => {
  const said = async function* () {
    yield event(1);
  };
  const { folder, watch } = watched('two clusters', said);
  await watch.release();
  watch.watch({ ...clusterOf(said), capabilities: new Set() });
  await watch.release();
  watch.watch({ ...clusterOf(said), startedAt: 7 });
  await watch.release();
  const seen: unknown[] = [];
  for await (const { cluster, began } of readMessages(messageFiles(folder), () => undefined))
    seen.push([cluster, began]);
  expect(seen).toEqual([
    [undefined, 5],
    [3, 7],
  ]);
});

test('what a long record has no room for is a note with its figure, not a problem', async () => {
  const said = async function* () {
    for (let at = 0; at < 3500; at++) yield event(at);
  };
  const { problems, watch } = watched('long', said, 1000);
  await watch.release();
  expect(watch.notes).toEqual(['messages between nodes: the latest 1,500 of 3,500 lines are kept']);
  expect(problems).toEqual([]);
});
