import { expect, test } from 'vitest';
import type { Fault, FaultRequest } from '../../../../../harness/cluster/faults/fault.ts';
import { namesIn, type Progress, runSchedule } from '../../../../../harness/run/schedule/run-schedule.ts';
import type { ScheduledFault } from '../../../../../harness/run/schedule/schedule.ts';
import { ManualClock } from '../../../protocols/manual-clock.ts';

const NODES = ['node-0', 'node-1'];

function recorder(refused?: string) {
  const log: string[] = [];
  const active = new Map<string, Fault>();
  let next = 1;
  const clock = new ManualClock();
  const faults = {
    clock,
    begin(request: FaultRequest): Promise<Fault> {
      const text = `${request.kind} ${String(request['node'])}`;
      if (text === refused) return Promise.reject(new Error(`cannot ${text}`));
      log.push(text);
      const base = { kind: request.kind, request, text, targets: [], at: 1, effect: {} };
      const fault: Fault = { id: `f${next++}`, ...base };
      active.set(fault.id, fault);
      return Promise.resolve(request.kind === 'reorg' ? { ...fault, endAt: 2 } : fault);
    },
    heal(id: string): Promise<Fault[]> {
      const fault = active.get(id) as Fault;
      active.delete(id);
      log.push(`healed ${fault.text}`);
      return Promise.resolve([{ ...fault, endAt: 2 }]);
    },
  };
  return { log, faults, clock };
}

const fault = (when: ScheduledFault['when'], request: FaultRequest, forMs?: number): ScheduledFault => ({
  id: 's',
  when,
  request,
  ...(forMs === undefined ? {} : { forMs }),
});

const NONE: Progress = { 'chunks acknowledged': 0, 'uploads acknowledged': 0, 'bytes acknowledged': 0 };
const never = new AbortController().signal;

test('faults of one node run one after another, even when their times overlap', async () => {
  const { log, faults, clock } = recorder();
  const schedule = [
    fault({ atMs: 0 }, { kind: 'kill', node: 'node-0' }, 40),
    fault({ atMs: 5 }, { kind: 'pause', node: 'node-0' }, 5),
    fault({ atMs: 5 }, { kind: 'pause', node: 'node-1' }, 5),
  ];
  const done = runSchedule(schedule, { faults, targets: () => NODES, progress: () => NONE }, never);
  await clock.advance(100);
  await done;
  expect(log.filter((line) => line.endsWith('node-0'))).toEqual([
    'kill node-0',
    'healed kill node-0',
    'pause node-0',
    'healed pause node-0',
  ]);
  expect(log.indexOf('pause node-1')).toBeLessThan(log.indexOf('healed kill node-0'));
});

test('a restart of all nodes runs beside no other fault', async () => {
  const { log, faults, clock } = recorder();
  const schedule = [
    fault({ atMs: 0 }, { kind: 'rolling-restart' }, 30),
    fault({ atMs: 5 }, { kind: 'kill', node: 'node-1' }, 0),
  ];
  const done = runSchedule(schedule, { faults, targets: () => NODES, progress: () => NONE }, never);
  await clock.advance(100);
  await done;
  expect(log.slice(0, 3)).toEqual([
    'rolling-restart undefined',
    'healed rolling-restart undefined',
    'kill node-1',
  ]);
});

test('a fault whose time or event has not come does not hold up others of its node', async () => {
  const { log, faults, clock } = recorder();
  const over = new AbortController();
  const schedule = [
    fault({ after: 1, of: 'chunks acknowledged' }, { kind: 'isolate', node: 'node-0' }, 0),
    fault({ atMs: 60_000 }, { kind: 'pause', node: 'node-0' }, 0),
    fault({ atMs: 0 }, { kind: 'kill', node: 'node-0' }, 0),
  ];
  const done = runSchedule(schedule, { faults, targets: () => NODES, progress: () => NONE }, over.signal);
  while (log.length < 2) await clock.advance(5);
  over.abort();
  await done;
  expect(log).toEqual(['kill node-0', 'healed kill node-0']);
});

test('waits for an event, but not for one that never comes', async () => {
  const { log, faults, clock } = recorder();
  let chunks = 0;
  const over = new AbortController();
  const schedule = [
    fault({ after: 500, of: 'chunks acknowledged' }, { kind: 'kill', node: 'node-0' }, 0),
    fault({ after: 9000, of: 'chunks acknowledged' }, { kind: 'kill', node: 'node-1' }, 0),
  ];
  const progress = () => ({ ...NONE, 'chunks acknowledged': chunks });
  const done = runSchedule(schedule, { faults, targets: () => NODES, progress }, over.signal);
  chunks = 499;
  await clock.advance(60);
  expect(log).toEqual([]);
  chunks = 500;
  while (log.length < 2) await clock.advance(5);
  over.abort();
  await done;
  expect(log).toEqual(['kill node-0', 'healed kill node-0']);
});

test('lasting faults are healed at the end, faults that end by themselves are not', async () => {
  const { log, faults, clock } = recorder();
  const over = new AbortController();
  const told: (number | undefined)[] = [];
  const schedule = [
    fault({ atMs: 0 }, { kind: 'kill', node: 'node-0' }),
    fault({ atMs: 0 }, { kind: 'reorg', node: 'chain' }, 10),
  ];
  const onFault = ({ endAt }: Fault) => void told.push(endAt);
  const done = runSchedule(
    schedule,
    { faults, targets: () => NODES, progress: () => NONE, onFault },
    over.signal,
  );
  while (log.length < 2) await clock.advance(5);
  over.abort();
  await done;
  expect(log.toSorted()).toEqual(['healed kill node-0', 'kill node-0', 'reorg chain']);
  expect(told.filter((endAt) => endAt === 2)).toHaveLength(2);
  expect(told.filter((endAt) => endAt === undefined)).toHaveLength(1);
});

test('a fault that cannot be begun ends the schedule, and the others are healed', async () => {
  const { log, faults, clock } = recorder('kill node-1');
  const schedule = [
    fault({ atMs: 0 }, { kind: 'pause', node: 'node-0' }, 60_000),
    fault({ atMs: 20 }, { kind: 'kill', node: 'node-1' }, 1),
  ];
  const done = runSchedule(schedule, { faults, targets: () => NODES, progress: () => NONE }, never);
  const failed = expect(done).rejects.toThrow('cannot kill node-1');
  await clock.advance(20);
  await failed;
  expect(log).toEqual(['pause node-0', 'healed pause node-0']);
});

test('nodes are found at any depth of a request', () => {
  expect(namesIn({ kind: 'partition', groups: [['node-1'], ['node-0', 'node-1']] }, NODES)).toEqual([
    'node-1',
    'node-0',
  ]);
  expect(namesIn({ kind: 'chain-stall', ms: 5 }, NODES)).toEqual([]);
});

test('a fault whose node has left for good while it waited is dropped, also one of a node that joined meanwhile', async () => {
  const { log, faults, clock } = recorder();
  let there = [...NODES];
  const schedule = [
    fault({ atMs: 0 }, { kind: 'pause', node: 'node-1' }, 40),
    fault({ atMs: 5 }, { kind: 'kill', node: 'node-1' }, 5),
    fault({ atMs: 10 }, { kind: 'partition', groups: [['node-0'], ['node-2']] }, 5),
    fault({ atMs: 60 }, { kind: 'kill', node: 'node-2' }, 5),
    fault({ atMs: 60 }, { kind: 'kill', node: 'node-0' }, 5),
  ];
  const done = runSchedule(schedule, { faults, targets: () => there, progress: () => NONE }, never);
  there.push('node-2');
  await clock.advance(20);
  there = ['node-0'];
  await clock.advance(100);
  await done;
  expect(log.filter((line) => !line.startsWith('healed'))).toEqual([
    'pause node-1',
    'partition undefined',
    'kill node-0',
  ]);
});
