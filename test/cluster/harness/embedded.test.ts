import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import secp256k1 from 'secp256k1';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { isAlive, labelled, type ProcessId, processOf } from '../../../harness/base/machine/processes.ts';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import type { Incident } from '../../../harness/cluster/nodes/membership.ts';
import { readRecord } from '../../../harness/cluster/state/state.ts';
import { until } from '../../../harness/scenario.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { startSvcnet } from '../svcnet.ts';

const LIBRARY = join(import.meta.dirname, '../../../harness/index.ts');
const WATCHDOG = join(import.meta.dirname, '../../../harness/places/embedded/watchdog.ts');
const WAIT = { timeoutMs: 120_000 };
const stateDir = temporaryFolder('svcnet-embedded');

function clusters(): string[] {
  const folder = join(stateDir, 'clusters');
  return existsSync(folder) ? readdirSync(folder) : [];
}

function processesOf(name: string): ProcessId[] {
  return labelled(readRecord(stateDir, name)?.token ?? 'no such cluster');
}

const svcnet = (...args: string[]) => startSvcnet(args, { stateDir }).finished;

async function listens(url: string): Promise<boolean> {
  const { port, hostname } = new URL(url);
  const socket = connect({ port: Number(port), host: hostname });
  try {
    return await new Promise((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    });
  } finally {
    socket.destroy();
  }
}

async function errorsOf(program: string): Promise<string> {
  const file = join(temporaryFolder('svcnet-loop'), 'loop.mts');
  writeFileSync(file, program);
  const child = spawn(process.execPath, [file], { stdio: ['ignore', 'ignore', 'pipe'] });
  let stderr = '';
  child.stderr.on('data', (part: Buffer) => (stderr += part.toString()));
  const [code] = (await once(child, 'close')) as [number];
  expect(code).toBe(0);
  return stderr;
}

describe('a cluster in this process', () => {
  let net: Cluster;
  beforeAll(async () => {
    net = await Cluster.start({ nodes: 3, seed: 5, driver: 'embedded', name: 'here', stateDir });
  });
  afterAll(() => net.stop());

  test('has no processes except those of its chain', () => {
    expect(net.nodes.map(({ pid }) => pid)).toEqual([process.pid, process.pid, process.pid]);
    // The chain, Anvil and the shell that guards it.
    expect(processesOf('here')).toHaveLength(3);
  });

  test('has the identities that follow from the seed, like one of processes', async () => {
    await using processes = await Cluster.start({ nodes: 3, seed: 5, stateDir });
    const facts = (one: Cluster) =>
      one.nodes.map(({ overlay, ethereum, batch }) => ({ overlay, ethereum, batch }));
    expect(facts(net)).toEqual(facts(processes));
    const peerIds = (one: Cluster) => one.nodes.map(({ p2p }) => p2p.split('/').at(-1));
    expect(peerIds(net)).toEqual(peerIds(processes));
  });

  test('replicates an upload to the other nodes', async () => {
    const data = randomBytes(300_000);
    const { reference } = await net.node(0).bytes.upload(data);
    await net.synced(reference);
    expect(Buffer.compare(await net.node(2).bytes.download(reference), data)).toBe(0);
  });

  test('keeps what a node has acknowledged when that node is killed', async () => {
    const node = net.node(1);
    const data = randomBytes(50_000);
    const { reference } = await node.bytes.upload(data, { pin: true });
    await node.kill();
    expect([node.state, await listens(node.api)]).toEqual(['killed', false]);
    await net.meshed();
    await node.start();
    expect(await node.pins.list()).toContain(reference);
    expect(Buffer.compare(await node.bytes.download(reference), data)).toBe(0);
    await net.meshed();
  });

  test('a paused node accepts and does not answer, until it is resumed', async () => {
    const node = net.node(1);
    await node.pause();
    expect(node.state).toBe('paused');
    const silent: unknown = await node.client
      .health(AbortSignal.timeout(200))
      .catch((error: unknown) => error);
    expect(silent).toMatchObject({ class: 'client.timeout' });
    await node.resume();
    expect((await node.client.health()).status).toBe('ok');
  });

  test('can be inspected and changed by other processes', async () => {
    const { stdout } = await svcnet('ps', '--name', 'here', '--json');
    expect((JSON.parse(stdout) as { nodes: { pid: number }[] }).nodes.map(({ pid }) => pid)).toEqual([
      process.pid,
      process.pid,
      process.pid,
    ]);
    const incidents: Incident[] = [];
    const forget = net.membership.onIncident((incident) => incidents.push(incident));
    expect((await svcnet('kill', 'node-2', '--name', 'here')).code).toBe(0);
    await until(
      'nobody has noticed',
      async () => (incidents.length > 0 ? { done: true } : { missing: net.node(2).state }),
      WAIT,
    );
    forget();
    expect(incidents).toEqual([expect.objectContaining({ part: 'node-2', what: 'died', how: 'SIGKILL' })]);
    await net.node(2).start();
  });

  test('reports why a node cannot start, and keeps the others running', async () => {
    const node = net.node(1);
    await node.kill();
    const file = join(node.dataDir, 'node.json');
    const document = readFileSync(file, 'utf8');
    writeFileSync(file, document.replace(/"swap-endpoint": ".*"/, '"swap-endpoint": "nowhere"'));
    const error: unknown = await node.start().catch((cause: unknown) => cause);
    expect(error).toMatchObject({
      code: 'PROCESS_FAILED',
      message: expect.stringContaining('node-1 has ended') as string,
      hint: expect.stringContaining('nowhere') as string,
    });
    expect((await net.node(0).client.health()).status).toBe('ok');
    writeFileSync(file, document);
    await node.start();
    await net.meshed();
  });

  test('refuses calls without its token', async () => {
    const { port } = JSON.parse(readFileSync(join(net.folder, 'holder.json'), 'utf8')) as { port: number };
    for (const headers of [{}, { Authorization: 'Bearer guessed' }]) {
      const answer = await fetch(`http://127.0.0.1:${port}/kill`, {
        method: 'POST',
        headers,
        body: '["node-0",1]',
      });
      expect(answer.status).toBe(401);
    }
    expect((await net.node(0).observe()).state).toBe('running');
  });
});

test('a process that computes without end is reported although nothing in it can run', async () => {
  const program = `
    import { watchLoop } from ${JSON.stringify(WATCHDOG)};
    watchLoop('busy', 300);
    setTimeout(() => { while (process.cpuUsage().user < 2_000_000) for (let i = 0; i < 1e7; i++); }, 500);`;
  const stderr = await errorsOf(program);
  expect(stderr.match(/which holds the nodes of cluster 'busy', has computed for 0\.3 s/g)).toHaveLength(1);
});

test('a process that gets no processor time is not reported as one that computes', async () => {
  const program = `
    import { watchLoop } from ${JSON.stringify(WATCHDOG)};
    watchLoop('starved', 300);
    setTimeout(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500), 500);`;
  expect(await errorsOf(program)).toBe('');
});

test('what is asked of a cluster that has been stopped says so', async () => {
  const net = await Cluster.start({ nodes: 1, driver: 'embedded', batches: false, stateDir });
  await net.stop();
  const gone = expect.objectContaining({
    code: 'CLUSTER_GONE',
    message: `cluster '${net.name}' has been removed`,
  }) as Error;
  await expect(net.add()).rejects.toThrow(gone);
  await expect(net.node(0).kill()).rejects.toThrow(gone);
  await expect(net.chain.mine(1)).rejects.toThrow('this client is closed: its cluster has been stopped');
  await expect(net.node(0).client.readiness()).rejects.toThrow('this client is closed');
});

test('an embedded node keeps its data on disk when configured to', async () => {
  await using net = await Cluster.start({
    nodes: 1,
    driver: 'embedded',
    store: 'disk',
    batches: false,
    stateDir,
  });
  expect(readdirSync(join(net.node(0).dataDir, 'store'))).toContain('index.mdb');
});

test.each([true, false])('embedded nodes share results of pure functions: %s', async (shareResults) => {
  const recovered = vi.spyOn(secp256k1, 'ecdsaRecover');
  try {
    await using net = await Cluster.start({ nodes: 3, driver: 'embedded', shareResults, stateDir });
    const content = randomBytes(40_000);
    const { reference } = await net.node(0).bytes.upload(content);
    expect(Buffer.compare(await net.node(2).bytes.download(reference), content)).toBe(0);
    // This process signs everything except transactions and the first address records.
    if (shareResults) expect(recovered.mock.calls.length).toBeLessThanOrEqual(net.nodes.length);
    else expect(recovered.mock.calls.length).toBeGreaterThan(net.nodes.length);
  } finally {
    recovered.mockRestore();
  }
});

describe('nodes held in the background', () => {
  interface Up {
    readonly nodes: readonly { readonly api: string; readonly pid: number }[];
  }

  async function up(name: string): Promise<Up> {
    const { stdout } = await svcnet(
      'up',
      '-n',
      '2',
      '--driver',
      'embedded',
      '--name',
      name,
      '--no-batches',
      '--json',
    );
    return JSON.parse(stdout) as Up;
  }

  test('are ended along with a process that no longer answers, and are shown as paused until then', async () => {
    const { nodes } = await up('stopped');
    process.kill(nodes[0]?.pid ?? 0, 'SIGSTOP');
    const { stdout } = await svcnet('ps', '--name', 'stopped', '--json');
    expect(stdout).toContain('"name": "node-1"');
    const called = performance.now();
    const { code } = await svcnet('down', '--name', 'stopped');
    expect(performance.now() - called).toBeLessThan(15_000);
    expect([code, clusters().includes('stopped'), processesOf('stopped')]).toEqual([0, false, []]);
    for (const { api } of nodes) expect(await listens(api)).toBe(false);
  });

  test('can be started again in another process when theirs was killed', async () => {
    const { nodes } = await up('again');
    process.kill(nodes[0]?.pid ?? 0, 'SIGKILL');
    for (const node of ['node-0', 'node-1']) {
      expect((await svcnet('start', node, '--name', 'again')).code).toBe(0);
    }
    const status = async () =>
      JSON.parse((await svcnet('status', '--name', 'again', '--json')).stdout) as object;
    await expect.poll(status).toMatchObject({ problems: [], nodes: [{ peers: 1 }, { peers: 1 }] });
    expect((await svcnet('down', '--name', 'again')).code).toBe(0);
  });
});

describe.each(['process', 'embedded'] as const)('after kill -9 of the starter (%s)', (driver) => {
  /** Watches a second cluster, started beside the test's own. */
  async function untouched(work: () => Promise<void>): Promise<void> {
    await using beside = await Cluster.start({
      nodes: 1,
      driver,
      batches: false,
      name: `beside-${driver}`,
      stateDir,
    });
    const before = processesOf(beside.name);
    await work();
    expect(processesOf(beside.name)).toEqual(before);
    expect((await beside.node(0).client.health()).status).toBe('ok');
  }

  async function allGone(processes: readonly ProcessId[]): Promise<void> {
    await until(
      'processes are left',
      async () => {
        const left = processes.filter(isAlive);
        return left.length === 0 ? { done: true } : { missing: JSON.stringify(left) };
      },
      WAIT,
    );
  }

  test('a cluster of a library ends with it, and the next start removes its folder', async () => {
    await untouched(async () => {
      const name = `doomed-${driver}`;
      const file = join(stateDir, `${name}.mts`);
      writeFileSync(
        file,
        `import { Cluster } from ${JSON.stringify(LIBRARY)};
         const net = await Cluster.start({ nodes: 2, driver: '${driver}', name: '${name}', stateDir: ${JSON.stringify(stateDir)} });
         console.log(JSON.stringify(net.nodes.map(({ api }) => api)));
         setInterval(() => {}, 1000);`,
      );
      const program = spawn(process.execPath, [file], { stdio: ['ignore', 'pipe', 'inherit'] });
      const [line] = (await once(program.stdout, 'data')) as [Buffer];
      const processes = processesOf(name);
      program.kill('SIGKILL');
      // The chain may end a moment earlier.
      await once(program, 'exit');
      await allGone(processes);
      for (const api of JSON.parse(line.toString()) as string[]) expect(await listens(api)).toBe(false);
      expect(clusters()).toContain(name);
      await using _next = await Cluster.start({ nodes: 1, driver, batches: false, stateDir });
      expect(clusters()).not.toContain(name);
    });
  });

  test('down removes a start that was killed half-way, which no record describes completely', async () => {
    await untouched(async () => {
      const name = `half-${driver}`;
      const starting = startSvcnet(['up', '-n', '3', '--driver', driver, '--name', name], { stateDir });
      await until(
        'nothing has been started',
        async () => (processesOf(name).length >= 3 ? { done: true } : { missing: 'no process' }),
        WAIT,
      );
      starting.child.kill('SIGKILL');
      const processes = processesOf(name);
      expect(processes.length).toBeGreaterThan(0);
      const { code } = await svcnet('down', '--name', name);
      expect([code, clusters().includes(name), processesOf(name)]).toEqual([0, false, []]);
      await allGone(processes);
    });
  });

  test('down removes a cluster whose processes were all killed', async () => {
    await untouched(async () => {
      const name = `killed-${driver}`;
      const { stdout } = await svcnet(
        'up',
        '-n',
        '2',
        '--driver',
        driver,
        '--name',
        name,
        '--no-batches',
        '--json',
      );
      const { nodes } = JSON.parse(stdout) as { nodes: { api: string; pid: number }[] };
      const first = processOf(nodes[0]?.pid ?? 0);
      process.kill(first?.pid ?? 0, 'SIGKILL');
      const [chain] = processesOf(name).filter(({ pid }) => commandLine(pid).includes('/chain/options.json'));
      process.kill(chain?.pid ?? 0, 'SIGKILL');
      const { code } = await svcnet('down', '--name', name);
      expect([code, clusters().includes(name), processesOf(name)]).toEqual([0, false, []]);
      for (const { api } of nodes) expect(await listens(api)).toBe(false);
      expect((await svcnet('down', '--name', name)).code).toBe(0);
    });
  });
});

function commandLine(pid: number): string {
  return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
}
