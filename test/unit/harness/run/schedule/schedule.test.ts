import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { SCHEDULE_FILE } from '../../../../../harness/report/folder.ts';
import { readSchedule, type Schedule, writeSchedule } from '../../../../../harness/run/schedule/schedule.ts';
import { temporaryFolder } from '../../../../temporary-folder.ts';

const folder = temporaryFolder('svcnet-schedule');

const schedule: Schedule = {
  schema: 1,
  durationMs: 60_000,
  faults: [
    { id: 's1', when: { atMs: 500 }, forMs: 2000, request: { kind: 'kill', node: 'node-1' } },
    { id: 's2', when: { after: 500, of: 'chunks acknowledged' }, request: { kind: 'chain-stall' } },
  ],
  operations: [
    {
      n: 0,
      lane: 'node-0/0',
      atMs: 0,
      node: 'node-0',
      do: 'upload',
      kind: 'bytes',
      size: 5,
      mode: 'direct',
      data: 'a',
    },
    { n: 1, lane: 'node-1/0', atMs: 40, node: 'node-1', do: 'download', upload: 0 },
    { n: 2, lane: 'messages', atMs: 50, node: 'node-1', do: 'message', to: 'node-0' },
    { n: 3, lane: 'money', atMs: 60, node: 'node-1', do: 'cash' },
  ],
};

test('a schedule is read back as it was written', () => {
  writeSchedule(folder, schedule);
  expect(readSchedule(join(folder, SCHEDULE_FILE))).toEqual(schedule);
});

test.each([
  [
    { ...schedule, faults: [{ id: 's1', when: { atMs: 1, after: 2 }, request: { kind: 'kill' } }] },
    /faults\.0\.when: /,
  ],
  [
    { ...schedule, faults: [{ id: 's1', when: { atMs: 1 }, request: { node: 'node-1' } }] },
    /faults\.0\.request\.kind/,
  ],
  [{ ...schedule, operations: [{ ...schedule.operations[1], upload: -1 }] }, /operations\.0\.upload/],
  [{ ...schedule, schema: 2 }, /schema/],
])('a schedule with a mistake is refused with the position of the mistake', (document, message) => {
  const path = join(folder, 'wrong.json');
  writeFileSync(path, JSON.stringify(document));
  expect(() => readSchedule(path)).toThrow(message);
});

test('a schedule that does not exist is named', () => {
  expect(() => readSchedule(join(folder, 'none.json'))).toThrow(/no schedule '.*none\.json'/);
});
