import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { type Clock, systemClock } from '../../../formats/clock.ts';
import { seededRandom } from '../../../formats/random.ts';
import { startNode } from '../../../node/compose.ts';
import { machinePlatform } from '../../../node/platform/machine.ts';
import { memoryNetwork, memoryPlatform } from '../../../node/platform/memory.ts';
import type { Platform } from '../../../node/platform/platform.ts';
import { MemoryDisk } from '../../../node/store/memory-store.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { type NodeChain, startNodeChain } from '../../unit/platform/node-chain.ts';
import { keysOf } from '../../unit/platform/node-keys.ts';
import { nodeOptions } from '../../unit/platform/node-options.ts';
import { batchOf, peersOf } from './embedded-node.ts';
import { type Recorder, recorded } from './recorder.ts';

const SEED = 'same';
const CHUNKS = 70;
const PORT = 16_351;
const PATIENCE = { timeout: 120_000 };
/** A few dozen chunks, then a cheque. */
const OPTIONS = {
  'payment-threshold': '8000000',
  'refresh-rate': '100000',
  'payment-minimum': '100000',
  'payment-retry-pause': '1s',
  'swap-enable': 'true',
  'swap-initial-deposit': '1000000000000',
} as const;

const folder = temporaryFolder('svcnet-same');

/** Timers run on the machine's clock, because sockets do: a `ManualClock` would never fire. */
class StandingTime {
  ms = 1_700_000_000_000;

  clock(): Clock {
    let lastNs = 0n;
    return {
      ...systemClock(),
      now: () => this.ms,
      // What a debtor pays by time must not depend on how busy the machine is.
      monotonic: () => this.ms,
      nowNs: () => {
        const wallNs = BigInt(this.ms) * 1_000_000n;
        lastNs = wallNs > lastNs ? wallNs : lastNs + 1n;
        return lastNs;
      },
    };
  }
}

interface Given extends Pick<Platform, 'clock' | 'random'> {
  readonly n: number;
  readonly chain: NodeChain;
}

type Ground = (given: Given) => Promise<Platform>;

async function onMachine({ n, clock, random, chain }: Given): Promise<Platform> {
  const machine = machinePlatform({ dataDir: join(folder, String(n)), password: '' });
  const keys = async () => keysOf(SEED, n);
  return { ...machine, clock, random, keys, chainEndpoint: () => chain.endpoint() };
}

function inMemory(): Ground {
  const host = memoryNetwork();
  return ({ n, clock, random, chain }) =>
    memoryPlatform({
      keys: keysOf(SEED, n),
      host,
      store: new MemoryDisk(),
      clock,
      random,
      chain: () => chain.endpoint(),
    });
}

async function messagesOn(ground: Ground): Promise<string[]> {
  const time = new StandingTime();
  const recorder: Recorder = { messages: [], open: 0 };
  await using parts = new AsyncDisposableStack();
  const chain = parts.use(await startNodeChain({ seed: SEED, clock: time.clock() }));
  const given = (n: number) => ({ n, chain, clock: time.clock(), random: seededRandom(`same ${n}`) });
  const { chequebookFactory: factory, swapPriceOracle: oracle } = chain.contracts;
  const contracts = { 'swap-factory-address': factory, 'price-oracle-address': oracle };
  const start = async (platform: Platform, more: Record<string, string>) => {
    const options = nodeOptions(chain.contracts, { ...OPTIONS, ...contracts, verbosity: 'silent', ...more });
    const node = await startNode(options, platform, new AbortController().signal);
    parts.defer(() => node.stop());
    return `http://${node.addresses.main}`;
  };
  const storer = await start(await ground(given(1)), { 'p2p-addr': `127.0.0.1:${PORT}` });
  const bootnode = `/ip4/127.0.0.1/tcp/${PORT}`;
  const api = await start(recorded(await ground(given(2)), recorder), { bootnode });
  for (const one of [api, storer])
    await vi.waitFor(async () => expect(await peersOf(one)).toHaveLength(1), PATIENCE);
  const batch = await batchOf(api);
  // Otherwise it refuses the stamps.
  await vi.waitFor(
    async () => expect(await (await fetch(`${storer}/batches`)).text()).toContain(batch),
    PATIENCE,
  );
  for (let n = 0; n < CHUNKS; n++) {
    time.ms += 1;
    await pushed(api, batch, n);
    await atRest(recorder);
  }
  return recorder.messages.filter((line) => /^\/swarm\/(pushsync|swap)\//.test(line));
}

async function pushed(api: string, batch: string, n: number): Promise<void> {
  const body = Buffer.concat([Buffer.from([8, 0, 0, 0, 0, 0, 0, 0]), Buffer.alloc(8, n)]);
  const headers = {
    'svc-postage-batch-id': batch,
    'svc-deferred-upload': 'false',
    'content-type': 'application/octet-stream',
  };
  const answer = await fetch(`${api}/chunks`, { method: 'POST', headers, body });
  expect([answer.status, await answer.text()]).toEqual([201, expect.any(String)]);
}

/** What a receipt brings about, such as a cheque. */
async function atRest(recorder: Recorder): Promise<void> {
  for (let quiet = 0; quiet < 3; quiet++) {
    await pause(1);
    if (recorder.open > 0) quiet = -1;
  }
}

test('a node in memory and one on the machine make the same chunks, stamps, receipts and cheques', async () => {
  const onDisk = await messagesOn(onMachine);
  const memory = await messagesOn(inMemory());
  const count = (kind: RegExp) => onDisk.filter((line) => kind.test(line)).length;
  expect(count(/pushsync sent .*"stamp":"[0-9a-f]{226}"/)).toBe(CHUNKS);
  expect(count(/pushsync received .*"signature":"[0-9a-f]{130}"/)).toBe(CHUNKS);
  expect(count(/swap sent .*"cheque":"[0-9a-f]+"/)).toBeGreaterThanOrEqual(1);
  expect(memory).toEqual(onDisk);
});
