import { expect, test } from 'vitest';
import { type Incident, incidentText, Membership } from '../../../../../harness/cluster/nodes/membership.ts';
import type { NodeSight, NodeState } from '../../../../../harness/cluster/nodes/node-run.ts';
import type { Exit, Observed } from '../../../../../harness/places/driver.ts';
import { ManualClock } from '../../../protocols/manual-clock.ts';

/** The state at its acceptance is the wanted one. */
class FakeNode {
  readonly name = 'node-0';
  sight: NodeSight = { state: 'running', handle: { pid: 1 }, pid: 1, exit: undefined };
  wanted: Pick<NodeSight, 'state' | 'handle'> | undefined = this.sight;
  failure: Error | undefined;

  become(state: NodeState, start = 1, exit?: Exit): void {
    this.sight = { state, handle: { pid: start }, pid: start, exit };
  }

  async observe(): Promise<NodeSight> {
    if (this.failure !== undefined) throw this.failure;
    return this.sight;
  }

  accept(sight: NodeSight = this.sight): void {
    this.wanted = sight;
  }
}

function watched(): {
  node: FakeNode;
  chain: { observed: Observed };
  observe: () => Promise<(string | undefined)[]>;
} {
  const node = new FakeNode();
  const chain: { observed: Observed } = { observed: { state: 'running' } };
  const membership = new Membership([node], {
    clock: new ManualClock(),
    driver: { observe: () => Promise.resolve(chain.observed) },
    chain: () => ({ pid: 9 }),
  });
  const told: Incident[] = [];
  membership.onIncident((incident) => told.push(incident));
  return {
    node,
    chain,
    async observe() {
      await membership.observe();
      return told.splice(0).map(incidentText);
    },
  };
}

test.each<[string, NodeState, NodeState, string | undefined]>([
  ['dies', 'running', 'crashed', 'node-0 died'],
  ['is killed by a command', 'running', 'killed', 'node-0 died'],
  ['is stopped by a command', 'running', 'stopped', 'node-0 was stopped'],
  ['is paused', 'running', 'paused', 'node-0 was paused'],
  ['dies while it is paused', 'paused', 'crashed', 'node-0 died'],
  ['is resumed', 'paused', 'running', 'node-0 was resumed'],
  ['stays as it is', 'stopped', 'stopped', undefined],
  ['was dead before', 'killed', 'crashed', undefined],
  ['is removed with its cluster', 'running', 'new', 'node-0 was removed'],
  ['does not answer any more', 'running', 'silent', 'node-0 stopped answering'],
  ['answers after a silence', 'silent', 'running', 'node-0 answers again'],
])('a node that %s is reported once', async (_what, before, after, text) => {
  const { node, observe } = watched();
  node.become(before);
  node.accept();
  expect(await observe()).toEqual([]);
  node.become(after);
  expect(await observe()).toEqual(text === undefined ? [] : [text]);
  expect(await observe()).toEqual([]);
});

test.each<[NodeState, string]>([
  ['running', 'node-0 was restarted'],
  ['paused', 'node-0 was restarted'],
  ['killed', 'node-0 was started'],
  ['stopped', 'node-0 was started'],
])('a node that was %s and runs as another process is reported', async (before, text) => {
  const { node, observe } = watched();
  node.become(before, 1);
  node.accept();
  node.become('running', 2);
  expect(await observe()).toEqual([text]);
});

test('what the process itself does to a node is not an incident', async () => {
  const { node, observe } = watched();
  node.wanted = undefined;
  node.become('killed');
  expect(await observe()).toEqual([]);
  node.accept();
  expect(await observe()).toEqual([]);
});

test('the reason why a node has ended is reported when it is known', async () => {
  const { node, observe } = watched();
  node.become('crashed', 1, { code: null, signal: 'SIGKILL' });
  expect(await observe()).toEqual(['node-0 died (SIGKILL)']);
  node.become('running', 2);
  node.accept();
  node.become('crashed', 2, { code: 1, signal: null, reason: 'the disk is full' });
  expect(await observe()).toEqual(['node-0 died (the disk is full)']);
});

/** Of a driver that tells of changes. @param observe before each of its answers */
function toldWatch(observe: (clock: ManualClock) => Promise<void>): {
  clock: ManualClock;
  node: FakeNode;
  listeners: Set<() => void>;
  membership: Membership;
  told: string[];
} {
  const clock = new ManualClock();
  const node = new FakeNode();
  const listeners = new Set<() => void>();
  const membership = new Membership([node], {
    clock,
    driver: {
      async observe() {
        await observe(clock);
        return { state: 'running' };
      },
      onChange(listener) {
        listeners.add(listener);
        return { [Symbol.dispose]: () => void listeners.delete(listener) };
      },
    },
    chain: () => ({ pid: 9 }),
  });
  const told: string[] = [];
  membership.onIncident((incident) => told.push(incidentText(incident)));
  return { clock, node, listeners, membership, told };
}

test('a driver that tells of changes is asked after one, and seldom otherwise', async () => {
  const asked: number[] = [];
  const { clock, node, listeners, membership, told } = toldWatch(
    async (now) => void asked.push(now.monotonic()),
  );
  await clock.advance(6_000);
  expect(asked).toEqual([200, 5_200]);
  node.become('crashed');
  for (const listener of [...listeners, ...listeners]) listener();
  await clock.advance(200);
  expect(told).toEqual(['node-0 died']);
  await clock.advance(5_000);
  expect(asked).toEqual([200, 5_200, 6_200, 11_200]);
  membership.close();
  expect(listeners.size).toBe(0);
});

test('what a driver tells while its nodes are being observed is seen at once', async () => {
  const observing = Promise.withResolvers<void>();
  let slow: Promise<void> | undefined = observing.promise;
  const { clock, node, listeners, membership, told } = toldWatch(async () => {
    const waited = slow;
    slow = undefined;
    await waited;
  });
  await clock.advance(200);
  node.become('crashed');
  for (const listener of listeners) listener();
  await clock.advance(300);
  observing.resolve();
  await clock.advance(200);
  expect(told).toEqual(['node-0 died']);
  membership.close();
});

test('the end of a chain is reported, and a node that cannot be seen is reported once', async () => {
  const { node, chain, observe } = watched();
  expect(await observe()).toEqual([]);
  node.failure = new Error('no answer');
  chain.observed = { state: 'gone' };
  expect(new Set(await observe())).toEqual(new Set(['chain died', 'node-0 cannot be seen (no answer)']));
  expect(await observe()).toEqual([]);
  node.failure = undefined;
  chain.observed = { state: 'running' };
  expect(await observe()).toEqual(['chain was resumed']);
});

test('incidents without a listener are delivered once, to the next listener', async () => {
  const node = new FakeNode();
  const membership = new Membership([node], {
    clock: new ManualClock(),
    driver: { observe: () => Promise.resolve({ state: 'running' }) },
    chain: () => undefined,
  });
  node.become('crashed');
  await membership.observe();
  const told: string[] = [];
  membership.onIncident((incident) => told.push(incidentText(incident)));
  membership.onIncident(() => told.push('again'));
  expect(new Set(told)).toEqual(new Set(['chain was removed', 'node-0 died']));
  membership.close();
});
