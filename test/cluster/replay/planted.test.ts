/** Two of the bugs are found, replayed and minimised, two are found by the storm. `npm run planted` does so with all. */

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readSchedule } from '../../../harness/run/schedule/schedule.ts';
import { BLIND_BUGS } from '../../planted/blind.ts';
import { hunt, isSmall, sight } from '../../planted/hunt.ts';
import { MESSAGE_BUGS } from '../../planted/messages.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

/** Four runs of some seconds, and the minimising ones. */
const HUNT_TIMEOUT_MS = 900_000;

const stateDir = temporaryFolder('svcnet-planted');

test(
  'a storer that signs before it stores is found, replayed and minimised; one that does not passes',
  async () => {
    const options = { stateDir, seeds: 3, replays: 1, attempts: 3 } as const;
    const { replayed, smallest } = await hunt({ ...options, bug: 'receipt-before-store' });
    expect(replayed).toMatchObject({
      failure: 'rough: not met: what a direct upload acknowledges is on a node at once',
      counts: { same: 1 },
    });
    expect(smallest?.failure).toBe(replayed?.failure);
    expect(smallest && isSmall(smallest), JSON.stringify(smallest?.to)).toBe(true);
  },
  HUNT_TIMEOUT_MS,
);

test(
  'a storm finds that a node takes the payloads at one address for copies of the first',
  async () => {
    const settings = BLIND_BUGS.find(({ name }) => name === 'gsoc-by-address')?.storm ?? [];
    const { seed, why } = await sight({ bug: 'gsoc-by-address', stateDir, seeds: 1, settings });
    expect({ seed, why }).toEqual({ seed: 1, why: ['every payload sent to one address is heard'] });
  },
  HUNT_TIMEOUT_MS,
);

test(
  'a storm with faults of single messages finds that a repeated cheque is credited again',
  async () => {
    const bug = 'cheque-again';
    const settings = MESSAGE_BUGS.find(({ name }) => name === bug)?.storm ?? [];
    const { why } = await sight({ bug, stateDir, seeds: 1, settings });
    expect(why).toEqual(['nothing is lost or made: balances, cheques and tokens add up']);
  },
  HUNT_TIMEOUT_MS,
);

test(
  'a changed delivery that is taken for the chunk is found, replayed and minimised to one changed message',
  async () => {
    const bug = 'unverified-delivery';
    const storm = MESSAGE_BUGS.find(({ name }) => name === bug)?.storm;
    const found = await hunt({ stateDir, seeds: 1, replays: 1, attempts: 4, bug, storm });
    const { folder = '', replayed, smallest } = found;
    expect(replayed).toMatchObject({
      failure: 'storm: not met: no node has served or named anything wrong',
      counts: { same: 1 },
    });
    expect(faultsOf(join(folder, 'schedule.json'))).toMatchObject([{ kind: 'message', first: 6 }]);
    expect(smallest).toMatchObject({ failure: replayed?.failure, to: { nodes: 2, faults: 1 } });
    expect(faultsOf(join(smallest?.out ?? '', 'run', 'schedule.json'))).toMatchObject([
      { kind: 'message', first: 1, corrupt: 'data' },
    ]);
  },
  HUNT_TIMEOUT_MS,
);

test(
  'where no run fails, nothing is found, replayed or minimised',
  async () => {
    const storm = [
      '--nodes=2',
      '--set=duration=1s',
      '--set=faults=',
      '--set=lanes=1',
      '--set=sizes=4096',
      '--set=sample=20',
    ];
    const found = await hunt({ stateDir, seeds: 2, replays: 1, attempts: 1, bug: 'forgetful-queue', storm });
    const nothing = { folder: undefined, seed: 2, replayed: undefined, smallest: undefined };
    expect(found).toEqual({ ...nothing, findMs: expect.any(Number) as number });
    expect(
      readdirSync(stateDir)
        .filter((name) => name.startsWith('forgetful-queue-'))
        .toSorted(),
    ).toEqual(['forgetful-queue-1', 'forgetful-queue-2']);
  },
  HUNT_TIMEOUT_MS,
);

function faultsOf(schedule: string): object[] {
  return readSchedule(schedule).faults.map(({ request }) => request);
}
