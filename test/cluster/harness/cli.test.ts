import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { killProcess, labelled } from '../../../harness/base/machine/processes.ts';
import { Cluster } from '../../../harness/cluster/cluster.ts';
import type { ClusterDocument } from '../../../harness/cluster/cluster-document.ts';
import { type ClusterRecord, readRecord } from '../../../harness/cluster/state/state.ts';
import type { FailureDocument } from '../../../harness/commands/failure.ts';
import { until } from '../../../harness/scenario.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { startSvcnet, svcnetHere } from '../svcnet.ts';

const folder = temporaryFolder('svcnet-cli');

const state = { stateDir: join(folder, 'state') };
const start = (args: readonly string[]) => startSvcnet(args, state);
const svcnet = (...args: string[]) => svcnetHere(args, state);

/** The document of `logs --json`. */
interface Logs {
  readonly logs: readonly { readonly node: string; readonly lines: readonly unknown[] }[];
}

function clusters(): string[] {
  const path = join(folder, 'state', 'clusters');
  return existsSync(path) ? readdirSync(path) : [];
}

test.each([
  'up',
  'validate',
  'init',
  'schema',
  'ps',
  'status',
  'logs',
  'env',
  'keys',
  'stop',
  'start',
  'kill',
  'pause',
  'resume',
  'stamp',
  'mine',
  'fund',
  'run',
  'load',
  'down',
])('%s prints its help', async (command) => {
  const { code, stdout, stderr } = await svcnet(command, '--help');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toContain(`Usage: svcnet ${command}`);
  expect(stdout).toContain('--json');
  expect(stdout.replaceAll(/\s+/g, ' ')).not.toMatch(/\(default: [^)]*\) \(default|\(default: \[\]/);
});

test.each([
  ['an unknown command', ['stauts'], "unknown command 'stauts'"],
  ['an unknown flag', ['up', '--drivr', 'process'], 'Did you mean --driver?'],
  [
    'a word that is not allowed',
    ['up', '--profile', 'fats'],
    "Expected one of fast, production, did you mean 'fast'?",
  ],
  ['a number out of range', ['up', '-n', '201'], 'nodes: got 201 in all groups, expected at most 200'],
  ['no node at all', ['up', '-n', '0'], '--nodes 0 leaves no nodes; add some with --with'],
  [
    'an unknown flavour',
    ['up', '--with', 'be=1'],
    "got 'be', expected one of svc, bee, dishonest, or the name in a flavour file that --flavour gives, did you mean 'bee'?",
  ],
  [
    'a program without its nodes',
    ['up', '--bee-binary', './bee'],
    '--bee-binary: the cluster has no Bee; add some with --with bee=2',
  ],
  ['a word for credit', ['up', '--credit', 'lo'], "Expected one of high, network, low, did you mean 'low'?"],
  [
    'an account that is none',
    ['fund', '0x12'],
    "account: got '0x12', expected a node or an address of 40 hex digits",
  ],
  [
    'an amount that is none',
    ['fund', 'node-0', '--tokens', '-4'],
    "--tokens: got '-4', expected a number from 0 with at most 16 decimals, such as 1.5",
  ],
  [
    'a name that cannot be one',
    ['up', '--name', 'A b'],
    "name: got 'A b', expected at most 40 lower-case letters",
  ],
  [
    'a node that the cluster will not have',
    ['run', 'smoke', '--set', 'node=node-7'],
    "--set: smoke: node: got 'node-7', expected one of node-0, node-1, node-2, node-3, node-4, did you mean 'node-0'?",
  ],
  [
    'a start that takes too long',
    ['up', '-n', '2', '--timeout', '50ms'],
    'the cluster has not started within 50 ms: chain: anvil, 7 contracts',
  ],
  [
    'a limit without a unit',
    ['up', '--timeout', '90'],
    'Expected a duration such as 500ms, 15s or 1m30s, at most 24d.',
  ],
  [
    'a flag for a fresh cluster on a running one',
    ['run', 'smoke', '--name', 'local', '--credit', 'low', '-n', '3'],
    '--nodes and --credit: only for a fresh cluster, but --name local is already running',
  ],
  [
    'one cluster to keep of several runs',
    ['run', 'smoke', '--keep', '--repeat', '2'],
    '--keep leaves one cluster running and cannot be combined with --repeat',
  ],
  [
    'more seeds than there are',
    ['run', 'smoke', '--seed', '18446744073709551615', '--repeat', '2'],
    '--repeat: got 2 from seed 18446744073709551615, expected the last seed to be below 2^64',
  ],
  ['a missing file to check', ['validate', 'nowhere.yaml'], "file: no file 'nowhere.yaml'"],
  ['a missing file', ['up', '-f', 'nowhere.yaml'], "--file: no file 'nowhere.yaml'"],
  ['a cluster that is not there', ['ps', '--name', 'none'], 'no cluster in'],
])('%s ends with code 2 and says what is wrong', async (_what, args, words) => {
  const { code, stdout, stderr } = await svcnet(...args);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain(words);
});

test.each([[[]], [['--name', 'none']]])(
  'down %j without a cluster succeeds with nothing to remove',
  async (flags) => {
    const ended = await svcnet('down', ...flags);
    expect([ended.code, ended.stdout]).toEqual([0, expect.stringContaining('nothing to remove: no cluster')]);
    const { code, stdout } = await svcnet('down', ...flags, '--json');
    expect([code, JSON.parse(stdout)]).toEqual([
      0,
      { clusters: [], durationMs: expect.any(Number) as number },
    ]);
  },
);

test.each([
  ['up', ['up', '-f', 'nowhere.yaml'], 'DEFINITION_INVALID', "--file: no file 'nowhere.yaml'"],
  ['up with a wrong flag', ['up', '--drivr', 'process'], 'USAGE', "unknown option '--drivr'"],
  ['ps', ['ps', '--name', 'none'], 'CLUSTER_NOT_FOUND', 'no cluster in'],
  ['status', ['status'], 'CLUSTER_NOT_FOUND', 'no cluster in'],
  ['status in a loop', ['status', '--watch'], 'CLUSTER_NOT_FOUND', 'no cluster in'],
  ['logs', ['logs', 'node-0'], 'CLUSTER_NOT_FOUND', 'no cluster in'],
  ['stop without its argument', ['stop'], 'USAGE', "missing required argument 'node'"],
  ['env', ['env'], 'CLUSTER_NOT_FOUND', 'no cluster in'],
  ['stop', ['stop', 'node-0'], 'CLUSTER_NOT_FOUND', 'no cluster in'],
  ['start', ['start', 'node-0'], 'CLUSTER_NOT_FOUND', 'no cluster in'],
  ['kill', ['kill', 'node-0'], 'CLUSTER_NOT_FOUND', 'no cluster in'],
  ['pause', ['pause', 'node-0'], 'CLUSTER_NOT_FOUND', 'no cluster in'],
  ['resume', ['resume', 'node-0'], 'CLUSTER_NOT_FOUND', 'no cluster in'],
  ['stamp', ['stamp'], 'CLUSTER_NOT_FOUND', 'no cluster in'],
  ['fund', ['fund', 'node-0'], 'CLUSTER_NOT_FOUND', 'no cluster in'],
  ['run', ['run', 'smok'], 'USAGE', "no scenario 'smok', did you mean 'smoke'?"],
  ['down', ['down', '--nmae', 'none'], 'USAGE', "unknown option '--nmae'"],
  ['an unknown command', ['stauts'], 'USAGE', "unknown command 'stauts'"],
])('%s prints a failure as one document with --json', async (_what, args, code, words) => {
  const failed = await svcnet(...args, '--json');
  expect(failed.code).toBe(2);
  const document = JSON.parse(failed.stdout) as FailureDocument;
  expect(document).toEqual({
    error: {
      code,
      message: expect.stringContaining(words) as string,
      hint: document.error.hint === null ? null : (expect.any(String) as string),
    },
  });
  expect(failed.stderr).toContain(words);
});

test.each([
  ['ps', ['ps'], { clusters: [] }, 'no clusters; start one with: svcnet up'],
  ['down', ['down'], { clusters: [] }, 'nothing to remove'],
  ['down --all', ['down', '--all'], { clusters: [] }, 'nothing to remove'],
])('%s without a cluster is not an error, with --json and without', async (_what, args, shape, words) => {
  const [people, programs] = await Promise.all([svcnet(...args), svcnet(...args, '--json')]);
  expect([people.code, programs.code]).toEqual([0, 0]);
  expect(people.stdout).toContain(words);
  expect(JSON.parse(programs.stdout)).toMatchObject(shape);
});

test.each([
  ['its help', ['env', '--help'], 0],
  ['wrong usage', ['up', '--drivr', 'process'], 2],
  ['wrong usage as a document', ['up', '--drivr', 'process', '--json'], 2],
  ['a failure', ['ps', '--name', 'none'], 2],
  ['a failure as a document', ['env', '--json'], 2],
])('a process ends and prints as a command does here: %s', async (_what, args, code) => {
  const [ended, told] = await Promise.all([start(args).finished, svcnet(...args)]);
  expect(ended).toEqual(told);
  expect(ended.code).toBe(code);
});

test('a mistake in a cluster file is reported by file and key, before anything starts', async () => {
  const file = join(folder, 'cluster.yaml');
  writeFileSync(file, 'nodes: 2\nsead: 4\n');
  const { code, stderr } = await svcnet('up', '-f', file);
  expect(code).toBe(2);
  expect(stderr).toContain(`${file}: unknown key 'sead', did you mean 'seed'?`);
  expect(clusters()).toEqual([]);
});

test('the version is that of the package', async () => {
  const { version } = JSON.parse(
    readFileSync(join(import.meta.dirname, '../../../package.json'), 'utf8'),
  ) as { version: string };
  expect(await start(['--version']).finished).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
});

test('a cluster file is checked without a start and gives its summary or all mistakes', async () => {
  const good = join(folder, 'good.yaml');
  writeFileSync(good, 'nodes: [{ count: 4 }, { mode: light }]\nports: 17000\n');
  const summary =
    '5 nodes (4 svc, 1 svc light) · fast profile · high credit · ports from 17000 · batches of depth 20';
  expect(await svcnet('validate', good)).toEqual({ code: 0, stdout: `  ${good}: ${summary}\n`, stderr: '' });
  const { stdout } = await svcnet('validate', good, '--json');
  expect(JSON.parse(stdout)).toEqual({ file: good, valid: true, summary, mistakes: [] });

  const bad = join(folder, 'bad.yaml');
  writeFileSync(bad, 'nodes: [{ mode: light, options: { verbosity: loud } }]\nsead: 4\n');
  const mistakes = [
    "unknown key 'sead', did you mean 'seed'? (known: ",
    "nodes[0].options.verbosity: got 'loud', expected one of silent, ",
    'nodes: got 1 light node, expected at least one of mode full',
  ];
  const told = await svcnet('validate', bad);
  expect({ code: told.code, stdout: told.stdout }).toEqual({ code: 2, stdout: '' });
  for (const words of mistakes) expect(told.stderr).toContain(`${bad}: ${words}`);
  const json = await svcnet('validate', bad, '--json');
  expect({ code: json.code, stderr: json.stderr }).toEqual({ code: 2, stderr: '' });
  expect(JSON.parse(json.stdout)).toEqual({
    file: bad,
    valid: false,
    mistakes: mistakes.map((words) => expect.stringContaining(words) as string),
  });
  expect(clusters()).toEqual([]);
});

describe('a cluster that is up', () => {
  let document: ClusterDocument;

  beforeAll(async () => {
    const { code, stdout, stderr } = await start(['up', '-n', '2', '--seed', '42', '--json']).finished;
    expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
    document = JSON.parse(stdout) as ClusterDocument;
  });
  afterAll(async () => {
    const { code, stdout } = await start(['down', '--json']).finished;
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      clusters: [{ name: 'local', stopped: ['node-0', 'node-1'] }],
    });
    expect(clusters()).toEqual([]);
  });

  test('is described by one document in the documented format', () => {
    const address = expect.stringMatching(/^0x[0-9a-fA-F]{40}$/) as string;
    const url = expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/) as string;
    const ms = expect.any(Number) as number;
    expect(document).toEqual({
      name: 'local',
      seed: 42,
      driver: 'process',
      chain: {
        rpc: url,
        chainId: 31_337,
        contracts: {
          token: address,
          postageStamp: address,
          postagePriceOracle: address,
          stakeRegistry: address,
          redistribution: address,
          chequebookFactory: address,
          swapPriceOracle: address,
        },
      },
      nodes: [0, 1].map((i) => ({
        name: `node-${i}`,
        flavour: 'svc',
        mode: 'full',
        dialect: 'svc',
        api: url,
        debug: url,
        p2p: expect.stringMatching(/^\/ip4\/127\.0\.0\.1\/tcp\/\d+\/p2p\/12D3Koo/) as string,
        overlay: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
        ethereum: expect.stringMatching(/^[0-9a-f]{40}$/) as string,
        pid: expect.any(Number) as number,
        dataDir: expect.stringContaining(`node-${i}`) as string,
        log: expect.stringContaining(`node-${i}.log`) as string,
      })),
      batches: [0, 1].map((i) => ({
        id: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
        node: `node-${i}`,
        depth: 20,
      })),
      prepared: { uploads: [] },
      timings: { chainMs: ms, nodesMs: ms, meshedMs: ms, batchUsableMs: ms, totalMs: ms },
    });
  });

  test('has the same description in ps, with the versions of its nodes', async () => {
    const { stdout } = await svcnet('ps', '--json');
    const { nodes } = document as { readonly nodes: readonly object[] };
    const versions = nodes.map((node) => ({ ...node, version: expect.any(String) as string }));
    expect(JSON.parse(stdout)).toEqual({ ...(document as object), nodes: versions, faults: [] });
  });

  test('cannot be started twice', async () => {
    const { code, stderr } = await svcnet('up');
    expect(code).toBe(2);
    expect(stderr).toContain("a cluster named 'local' is running already");
  });

  test('has no problems in status', async () => {
    const { code, stdout } = await svcnet('status', '--json');
    expect(code).toBe(0);
    const deposit = '500000000000000000';
    const node = {
      peers: 1,
      cheques: { sent: '0', received: '0' },
      chequebook: { total: deposit, available: deposit },
    };
    expect(JSON.parse(stdout)).toMatchObject({ problems: [], debts: [], nodes: [node, node] });
  });

  test('exports its names to a shell', async () => {
    const { stdout } = await svcnet('env');
    expect(stdout).toContain(`export SVCNET_API_1=${document.nodes[1]?.api}`);
    expect(stdout).toContain(`export SVCNET_BATCH=${document.batches[0]?.id}`);
    for (const line of stdout.trim().split('\n')) expect(line).toMatch(/^export SVCNET_[A-Z0-9_]+=\S+$/);
  });

  test('prints the logs of one node or of all, the oldest line first', async () => {
    const one = JSON.parse((await svcnet('logs', 'node-0', '--json')).stdout) as Logs;
    expect(one.logs.map(({ node }) => node)).toEqual(['node-0']);
    expect(one.logs[0]?.lines.length).toBeGreaterThan(0);
    const all = JSON.parse((await svcnet('logs', '--json')).stdout) as Logs;
    expect(all.logs.map(({ node }) => node)).toEqual(['node-0', 'node-1']);
    const shown = (await svcnet('logs')).stdout.trim().split('\n');
    expect(new Set(shown.map((line) => line.slice(0, 8)))).toEqual(new Set(['node-0  ', 'node-1  ']));
    const times = shown.map((line) => line.slice(8, 20)).filter((time) => /^\d\d:/.test(time));
    const isMidnight =
      times.some((time) => time.startsWith('23:')) && times.some((time) => time.startsWith('00:'));
    if (!isMidnight) expect(times.toSorted()).toEqual(times);
  });

  test('follows the logs of all nodes, and says which wrote a line', async () => {
    const { child, finished } = start(['logs', '--follow', '--json']);
    const heard = new Set<string>();
    for await (const line of createInterface({ input: child.stdout as Readable })) {
      heard.add((JSON.parse(line) as { node: string }).node);
      if (heard.size === 2) break;
    }
    child.kill('SIGINT');
    expect((await finished).code).toBe(130);
  });

  test('names the log file of a node that has logged nothing', async () => {
    const log = document.nodes[1]?.log as string;
    writeFileSync(log, '');
    const { code, stderr } = await svcnet('logs', 'node-1', '--lines', '0');
    expect(code).toBe(0);
    expect(stderr).toBe(`  node-1 has logged nothing yet: ${log}\n`);
  });

  test('loses a node and gets it back', async () => {
    const killed = JSON.parse((await svcnet('kill', 'node-1', '--json')).stdout) as object;
    expect(killed).toMatchObject({ node: 'node-1', state: 'killed', pid: null });
    const problems = JSON.parse((await svcnet('status', '--json')).stdout) as { problems: string[] };
    expect(problems.problems).toContain('node-1 is killed');
    const again = await svcnet('start', 'node-1', '--json');
    expect(JSON.parse(again.stdout)).toMatchObject({ node: 'node-1', state: 'running' });
  });

  test('sells a batch and funds an account', async () => {
    const { code, stdout, stderr } = await svcnet('stamp', 'node-0', '--depth', '18', '--json');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({ node: 'node-0', depth: 18, usable: true });
    const funded = await svcnet('fund', `0x${'22'.repeat(20)}`, '--native', '1.5', '--tokens', '2', '--json');
    expect(JSON.parse(funded.stdout)).toMatchObject({
      native: '1500000000000000000',
      tokens: '20000000000000000',
    });
  });

  test('comes back from its folder when all its processes were killed, on other ports where something has taken them', async () => {
    const bytes = (text: string) => new TextEncoder().encode(text);
    const [first, second] = document.nodes as [ClusterDocument['nodes'][0], ClusterDocument['nodes'][0]];
    const before = await Cluster.attach('local', { stateDir: join(folder, 'state') });
    const height = await before.chain.height();
    const { reference } = await before.node(0).bytes.upload(bytes('before'));
    await before.synced(reference);
    await before.detach();
    const { token } = readRecord(join(folder, 'state'), 'local') as ClusterRecord;
    await Promise.all(labelled(token).map((id) => killProcess(id)));
    const squatter = createServer().listen(Number(new URL(second.api).port), '127.0.0.1');
    await once(squatter, 'listening');

    const next = 'Start it again with: svcnet start --name local\n';
    const up = await svcnet('up', '-n', '2');
    expect([up.code, up.stderr]).toEqual([
      2,
      expect.stringMatching(
        /cluster 'local' is there, with the data of 2 nodes: .* has run since 20.* UTC\n/,
      ),
    ]);
    expect(up.stderr).toContain(next);
    expect((await svcnet('status')).stdout).toContain(next);
    const started = await svcnet('start', '--json');
    expect([started.code, started.code === 0 ? '' : started.stderr]).toEqual([0, '']);
    const again = JSON.parse(started.stdout) as ClusterDocument & { moved: object[] };
    const url = expect.stringMatching(/^http:/) as string;
    const { pid: _first, ...same } = first;
    const { pid: _second, p2p: _p2p, ...moved } = { ...second, api: url, debug: url };
    expect(again).toMatchObject({ chain: document.chain, nodes: [same, moved], batches: document.batches });
    expect(again.moved).toMatchObject([{ part: 'node-1' }]);
    expect(again.nodes[1]?.api).not.toBe(second.api);

    const after = await Cluster.attach('local', { stateDir: join(folder, 'state') });
    expect(await after.chain.height()).toBeGreaterThanOrEqual(height);
    expect(await after.chain.tokenBalance('22'.repeat(20))).toBe(20_000_000_000_000_000n);
    for (const node of after.nodes) expect(await node.bytes.download(reference)).toEqual(bytes('before'));
    const later = await after.node(1).bytes.upload(bytes('after'));
    await after.synced(later.reference);
    expect(await after.node(0).bytes.download(later.reference)).toEqual(bytes('after'));
    await after.settled();
    await after.detach();
    squatter.close();
    expect((await svcnet('start')).stderr).toContain("cluster 'local' runs already, or a part of it");
  });
});

test('an interrupted up leaves nothing and ends with code 130', async () => {
  const { child, finished } = start(['up', '-n', '2', '--name', 'cut', '--json']);
  await until(
    'no node has been started',
    () => {
      const run = join(folder, 'state', 'clusters', 'cut', 'run', 'node-0.json');
      return Promise.resolve(existsSync(run) ? { done: true } : { missing: 'it has no record' });
    },
    { timeoutMs: 150_000 },
  );
  child.kill('SIGINT');
  const { code, stdout, stderr } = await finished;
  expect(code).toBe(130);
  expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'INTERRUPTED' } });
  expect(stderr).toContain('interrupted');
  expect(clusters()).not.toContain('cut');
});

test.each(['stdout', 'stderr'] as const)(
  'an up whose %s nobody reads any more ends as an interrupted one',
  async (name) => {
    // With --json progress goes to standard error.
    const more = name === 'stderr' ? ['--json'] : [];
    const { child, finished } = start(['up', '-n', '1', '--name', `unread-${name}`, ...more]);
    child[name]?.destroy();
    const { code, stdout, stderr } = await finished;
    try {
      expect({ code, clusters: clusters() }).toEqual({ code: 130, clusters: [] });
      expect(stdout + stderr).toContain(name === 'stdout' ? 'nobody reads standard output' : '"INTERRUPTED"');
    } finally {
      await svcnet('down', '--all');
    }
  },
);

test('a command that has done its work ends with 0 although nobody reads what it prints', async () => {
  const { child, finished } = start(['schema']);
  child.stdout?.destroy();
  expect(await finished).toEqual({ code: 0, stdout: '', stderr: '' });
});
