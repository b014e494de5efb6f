import { execFile } from 'node:child_process';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest';
import { type Clock, systemClock } from '../../../formats/clock.ts';
import { pickFreePorts } from '../../../harness/base/machine/ports.ts';
import { KNOBS } from '../../../harness/places/simulated/odd/knobs.ts';
import { startNode } from '../../../node/compose.ts';
import { type MemoryOptions, memoryPlatform } from '../../../node/platform/memory.ts';
import { MemoryDisk } from '../../../node/store/memory-store.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { startNodeChain } from '../../unit/platform/node-chain.ts';
import { keysOf } from '../../unit/platform/node-keys.ts';
import { nodeOptions } from '../../unit/platform/node-options.ts';
import {
  batchOf,
  type EmbeddedNode,
  embedded,
  peersOf,
  SEED,
  type Surroundings,
  surroundings,
  upload,
} from './embedded-node.ts';

const folder = temporaryFolder('svcnet-platform');

const chain = await startNodeChain({ seed: SEED });
afterAll(() => chain[Symbol.asyncDispose]());

const running: EmbeddedNode[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map(({ platform }) => platform.cut()));
  await vi.waitFor(() => expect(sockets()).toEqual([]), WAIT);
});

async function start(n: number, around: Surroundings, given: Parameters<typeof embedded>[2] = {}) {
  const node = await embedded(n, around, given);
  running.push(node);
  return node;
}

function sockets(): string[] {
  return process.getActiveResourcesInfo().filter((type) => type.startsWith('TCP'));
}

const [first, second] = await pickFreePorts(2);
const [FIRST, SECOND] = [`127.0.0.1:${first}`, `127.0.0.1:${second}`];
const UNDERLAY = `/ip4/127.0.0.1/tcp/${first}`;

async function pair(around: Surroundings, second: Parameters<typeof embedded>[2] = {}) {
  const a = await start(1, around, {
    ...second,
    ...ownFolder(second.platform, 'a'),
    options: { 'p2p-addr': FIRST },
  });
  const b = await start(2, around, {
    ...second,
    ...ownFolder(second.platform, 'b'),
    options: { bootnode: UNDERLAY, 'p2p-addr': SECOND },
  });
  await vi.waitFor(async () => expect([await peersOf(a.api), await peersOf(b.api)]).toHaveLength(2), WAIT);
  await vi.waitFor(async () => expect(await peersOf(a.api)).toHaveLength(1), WAIT);
  return { a, b };
}

function ownFolder(
  platform: Partial<MemoryOptions> = {},
  name: string,
): { platform: Partial<MemoryOptions> } {
  const { store } = platform;
  if (store === undefined || !('folder' in store)) return { platform };
  return { platform: { ...platform, store: { ...store, folder: join(store.folder, name) } } };
}

const WAIT = { timeout: 120_000, interval: 20 };

/** Its running timers are in the set. */
function countingClock(timers: Set<Disposable>): Clock {
  const clock = systemClock();
  return {
    ...clock,
    timer(ms, wake) {
      const made = clock.timer(ms, () => {
        timers.delete(counted);
        wake();
      });
      const counted: Disposable = {
        [Symbol.dispose]() {
          timers.delete(counted);
          made[Symbol.dispose]();
        },
      };
      timers.add(counted);
      return counted;
    },
  };
}

function distinct(length: number): Uint8Array {
  return new Uint8Array(length).map((_, i) => (i * i) >> 9);
}

let folders = 0;
const PLATFORMS: readonly (readonly [string, () => Partial<MemoryOptions>])[] = [
  ['memory', () => ({})],
  ['TCP and LMDB', () => ({ host: 'tcp', store: { folder: join(folder, String(++folders)) } })],
];

describe.each(PLATFORMS)('a node on %s whose power is cut', (name, platform) => {
  test('leaves no timer and no socket behind', async () => {
    const timers = new Set<Disposable>();
    const clock = countingClock(timers);
    const { a, b } = await pair(surroundings(chain), { platform: { ...platform(), clock } });
    expect(timers.size).toBeGreaterThan(10);
    const released = [a.platform.cut(), b.platform.cut()];
    expect(timers.size).toBe(0);
    await Promise.all(released);
    await vi.waitFor(() => expect(sockets()).toEqual([]), WAIT);
    expect(timers.size).toBe(0);
  });

  test('does not keep its process alive', async () => {
    const program = join(import.meta.dirname, 'left-process.ts');
    const { stdout } = await promisify(execFile)(process.execPath, [program, name]);
    expect(JSON.parse(stdout)).toEqual([]);
  });

  test('breaks its links at once, and its peer accepts it again after a restart', async () => {
    const around = surroundings(chain);
    const { a, b } = await pair(around, { platform: platform() });
    await b.platform.cut();
    await vi.waitFor(async () => expect(await peersOf(a.api)).toEqual([]), WAIT);
    const again = await start(2, around, {
      options: { bootnode: UNDERLAY, 'p2p-addr': SECOND },
      platform: platform(),
    });
    await vi.waitFor(async () => expect(await peersOf(again.api)).toHaveLength(1), WAIT);
  });

  test('makes no calls to the chain and writes nothing to its log', async () => {
    const around = surroundings(chain);
    const node = await start(1, around, { options: { verbosity: 'debug' }, platform: platform() });
    const answer = fetch(`${node.api}/stamps/10000000/20`, { method: 'POST' }).catch(() => 'cut off');
    const sent = () => expect(around.calls.get('eth_sendRawTransaction')).toBeGreaterThan(0);
    await vi.waitFor(sent, { ...WAIT, interval: 1 });
    void node.platform.cut();
    const seen = { calls: new Map(around.calls), lines: node.lines.length };
    await pause(300);
    expect({ calls: around.calls, lines: node.lines.length }).toEqual(seen);
    expect(await answer).toBe('cut off');
    expect(node.crashes).toEqual([]);
  });

  test('has everything it acknowledged, and its port, at the next start', async () => {
    const around = surroundings(chain);
    const [port] = await pickFreePorts(1);
    const given = {
      options: { 'api-addr': `127.0.0.1:${port}` },
      platform: platform(),
      disk: new MemoryDisk(),
    };
    const first = await start(1, around, given);
    const batch = await batchOf(first.api);
    const bytes = distinct(50_000);
    const reference = await upload(first.api, batch, bytes);
    await first.platform.cut();
    // The client must see that its connections are gone.
    await pause(10);
    const second = await start(1, around, given);
    const answer = await fetch(`${second.api}/bytes/${reference}`);
    expect(new Uint8Array(await answer.arrayBuffer())).toEqual(bytes);
    const { tags } = (await (await fetch(`${second.api}/tags`)).json()) as { tags: { address: string }[] };
    expect(tags.map(({ address }) => address)).toEqual([reference]);
    expect(await upload(second.api, batch, bytes)).toBe(reference);
  });

  test('can also be cut off in the middle of a start', async () => {
    const around = surroundings(chain);
    const given = platform();
    let asked = 0;
    let cut: () => void = () => undefined;
    const silent = () => ({
      ...chain.endpoint(),
      post: () => (asked++, cut(), new Promise<string>(() => undefined)),
    });
    const made = await memoryPlatform({
      keys: keysOf(SEED, 1),
      host: around.network,
      store: new MemoryDisk(),
      ...given,
      chain: silent,
    });
    cut = () => void made.cut();
    void made.run(() => startNode(nodeOptions(chain.contracts), made, new AbortController().signal));
    await vi.waitFor(() => expect(asked).toBe(1), WAIT);
    await vi.waitFor(() => expect(sockets()).toEqual([]), WAIT);
  });
});

test('no write of a node without power reaches its disk', async () => {
  const disk = new MemoryDisk();
  const node = await start(1, surroundings(chain), { disk });
  const batch = await batchOf(node.api);
  const ended = upload(node.api, batch, distinct(8_000_000)).catch(() => 'cut off');
  await vi.waitFor(() => expect(disk.transactions).toBeGreaterThan(50), { timeout: 120_000, interval: 1 });
  void node.platform.cut();
  const { transactions } = disk;
  expect(await ended).toBe('cut off');
  await pause(50);
  expect(disk.transactions).toBe(transactions);
});

test('a disk can be used by only one node at a time', async () => {
  const around = surroundings(chain);
  const disk = new MemoryDisk();
  await start(1, around, { disk });
  await expect(embedded(1, around, { disk })).rejects.toMatchObject({ code: 'DATA_DIR_IN_USE' });
});

test('a stopped node releases its disk and its address', async () => {
  const around = surroundings(chain);
  const given = { disk: new MemoryDisk(), options: { 'p2p-addr': FIRST } };
  const first = await start(1, around, given);
  await first.node.stop();
  await vi.waitFor(() => expect(sockets()).toEqual([]), WAIT);
  const second = await start(1, around, given);
  expect(await peersOf(second.api)).toEqual([]);
});

describe.each(PLATFORMS)('a frozen node on %s', (_name, platform) => {
  test('accepts connections, answers once it is thawed, and does nothing in between', async () => {
    const around = surroundings(chain);
    const node = await start(1, around, { platform: platform() });
    node.platform.freeze();
    // Work in progress has reached its next wait.
    await pause(20);
    const calls = new Map(around.calls);
    let answered = false;
    const answer = fetch(`${node.api}/health`).then((seen) => ((answered = true), seen.status));
    await new Promise<void>((resolve) => {
      const socket = connect(Number(node.api.split(':')[2]), '127.0.0.1', () =>
        resolve(void socket.destroy()),
      );
    });
    await pause(300);
    expect({ answered, calls: around.calls }).toEqual({ answered: false, calls });
    node.platform.thaw();
    expect(await answer).toBe(200);
    await vi.waitFor(() => expect(around.calls).not.toEqual(calls), WAIT);
  });

  test('continues an answer that had begun', async () => {
    const node = await start(1, surroundings(chain), { platform: platform() });
    const bytes = distinct(6_000_000);
    const reference = await upload(node.api, await batchOf(node.api), bytes);
    const answer = await fetch(`${node.api}/bytes/${reference}`);
    node.platform.freeze();
    const read: Uint8Array[] = [];
    const all = (async () => {
      for await (const part of answer.body as AsyncIterable<Uint8Array>) read.push(part);
    })();
    await pause(300);
    const size = () => read.reduce((sum, part) => sum + part.length, 0);
    expect(size()).toBeLessThan(bytes.length);
    node.platform.thaw();
    await all;
    expect(Buffer.compare(Buffer.concat(read), bytes)).toBe(0);
  });

  test('keeps its peers, which wait for it', async () => {
    const { a, b } = await pair(surroundings(chain), { platform: platform() });
    const [peer] = await peersOf(a.api);
    b.platform.freeze();
    let pinged = false;
    const ping = fetch(`${a.api}/pingpong/${peer}`, { method: 'POST' }).then(
      (seen) => ((pinged = true), seen.status),
    );
    await pause(200);
    expect(pinged).toBe(false);
    b.platform.thaw();
    expect(await ping).toBe(200);
    expect(await peersOf(a.api)).toEqual([peer]);
  });

  test('can be cut off', async () => {
    const { a, b } = await pair(surroundings(chain), { platform: platform() });
    b.platform.freeze();
    const answer = fetch(`${b.api}/health`).catch(() => 'cut off');
    await pause(20);
    await Promise.all([a.platform.cut(), b.platform.cut()]);
    expect(await answer).toBe('cut off');
    await vi.waitFor(() => expect(sockets()).toEqual([]), WAIT);
  });
});

describe('an uncaught error of a node', () => {
  test('in a timer ends only that node', async () => {
    const around = surroundings(chain);
    const { a, b } = await pair(around);
    const error = new Error('a fault in a timer');
    b.platform.clock.timer(1, () => {
      throw error;
    });
    await vi.waitFor(() => expect(b.crashes).toEqual([error]), WAIT);
    expect([a.platform.state, b.platform.state]).toEqual(['on', 'off']);
    await expect(fetch(`${b.api}/health`)).rejects.toThrow();
    await vi.waitFor(async () => expect(await peersOf(a.api)).toEqual([]), WAIT);
  });

  test('in the answer to a peer ends only that node', async () => {
    const around = surroundings(chain);
    const a = await start(1, around, { options: { 'p2p-addr': FIRST } });
    const error = new Error('a fault in the clock');
    const clock = systemClock();
    let faulty = false;
    const faulted = <T>(value: T): T => {
      if (faulty) throw error;
      return value;
    };
    const b = await start(2, around, {
      options: { bootnode: UNDERLAY },
      platform: { clock: { ...clock, monotonic: () => faulted(clock.monotonic()) } },
    });
    faulty = true;
    void fetch(`${b.api}/health`).catch(() => 'cut off');
    await vi.waitFor(() => expect(b.crashes).toEqual([error]), WAIT);
    expect([a.platform.state, a.crashes]).toEqual(['on', []]);
  });

  test('in an unobserved promise ends only that node, where crashes are contained', async () => {
    const program = join(import.meta.dirname, 'contained-process.ts');
    const { stdout } = await promisify(execFile)(process.execPath, [program]);
    expect(JSON.parse(stdout)).toEqual({ crashes: ['of a promise', 'of an event'], other: 200 });
  });
});

test('a node reads every limit that its platform may give it', async () => {
  const read = new Set<string>();
  const limits = new Proxy({}, { get: (_, name) => void read.add(String(name)) });
  await start(1, surroundings(chain), { platform: { limits } });
  const given = Object.values(KNOBS).flatMap(({ limit = [] }) => limit);
  expect([...read].toSorted()).toEqual(given.toSorted());
});

describe('two nodes of one process', () => {
  const get = async (api: string, path: string) => (await fetch(`${api}${path}`)).text();

  test('have their own log levels', async () => {
    const around = surroundings(chain);
    const [a, b] = [await start(1, around), await start(2, around)];
    const before = await get(b.api, '/loggers');
    const all = Buffer.from('.*').toString('base64');
    expect((await fetch(`${a.api}/loggers/${all}/none`, { method: 'PUT' })).status).toBe(200);
    expect(await get(a.api, '/loggers')).not.toBe(before);
    expect(await get(b.api, '/loggers')).toBe(before);
  });

  test('have their own metrics and tags', async () => {
    const around = surroundings(chain);
    const [a, b] = [await start(1, around), await start(2, around)];
    for (let i = 0; i < 5; i++) await fetch(`${a.api}/tags`, { method: 'POST' });
    const requests = (text: string) => Number(/^svc_api_request_count (\d+)/m.exec(text)?.[1]);
    expect(requests(await get(a.api, '/metrics'))).toBe(6);
    expect(requests(await get(b.api, '/metrics'))).toBe(1);
    expect(JSON.parse(await get(b.api, '/tags'))).toEqual({ tags: [] });
    expect(await get(a.api, '/metrics')).not.toMatch(/^(process|nodejs)_/m);
  });

  test('have their own clocks, in the log and in answers', async () => {
    const around = surroundings(chain);
    const at = (ms: number) => ({ platform: { clock: { ...systemClock(), now: () => ms } } });
    const a = await start(1, around, at(Date.UTC(2030, 0, 1)));
    const b = await start(2, around, at(Date.UTC(2031, 0, 1)));
    const years = async ({ api, lines }: EmbeddedNode) => [
      (await fetch(`${api}/health`)).headers.get('date')?.slice(12, 16),
      (JSON.parse(lines.at(-1) ?? '') as { time: string }).time.slice(0, 4),
    ];
    expect([await years(a), await years(b)]).toEqual([
      ['2030', '2030'],
      ['2031', '2031'],
    ]);
    for (const { platform } of [a, b]) for (let i = 0; i < 1000; i++) platform.clock.nowNs();
    const aheadNs = [a, b].map(
      ({ platform }) => platform.clock.nowNs() - BigInt(platform.clock.now()) * 1_000_000n,
    );
    for (const ns of aheadNs) expect(ns).toBeLessThan(1100n);
  });
});
