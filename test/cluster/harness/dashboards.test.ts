import type { ChildProcess } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { isAlive, type ProcessId } from '../../../harness/base/machine/processes.ts';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import { readRecord, writeRecord } from '../../../harness/cluster/state/state.ts';
import { readRunning } from '../../../harness/metrics/dashboards/running.ts';
import { planScenarios, runScenarios } from '../../../harness/run/runner.ts';
import { defineScenario } from '../../../harness/run/scenario.ts';
import { until } from '../../../harness/scenario.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { type Started, startSvcnet } from '../svcnet.ts';

const WITHIN = { timeoutMs: 60_000 };
const NO_ENGINE = 'tcp://127.0.0.1:1';

const folder = temporaryFolder('svcnet-dashboards');
const stateDir = join(folder, 'state');
const bin = join(folder, 'bin');
const prometheus = join(bin, 'prometheus');
const grafana = join(folder, 'grafana', 'bin', 'grafana');
let net: Cluster;
const children: ChildProcess[] = [];

/** Ends at once when asked to. */
const PROGRAM = `
import { createServer } from 'node:http';
const given = process.argv.find((each) => each.startsWith('--web.listen-address='));
const port = Number(given?.split(':').at(-1) ?? process.env.GF_SERVER_HTTP_PORT);
if (process.argv.join().includes('/broken/')) { console.log('no room on the moon'); process.exit(1); }
createServer((request, response) => {
  if (request.url === '/end') { console.log('the last words'); process.exit(3); }
  response.end();
}).listen(port, '127.0.0.1');
`;

beforeAll(async () => {
  const program = join(folder, 'program.mjs');
  writeFileSync(program, PROGRAM);
  mkdirSync(bin);
  mkdirSync(join(grafana, '..'), { recursive: true });
  mkdirSync(join(folder, 'grafana', 'public'));
  for (const path of [prometheus, grafana]) {
    writeFileSync(path, `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`);
    chmodSync(path, 0o755);
  }
  net = await Cluster.start({ name: 'net', nodes: 2, seed: 7, driver: 'embedded', stateDir });
});

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

afterAll(() => net.stop());

function svcnet(args: readonly string[], env: Readonly<Record<string, string>> = {}): Started {
  const command = startSvcnet(['dashboards', ...args], {
    stateDir,
    env: { DOCKER_HOST: NO_ENGINE, PATH: bin, ...env },
  });
  children.push(command.child);
  return command;
}

interface Document {
  readonly servers: readonly { readonly name: string; readonly url: string; readonly source: string }[];
}

async function running(...args: string[]): Promise<Started & { document: Document; processes: ProcessId[] }> {
  const command = svcnet(['--json', '--port', '0', '--grafana-port', '0', ...args]);
  await until(
    'it does not say where its servers are',
    () => {
      if (command.child.exitCode !== null) throw new Error(command.output.stderr);
      return Promise.resolve(
        command.output.stdout.endsWith('}\n') ? { done: undefined } : { missing: command.output.stdout },
      );
    },
    WITHIN,
  );
  const processes = (readRunning(net.folder)?.servers ?? []).map(({ process }) => process as ProcessId);
  return { ...command, document: JSON.parse(command.output.stdout) as Document, processes };
}

const targets = () =>
  JSON.parse(readFileSync(join(net.folder, 'dashboards/prometheus/targets/nodes.json'), 'utf8')) as {
    labels: { node: string };
  }[];

function addressIn(file: string): string {
  const [first] = JSON.parse(readFileSync(file, 'utf8')) as { targets: string[] }[];
  return first?.targets[0] ?? '';
}

test('both servers answer, every node is a target, and an interruption removes everything but the data', async () => {
  const { child, finished, document, processes } = await running('--grafana', grafana);
  expect(document.servers).toMatchObject([
    { name: 'prometheus', source: prometheus },
    { name: 'grafana', source: grafana },
  ]);
  for (const { url } of document.servers) expect((await fetch(url)).status).toBe(200);
  expect(targets().map(({ labels }) => labels.node)).toEqual(['node-0', 'node-1']);
  const own = join(net.folder, 'dashboards/prometheus/targets/testbed-none.json');
  const address = addressIn(own);
  await until(
    'the harness does not say that the nodes are up',
    async () => {
      const text = await (await fetch(`http://${address}/metrics`)).text();
      const up = [...text.matchAll(/^testbed_node_up\{.*\} 1$/gm)].length;
      return up === 2 ? { done: undefined } : { missing: `${up} are` };
    },
    WITHIN,
  );
  child.kill('SIGINT');
  expect((await finished).code).toBe(130);
  expect(processes.map(isAlive)).toEqual([false, false]);
  expect(readRunning(net.folder)).toBeUndefined();
  expect(existsSync(join(net.folder, 'dashboards/prometheus/prometheus.yml'))).toBe(true);
});

test('a second command for the same cluster is refused; --stop ends the first, which says so', async () => {
  const first = await running('--no-grafana');
  const second = svcnet(['--port', '0', '--no-grafana']);
  expect((await second.finished).code).toBe(2);
  expect(second.output.stderr).toContain(
    `started by process ${first.child.pid}: ${first.document.servers[0]?.url}`,
  );
  expect(second.output.stderr).toContain('svcnet dashboards --name net --stop');
  const stop = svcnet(['--stop']);
  expect((await stop.finished).code).toBe(0);
  expect(stop.output.stdout).toContain('stopped Prometheus of net');
  expect((await first.finished).code).toBe(0);
  expect(first.output.stderr).toContain('stopped by another command');
  expect(first.processes.map(isAlive)).toEqual([false]);
  const again = svcnet(['--stop']);
  expect((await again.finished).code).toBe(0);
  expect(again.output.stdout).toContain('no dashboards of net are running');
});

test('the next command replaces what a killed one has left', async () => {
  const killed = await running('--no-grafana');
  killed.child.kill('SIGKILL');
  await killed.finished;
  expect(killed.processes.map(isAlive)).toEqual([true]);
  const next = await running('--no-grafana');
  expect(killed.processes.map(isAlive)).toEqual([false]);
  next.child.kill('SIGTERM');
  await next.finished;
});

test('nodes added later are scraped too', async () => {
  const { child, finished } = await running('--no-grafana');
  const record = readRecord(stateDir, 'net');
  const [node] = record?.nodes ?? [];
  if (record === undefined || node === undefined) throw new Error('the cluster has no record');
  writeRecord(stateDir, { ...record, nodes: [...record.nodes, { ...node, name: 'node-2' }] });
  await until(
    'the new node is no target',
    () => Promise.resolve(targets().length === 3 ? { done: undefined } : { missing: 'it is not' }),
    WITHIN,
  );
  writeRecord(stateDir, record);
  child.kill('SIGINT');
  await finished;
});

test('a run is scraped while it runs, and a last time when its result is known', async () => {
  const { child, finished } = await running('--no-grafana');
  const file = join(net.folder, 'dashboards/prometheus/targets/testbed-a-run.json');
  let url = '';
  const seen: string[] = [];
  const scrape = async () => seen.push(await (await fetch(url)).text());
  const scenario = defineScenario({
    name: 'short',
    group: 'load',
    about: 'Looks for itself among the targets.',
    parameters: {},
    needs: { nodes: 1 },
    cluster: { nodes: 1 },
    timeoutMs: 60_000,
    async run(context) {
      url = `http://${addressIn(file)}/metrics`;
      await scrape();
      context.expect('it is scraped', seen.length === 1, { observed: seen.length, expected: 1 });
    },
  });
  const options = { seed: 1n, stateDir, report: join(folder, 'report'), name: 'a-run', command: 'none' };
  const run = runScenarios({
    ...options,
    planned: planScenarios([scenario], new Map()),
    attachTo: 'net',
    signal: new AbortController().signal,
  });
  await until(
    'the result is not to be had',
    async () => {
      if (url !== '') await scrape();
      return seen.at(-1)?.includes('testbed_scenario_result{')
        ? { done: undefined }
        : { missing: `${seen.length} scrapes without it` };
    },
    WITHIN,
  );
  expect((await run).passed).toBe(true);
  expect(existsSync(file)).toBe(false);
  child.kill('SIGINT');
  await finished;
});

test('a server that ends by itself is an error with its last output', async () => {
  const { document, output, finished } = await running('--no-grafana');
  await expect(fetch(`${document.servers[0]?.url}/end`)).rejects.toThrow();
  expect((await finished).code).toBe(2);
  expect(output.stderr).toContain('Prometheus has ended by itself');
  expect(output.stderr).toContain('the last words');
});

test('a port in use is an error that names the process', async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const command = svcnet(['--port', String(port), '--no-grafana']);
  expect((await command.finished).code).toBe(2);
  expect(command.output.stderr).toContain(`port ${port} of 127.0.0.1 is in use: Prometheus wants it`);
  if (process.platform === 'linux') expect(command.output.stderr).toContain(`process ${process.pid} has it`);
  expect(command.output.stderr).toContain('--port, or 0 for any free port');
  server.close();
});

test('without Prometheus and without Docker the error says how to get it', async () => {
  const command = svcnet(['--json'], { PATH: '/nowhere' });
  expect((await command.finished).code).toBe(2);
  expect(command.output.stderr).toMatch(
    /Prometheus is not on the path, neither --prometheus nor SVCNET_PROMETHEUS names it/,
  );
  expect(command.output.stderr).toContain('apt-get install prometheus');
  expect(JSON.parse(command.output.stdout)).toMatchObject({ error: { code: 'PROGRAM_NOT_FOUND' } });
});

test('starts only Prometheus when Grafana is missing, and says how to get it', async () => {
  const { child, output, finished, document } = await running();
  expect(document.servers.map(({ name }) => name)).toEqual(['prometheus']);
  expect(output.stderr).toContain('without Grafana: Grafana is not on the path');
  expect(output.stderr).toContain('https://grafana.com/grafana/download');
  child.kill('SIGINT');
  await finished;
});

test('removing a cluster ends its dashboards, even those whose command was killed', async () => {
  const other = await Cluster.start({ name: 'other', nodes: 1, seed: 8, driver: 'embedded', stateDir });
  const start = async () => {
    const command = svcnet(['--name', 'other', '--json', '--port', '0', '--no-grafana']);
    await until(
      'it does not run',
      () =>
        Promise.resolve(
          command.output.stdout.endsWith('}\n') ? { done: undefined } : { missing: command.output.stderr },
        ),
      WITHIN,
    );
    const [server] = readRunning(other.folder)?.servers ?? [];
    return { ...command, process: server?.process as ProcessId };
  };
  const killed = await start();
  killed.child.kill('SIGKILL');
  await killed.finished;
  const watching = await start();
  await other.stop();
  expect([killed.process, watching.process].map(isAlive)).toEqual([false, false]);
  expect((await watching.finished).code).toBe(1);
  expect(watching.output.stderr).toContain("cluster 'other' has been removed");
  expect(existsSync(other.folder)).toBe(false);
});

test('without a cluster the error says how to start one', async () => {
  const command = svcnet([], { SVCNET_STATE: join(folder, 'nothing') });
  expect((await command.finished).code).toBe(2);
  expect(command.output.stderr).toContain('no cluster in');
  expect(command.output.stderr).toContain('svcnet up');
});
