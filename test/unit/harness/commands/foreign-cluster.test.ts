/** What the record of a cluster names is asked by no command, unless svcnet wrote the record here. */
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type NodeRecord, writeRecord } from '../../../../harness/cluster/state/state.ts';
import { commandLine } from '../../../../harness/commands/command-line.ts';
import { COMMANDS } from '../../../../harness/commands/table.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';
import { claimed } from '../cluster/state/claimed.ts';
import { contextOf } from './kit.ts';

const ASKING = [
  'status',
  'ui',
  `trace ${'ab'.repeat(32)}`,
  'tap',
  'env',
  'keys',
  'stop node-0',
  'start',
  'start node-0',
  'add',
  'remove node-0',
  'scale 3',
  'upgrade node-0 --binary /bin/true',
  'kill node-0',
  'pause node-0',
  'resume node-0',
  'fault chain-stall',
  'faults',
  'heal',
  'stamp node-0',
  `upload ${import.meta.filename}`,
  `download ${'ab'.repeat(32)} /nowhere/copy`,
  'mine 1',
  'fund node-0 --native 1',
  'snapshot save one',
  'run upload --name one',
  'metrics',
  'dashboards',
  'dashboards --stop',
].map((line) => line.split(' '));
/** They read files of the cluster's folder alone. */
const READING = [['ps'], ['logs'], ['down']];
/** They know no running cluster, or start their own; `load` needs k6, and opens a cluster as `run` does. */
const OTHERS = [
  'up',
  'validate',
  'flavour check',
  'attach',
  'init',
  'new scenario',
  'schema',
  'export',
  'snapshot ls',
  'snapshot rm',
  'diff',
  'compare',
  'load',
  'report',
  'replay',
  'minimise',
  'conformance http',
  'conformance wire',
  'conformance chain',
  'conformance matrix',
];

test('every command is in one of the lists', () => {
  const all = COMMANDS.flatMap((row) => {
    const [name = ''] = row.usage.split(' ');
    return 'commands' in row ? row.commands.map(({ usage }) => `${name} ${usage.split(' ')[0]}`) : [name];
  });
  const listed = [...ASKING, ...READING].map(([name = '', inner = '']) =>
    name === 'snapshot' ? `${name} ${inner}` : name,
  );
  expect([...new Set([...listed, ...OTHERS])].toSorted()).toEqual(all.toSorted());
});

let stateDir: string;
let asked: number;
let url: string;
const server = createServer((_, response) => response.end('{}')).on('connection', () => void asked++);
beforeEach(async () => {
  stateDir = temporaryFolder('svcnet-asked');
  asked = 0;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  await new Promise((resolve) => server.close(resolve));
});

async function record(address: string): Promise<string> {
  const chain = { rpc: address, control: address, token: 'secret', chainId: 1337, networkId: 1 };
  const node: NodeRecord = {
    name: 'node-0',
    flavour: 'svc',
    mode: 'full',
    dialect: 'svc',
    api: address,
    debug: address,
    p2p: '',
    overlay: 'ab'.repeat(32),
    ethereum: 'cd'.repeat(20),
    dataDir: '',
    log: '',
  };
  writeRecord(stateDir, {
    ...(await claimed(stateDir, 'one')),
    phase: 'running',
    nodes: [node],
    timings: { chainMs: 0, nodesMs: 0, meshedMs: 0, batchUsableMs: 0, totalMs: 0 },
    chain: { ...chain, contracts: {}, startBlock: 0, blockTimeMs: 1000, steady: false },
  });
  return join(stateDir, 'clusters', 'one', 'cluster.json');
}

/** Each leaves its record in `stateDir`. */
const WAYS: Readonly<Record<string, () => Promise<void>>> = {
  async 'is a copy of a cluster that svcnet made here'() {
    await record(url);
    const copy = temporaryFolder('svcnet-asked-copy');
    cpSync(stateDir, copy, { recursive: true });
    stateDir = copy;
  },
  async 'names another address than svcnet wrote'() {
    const file = await record('http://127.0.0.1:1');
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll('http://127.0.0.1:1"', `${url}"`));
  },
  async 'carries marks of another machine'() {
    const file = await record(url);
    const mark = 'ab'.repeat(32);
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, text.replace(/("madeAs"|"seal"): "\w+"/g, `$1: "${mark}"`));
    writeFileSync(join(stateDir, '.made-here'), mark);
  },
};

async function called(words: readonly string[]): Promise<unknown> {
  const context = contextOf(stateDir);
  const program = await commandLine(async (_, command) => void (await command(context)), words);
  return program.parseAsync([...words], { from: 'user' }).then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe.each(Object.keys(WAYS))('a record that %s', (way) => {
  test.each(ASKING)('is refused by %s %s, before anything is asked', async (...words) => {
    await WAYS[way]?.();
    expect(await called(words.filter((word) => word !== ''))).toMatchObject({
      code: 'STATE_INVALID',
      message: expect.stringMatching(/were not made here|are not as this version/) as string,
    });
    expect(asked).toBe(0);
  });

  test('shows no log that is a link to a file elsewhere', async () => {
    await WAYS[way]?.();
    const logs = join(stateDir, 'clusters', 'one', 'logs');
    mkdirSync(logs, { recursive: true });
    const secret = join(temporaryFolder('svcnet-asked-elsewhere'), 'secret');
    writeFileSync(secret, 'secret');
    symlinkSync(secret, join(logs, 'node-0.log'));
    expect(await called(['logs', 'node-0'])).toMatchObject({ code: 'STATE_INVALID' });
  });

  test('is read by ps and logs, and removed by down, and nothing is asked', async () => {
    await WAYS[way]?.();
    for (const words of READING) expect(await called(words)).toBeUndefined();
    expect(asked).toBe(0);
  });
});
