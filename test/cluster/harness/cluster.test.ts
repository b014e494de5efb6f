import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HarnessError } from '../../../harness/base/errors.ts';
import { MACHINE_CLOCK } from '../../../harness/base/machine/clock.ts';
import { isAlive, labelled, type ProcessId } from '../../../harness/base/machine/processes.ts';
import { ClientError } from '../../../harness/client/errors.ts';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import { claimCluster } from '../../../harness/cluster/lifecycle/claim.ts';
import { parseDefinition } from '../../../harness/cluster/plan/definition.ts';
import { readRecord, readRun, removeCluster } from '../../../harness/cluster/state/state.ts';
import { LOCAL_DRIVERS } from '../../../harness/places/facts.ts';
import { until } from '../../../harness/scenario.ts';
import { temporaryFolder } from '../../temporary-folder.ts';

const stateDir = temporaryFolder('svcnet-cluster');

function clusters(): string[] {
  const folder = join(stateDir, 'clusters');
  return existsSync(folder) ? readdirSync(folder) : [];
}

async function failure(work: Promise<unknown>): Promise<HarnessError> {
  const error = await work.then(
    () => new Error('it succeeded'),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(HarnessError);
  return error as HarnessError;
}

describe.each(LOCAL_DRIVERS)('a cluster of three nodes on the %s driver', (driver) => {
  let net: Cluster;
  beforeAll(async () => {
    net = await Cluster.start({ driver, nodes: 3, seed: 7, stateDir });
  });
  afterAll(async () => {
    await net.stop();
  });

  test('nodes pay by cheque, each from the chequebook deployed for it', async () => {
    for (const { client } of net.nodes) {
      expect(await client.node()).toMatchObject({ swapEnabled: true, chequebookEnabled: true });
    }
    const deployed = await net.chain.events('SimpleSwapDeployed(address)');
    const addresses = deployed.map(({ data }) => `0x${data.slice(-40)}`);
    const issuers = await Promise.all(addresses.map((address) => net.chain.view(address, 'issuer()')));
    expect(issuers).toEqual(net.nodes.map(({ ethereum }) => BigInt(`0x${ethereum}`)));
    for (const address of addresses) expect(await net.chain.tokenBalance(address)).toBe(5n * 10n ** 17n);
  });

  test('nodes have the identities that follow from the seed', async () => {
    for (const node of net.nodes) {
      const { overlay, ethereum } = await node.client.addresses();
      expect(overlay).toBe(node.overlay);
      expect(ethereum.replace(/^0x/, '').toLowerCase()).toBe(node.ethereum);
    }
  });

  test('every node is connected to all others', async () => {
    expect(await net.meshed()).toEqual({ links: 6, expected: 6 });
  });

  test('every node has its own usable batch', async () => {
    await net.usable();
    for (const node of net.nodes) {
      const stamps = await node.stamps.list();
      expect(stamps.map(({ batchID, usable }) => [batchID, usable])).toEqual([[node.batch, true]]);
    }
  });

  test('an upload is synced and read by another node', async () => {
    const data = randomBytes(100_000);
    const { reference } = await net.node(0).bytes.upload(data);
    const tag = await net.synced(reference);
    expect(tag?.split).toBeGreaterThan(0);
    expect(Buffer.compare(await net.node(2).bytes.download(reference), data)).toBe(0);
  });

  test('an upload is synced also for a cluster attached by another process', async () => {
    const { reference } = await net.node(1).bytes.upload(randomBytes(10_000));
    const attached = await Cluster.attach(net.name, { stateDir });
    expect((await attached.synced(reference))?.address).toBe(reference);
    await attached.detach();
  });

  test('a batch bought later is usable everywhere', async () => {
    const { batchID } = await net.node(0).stamps.buy({ amount: 24_000n * 3600n, depth: 18, label: 'later' });
    await net.usable(batchID);
    const { reference } = await net.node(0).bytes.upload('stamped by another batch', { batch: batchID });
    await net.synced(reference);
  });

  test('a killed node is missing, and comes back with the same identity', async () => {
    const node = net.node('node-2');
    const before = node.pid;
    await node.kill();
    expect(node.state).toBe('killed');
    expect((await failure(node.kill())).code).toBe('NODE_STATE');
    await net.meshed();
    await node.start();
    // Embedded nodes have that of this process.
    expect(node.pid === before).toBe(driver === 'embedded');
    expect((await node.client.addresses()).overlay).toBe(node.overlay);
    expect(await net.meshed()).toEqual({ links: 6, expected: 6 });
  });

  test('a paused node accepts and does not answer, until it is resumed', async () => {
    const node = net.node(1);
    await node.pause();
    const silent = await node.client.health(AbortSignal.timeout(200)).catch((error: unknown) => error);
    expect((silent as ClientError).class).toBe('client.timeout');
    await node.resume();
    expect((await node.client.health()).status).toBe('ok');
  });

  test('a wait for something that no node knows ends at once and names the nodes asked', async () => {
    const startedAt = performance.now();
    const upload = await failure(net.synced('ab'.repeat(32)));
    expect(upload.code).toBe('UPLOAD_UNKNOWN');
    expect(upload.message).toBe('no node has a tag of the upload abababab…: asked node-0, node-1, node-2');
    const batch = await failure(net.usable('cd'.repeat(32)));
    expect(batch.code).toBe('BATCH_UNKNOWN');
    expect(batch.message).toBe('no node owns batch cdcdcdcd…: asked node-0, node-1, node-2');
    for (const wait of [net.synced('abc'), net.usable('xyz'), net.synced({ node: 0, tag: Number.NaN })]) {
      expect((await failure(wait)).code).toBe('ARGUMENT_INVALID');
    }
    expect(performance.now() - startedAt).toBeLessThan(20_000);
  });

  if (driver === 'process') {
    test('a wait says which node could not be asked', async () => {
      const pid = net.node(1).pid as number;
      process.kill(pid, 'SIGSTOP');
      // Before another look sees that the node is paused: it would not be asked then.
      const frozen = await failure(net.synced('ab'.repeat(32), { timeoutMs: 1500 }));
      process.kill(pid, 'SIGCONT');
      expect(frozen.code).toBe('WAIT_TIMEOUT');
      expect(frozen.message).toContain('node-1 could not be asked');
    });
  }

  test('an unknown node is refused with the known ones', () => {
    expect(() => net.node('node-7')).toThrow("no node 'node-7', did you mean 'node-0'?");
  });

  test('the chain can be queried, advanced and paused', async () => {
    const before = await net.chain.height();
    await net.chain.mine(3);
    expect(await net.chain.height()).toBeGreaterThanOrEqual(before + 3);
    await net.chain.pause();
    const stalled = await net.chain.height();
    await net.chain.resume();
    await net.chain.mine();
    expect(await net.chain.height()).toBeGreaterThan(stalled);
  });

  test('an account can be funded', async () => {
    const account = '11'.repeat(20);
    await net.chain.fund(account, { native: 5n, tokens: 7n });
    expect(await net.chain.nativeBalance(account)).toBe(5n);
    expect(await net.chain.tokenBalance(account)).toBe(7n);
  });
});

test('a cluster that is being started cannot be removed', async () => {
  const definition = parseDefinition({ nodes: 1 }, 'options');
  const record = await claimCluster(stateDir, {
    clock: MACHINE_CLOCK,
    name: 'early',
    seed: 1n,
    ephemeral: false,
    definition,
  });
  await expect(Cluster.attach('early', { stateDir })).rejects.toThrow(
    expect.objectContaining({
      message: `cluster 'early' is being started by process ${process.pid}`,
      hint: 'Try again when it has started.',
    }) as Error,
  );
  removeCluster(stateDir, record);
});

test('clusters with the same seed have the same keys, overlays, contracts and batches, side by side', async () => {
  await using first = await Cluster.start({ nodes: 2, seed: 11, stateDir });
  await using second = await Cluster.start({ nodes: 2, seed: 11, stateDir });
  const facts = (net: Cluster) => {
    const { chain, nodes, batches } = net.toJSON();
    return { contracts: chain.contracts, batches, overlays: nodes.map(({ overlay }) => overlay) };
  };
  expect(facts(first)).toEqual(facts(second));
  const ports = [first, second].flatMap((net) => net.nodes.map(({ api }) => api));
  expect(new Set(ports).size).toBe(4);
});

function processesOf(name: string): ProcessId[] {
  return labelled(readRecord(stateDir, name)?.token ?? '');
}

test('stopping leaves no process and no folder', async () => {
  const net = await Cluster.start({ nodes: 1, batches: false, stateDir });
  const processes = processesOf(net.name);
  // A node, the chain, Anvil and the shell that guards it.
  expect(processes).toHaveLength(4);
  await net.stop();
  await net.stop();
  expect(processes.filter(isAlive)).toEqual([]);
  expect(net.nodes.filter(({ state, pid }) => state !== 'stopped' || pid !== undefined)).toEqual([]);
  expect(clusters()).not.toContain(net.name);
});

test('a node that cannot start fails the cluster with its own message, and nothing is left', async () => {
  // Each value is allowed by itself: the node refuses them.
  const options = { 'threshold-growth-linear': 1 };
  const error = await failure(Cluster.start({ nodes: [{ count: 2, options }], name: 'ill', stateDir }));
  expect(error.code).toBe('PROCESS_FAILED');
  expect(error.hint).toContain('threshold-growth-step');
  expect(clusters()).toEqual([]);
  // The other node may have been ended before it said anything.
  const kept = /Logs and state of this start: (.*-ill-.*)$/.exec(error.hint ?? '')?.[1] ?? '';
  const failed = /node-\d/.exec(error.message)?.[0];
  expect(readFileSync(join(kept, 'logs', `${failed}.log`), 'utf8')).toContain('threshold-growth-step');
  expect(error.hint).toContain(join(kept, 'logs'));
});

test.each([
  ['node-1', 'nodes', 'PROCESS_FAILED', 'node-1 has ended (SIGKILL)'],
  // Once the nodes are ready, the start may be over before the process has ended.
  ['chain', 'chain', 'CHAIN_FAILED', 'the chain has ended (SIGKILL)'],
])(
  '%s ends after it was ready: the start fails with that, not with what is missing',
  async (part, readyStep, code, message) => {
    const name = `short-${part}`;
    const start = Cluster.start({
      nodes: 2,
      name,
      stateDir,
      onProgress({ step, done }) {
        if (step !== readyStep || !done) return;
        process.kill(Number(readRun(stateDir, name, part)?.handle['pid']), 'SIGKILL');
      },
    });
    expect(await failure(start)).toMatchObject({ code, message });
    expect(clusters()).toEqual([]);
  },
);

test('a node that ends while others are not ready yet fails the start at once', async () => {
  const name = 'short-wait';
  const signal = (node: string, what: NodeJS.Signals) =>
    process.kill(Number(readRun(stateDir, name, node)?.handle['pid']), what);
  const start = Cluster.start({
    nodes: 2,
    name,
    stateDir,
    onProgress({ detail, missing }) {
      if (detail !== '1 of 2 ready') return;
      const waiting = missing === 'waiting for node-1' ? 'node-1' : 'node-0';
      signal(waiting, 'SIGSTOP');
      signal(waiting === 'node-1' ? 'node-0' : 'node-1', 'SIGKILL');
    },
  });
  expect(await failure(start)).toMatchObject({
    code: 'PROCESS_FAILED',
    message: expect.stringMatching(/^node-[01] has ended \(SIGKILL\)$/) as string,
  });
  expect(clusters()).toEqual([]);
});

test('a start that exceeds its limit says what was missing, and leaves nothing', async () => {
  const error = await failure(Cluster.start({ nodes: 2, timeoutMs: 50, stateDir }));
  expect(error.code).toBe('START_TIMEOUT');
  expect(error.message).toBe('the cluster has not started within 50 ms: chain: anvil, 7 contracts');
  expect(clusters()).toEqual([]);
});

test('an interrupted start leaves nothing', async () => {
  const interruption = new AbortController();
  const start = Cluster.start({
    nodes: 2,
    stateDir,
    signal: interruption.signal,
    onProgress: ({ step }) => {
      if (step === 'nodes') interruption.abort();
    },
  });
  expect((await failure(start)).code).toBe('INTERRUPTED');
  expect(clusters()).toEqual([]);
});

test('a cluster does not outlive its killed program', async () => {
  const file = join(temporaryFolder('svcnet-program'), 'program.mts');
  const library = join(import.meta.dirname, '../../../harness/index.ts');
  writeFileSync(
    file,
    `import { Cluster } from ${JSON.stringify(library)};
     const net = await Cluster.start({ nodes: 2, name: 'doomed', stateDir: ${JSON.stringify(stateDir)} });
     await net.node(1).pause();
     console.log('up');
     setInterval(() => {}, 1000);`,
  );
  const program = spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(program.stdout, 'data');
  const processes = processesOf('doomed');
  expect(processes).toHaveLength(5);
  const gone = once(program, 'exit');
  program.kill('SIGKILL');
  // Its files close before it ends: its nodes may notice that first.
  await gone;
  await until(
    'the cluster is still there',
    () => {
      const left = processes.filter(isAlive);
      return Promise.resolve(
        left.length === 0 ? { done: true } : { missing: `processes ${JSON.stringify(left)}` },
      );
    },
    { timeoutMs: 120_000 },
  );
  await using _next = await Cluster.start({ nodes: 1, batches: false, stateDir });
  expect(clusters()).not.toContain('doomed');
});
