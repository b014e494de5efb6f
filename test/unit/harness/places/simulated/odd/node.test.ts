import { expect, test } from 'vitest';
import { seededRandom } from '../../../../../../formats/random.ts';
import { timeoutFor } from '../../../../../../harness/cluster/start/start-deadline.ts';
import { KNOB_NAMES, KNOBS } from '../../../../../../harness/places/simulated/odd/knobs.ts';
import {
  type OddValues,
  oddOptions,
  oddSurroundings,
  oddValues,
} from '../../../../../../harness/places/simulated/odd/node.ts';
import { VirtualTime } from '../../../../../../harness/places/simulated/virtual-time.ts';
import { checkPayments } from '../../../../../../node/option-rules.ts';
import { resolveOptions } from '../../../../../../node/option-sources.ts';
import { OPTIONS } from '../../../../../../node/options.ts';

const NODES = Array.from({ length: 200 }, (_, n) => `node-${n}`);
const ofNode = (node: string) => oddValues(KNOB_NAMES, '7', node);
const ALL = NODES.map(ofNode);

test('a node has the same values at each start, and other nodes have others', () => {
  expect(NODES.map(ofNode)).toEqual(ALL);
  expect(new Set(ALL.map((values) => JSON.stringify(values))).size).toBe(NODES.length);
  expect(oddValues([], '7', 'node-0')).toEqual({});
});

test('a node with the slowest chain and the smallest requests reads a thousand blocks before its start times out', () => {
  // The head, the page's last block before and after its logs, and the last block applied (node/postage/listener.ts).
  const answersPerPage = 5;
  const pages = Math.ceil(1000 / KNOBS['log-blocks'].least);
  expect(pages * answersPerPage * KNOBS['slow-chain'].most).toBeLessThan(timeoutFor(1));
});

test('a knob that is left out changes no value of the others', () => {
  const { window: _window, ...others } = ofNode('node-1');
  const without = KNOB_NAMES.filter((name) => name !== 'window');
  expect(oddValues(without, '7', 'node-1')).toEqual(others);
});

test.each(KNOB_NAMES)('%s: some nodes are as ever, some at a bound, none beyond', (name) => {
  const { least, most } = KNOBS[name];
  const values = ALL.map((of) => of[name]);
  expect(values).toContain(undefined);
  expect(values).toContain(least);
  expect(values).toContain(most);
  const beyond = values.filter((value = least) => value < least || value > most);
  expect(beyond).toEqual([]);
});

test('a node takes both bounds of each of its options and limits, and what peers refuse is not among them', () => {
  for (const name of KNOB_NAMES) {
    const { option, limit, least, most } = KNOBS[name];
    for (const value of [least, most]) {
      const options = oddOptions({ [name]: value }, {});
      expect(Object.keys(options)).toEqual(option === undefined ? [] : [option.name]);
      checkPayments(resolved(options));
      const { limits } = surrounded({ [name]: value }).odd;
      expect(limits).toEqual(limit === undefined ? {} : { [limit]: value });
      if (option !== undefined) expect(resolved(options)[option.name], option.name).toBe(value);
    }
  }
});

test.each(['100', 100])('a value stays within what the definition says of another option: %j', (linear) => {
  const given = { 'threshold-growth-linear': linear };
  const beyond = oddOptions({ 'threshold-growth-step': 400 }, given);
  expect(beyond).toEqual({ 'threshold-growth-step': 100 });
  checkPayments(resolved({ ...given, ...beyond }));
  expect(oddOptions({ 'threshold-growth-step': 70 }, given)).toEqual({ 'threshold-growth-step': 70 });
});

/** With what a node cannot do without. */
function resolved(options: Record<string, unknown>) {
  const required = Object.entries(OPTIONS).flatMap(([name, spec]) =>
    'default' in spec && spec.default !== undefined ? [] : [[name, NEEDED[name]]],
  );
  const all = { ...Object.fromEntries(required), ...options };
  return resolveOptions(['--config', 'node.json'], {}, () => all);
}

const NEEDED: Readonly<Record<string, string>> = {
  password: 'x',
  'swap-endpoint': 'http://127.0.0.1:1',
  'token-address': `0x${'1'.repeat(40)}`,
  'postage-stamp-address': `0x${'1'.repeat(40)}`,
};

function surrounded(values: OddValues) {
  const time = new VirtualTime();
  const given = {
    clock: time.clock,
    random: seededRandom('node'),
    defer: time.defer,
    readText: () => Promise.resolve(''),
    chain: () => ({ shown: '', post: () => Promise.resolve('answer'), close: () => undefined }),
    listen: () => Promise.reject(new Error('nobody listens')),
  };
  return { time, given, odd: oddSurroundings(given, values, seededRandom('odd')) };
}

test('what surrounds a node that is not odd stays as it is', () => {
  const { given, odd } = surrounded({});
  expect(odd).toEqual({ ...given, limits: {} });
  expect(odd.clock).toBe(given.clock);
});

test.each(['late-timers', 'early-timers', 'late-turns'] as const)(
  'a clock with %s alone is another',
  (knob) => {
    const { given, odd } = surrounded({ [knob]: 5 });
    expect(odd.clock).not.toBe(given.clock);
  },
);

test('timers fire late or early within their bounds, none before it was set', async () => {
  const { time, odd } = surrounded({ 'late-timers': 30, 'early-timers': 1 });
  const off: number[] = [];
  for (let n = 0; n < 500; n++) odd.clock.timer(100, () => void off.push(time.ms - 100));
  odd.clock.timer(0, () => expect(time.ms).toBeGreaterThanOrEqual(0));
  await time.advance(200);
  expect([off.length, Math.min(...off), Math.max(...off)]).toEqual([500, -1, 30]);
});

test('a turn of a task comes after several turns of others', async () => {
  const { time, odd } = surrounded({ 'late-turns': 20 });
  const turns: number[] = [];
  let passed = 0;
  let over = false;
  const others = () => {
    passed++;
    if (!over) time.defer(others);
  };
  others();
  for (let n = 0; n < 50; n++) {
    const before = passed;
    await odd.clock.turn();
    turns.push(passed - before);
  }
  over = true;
  expect(Math.min(...turns)).toBeLessThan(4);
  expect(Math.max(...turns)).toBeGreaterThan(15);
});

test('a slow disk writes in order, each change some time later', async () => {
  const { time, odd } = surrounded({ 'slow-writes': 50 });
  const written: [number, number][] = [];
  for (let n = 0; n < 100; n++) odd.defer(() => void written.push([n, time.ms]));
  await time.advance(1000);
  expect(written.map(([n]) => n)).toEqual(Array.from({ length: 100 }, (_, n) => n));
  expect(written.at(-1)?.[1]).toBe(50);
  expect(new Set(written.map(([, ms]) => ms)).size).toBeGreaterThan(1);
});

test('a slow chain answers within its time, and a question that is given up waits for nothing', async () => {
  const { time, odd } = surrounded({ 'slow-chain': 300 });
  const chain = odd.chain('http://chain');
  const waits: number[] = [];
  for (let n = 0; n < 30; n++) {
    const before = time.ms;
    expect(await time.during(chain.post('', new AbortController()))).toBe('answer');
    waits.push(time.ms - before);
  }
  expect(Math.min(...waits)).toBeLessThan(100);
  expect(Math.max(...waits)).toBeGreaterThan(200);
  expect(Math.max(...waits)).toBeLessThanOrEqual(300);
  await expect(chain.post('', { signal: AbortSignal.abort(new Error('given up')) })).rejects.toThrow(
    'given up',
  );
});
