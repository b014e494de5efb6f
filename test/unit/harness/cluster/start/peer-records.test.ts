import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { toHex } from '../../../../../formats/crypto/hex.ts';
import { MACHINE_CLOCK } from '../../../../../harness/base/machine/clock.ts';
import { parseDefinition } from '../../../../../harness/cluster/plan/definition.ts';
import type { DefinitionInput } from '../../../../../harness/cluster/plan/definition-input.ts';
import { placeNodes, planCluster } from '../../../../../harness/cluster/plan/plan.ts';
import {
  addPeerRecords,
  sharesRecords,
  writePeerRecords,
} from '../../../../../harness/cluster/start/peer-records.ts';
import { takeClusterTurn } from '../../../../../harness/cluster/state/turn.ts';
import { parseRecords } from '../../../../../node/p2p/address/record-file.ts';
import { decodeUnderlays } from '../../../../../node/p2p/address/underlay.ts';
import { temporaryFolder } from '../../../../temporary-folder.ts';
import { CONTRACTS } from '../plan/contracts.ts';
import { claimed } from '../state/claimed.ts';

const NOW_MS = 1_750_000_000_123;
const MIXED: DefinitionInput['nodes'] = [{}, { mode: 'light' }, { flavour: 'bee', binary: '/bee' }, {}];

function definitionOf(input: DefinitionInput) {
  return parseDefinition(input, 'options');
}

function placed(input: DefinitionInput, listen = '127.0.0.1') {
  const plan = planCluster(definitionOf(input), 7n);
  const places = plan.nodes.map(({ name }, index) => ({
    ports: { api: 1000 + index, p2p: 2000 + index, debug: 3000 + index },
    reached: { host: '127.0.0.1', port: 2000 + index },
    listen,
    dataDir: `/data/${name}`,
  }));
  const chequebook = `0x${'ab'.repeat(20)}`;
  const facts = {
    contracts: CONTRACTS,
    startBlock: 3,
    rpcOf: () => 'http://chain',
    chequebookOf: ({ name }: { name: string }) => (name === 'node-0' ? chequebook : undefined),
    peerRecords: '/cluster/peer-records',
  };
  return { planned: plan.nodes, placed: placeNodes(plan, places, facts) };
}

function written(nodes: ReturnType<typeof placed>) {
  const folder = temporaryFolder('records');
  writePeerRecords(join(folder, 'records'), nodes, NOW_MS);
  return parseRecords(readFileSync(join(folder, 'records'), 'utf8'), 4020n);
}

test('records cover our own full nodes, and are valid, with address, chequebook and the current time', () => {
  const nodes = placed({ nodes: MIXED });
  const records = written(nodes);
  expect(records.map(({ overlay }) => toHex(overlay))).toEqual(
    [0, 3].map((index) => nodes.planned[index]?.identity.overlay),
  );
  expect(records.flatMap(({ underlay }) => decodeUnderlays(underlay))).toEqual(
    [0, 3].map((index) => nodes.placed[index]?.underlay),
  );
  expect(records.map(({ chequebook }) => toHex(chequebook))).toEqual(['ab'.repeat(20), '00'.repeat(20)]);
  expect(records.map(({ timestamp }) => timestamp)).toEqual([1_750_000_000n, 1_750_000_000n]);
});

test('a node that listens on all interfaces is left out, as its addresses are not known here', () => {
  expect(written(placed({ nodes: 2 }, '0.0.0.0'))).toEqual([]);
});

async function joining() {
  const stateDir = temporaryFolder('records');
  const record = await claimed(stateDir, 'net');
  const all = placed({ nodes: 3 });
  const only = (...indices: number[]) => ({
    planned: indices.flatMap((index) => all.planned[index] ?? []),
    placed: indices.flatMap((index) => all.placed[index] ?? []),
  });
  const file = join(stateDir, 'records');
  const read = () => parseRecords(readFileSync(file, 'utf8'), 4020n);
  return { all, only, file, read, stateDir, context: { clock: MACHINE_CLOCK, stateDir, record } };
}

test('a node that joins once more, as after an upgrade, keeps its one record', async () => {
  const { all, only, file, read, context } = await joining();
  writePeerRecords(file, only(0, 1), NOW_MS);
  await addPeerRecords(file, only(1, 2), context);
  expect(read().map(({ overlay }) => toHex(overlay))).toEqual(
    all.planned.map(({ identity }) => identity.overlay),
  );
  const moved = only(1).placed.map((node) => ({ ...node, underlay: '/ip4/127.0.0.1/tcp/4' }));
  await addPeerRecords(file, { ...only(1), placed: moved }, context);
  expect(read()).toHaveLength(4);
});

test('a record of a node that joins is later than those it joins, even within a second', async () => {
  const { only, file, read, context } = await joining();
  const now = MACHINE_CLOCK.now() + 60_000;
  writePeerRecords(file, only(0), now);
  await addPeerRecords(file, only(1), context);
  const soon = BigInt(Math.floor(now / 1000));
  expect(read().map(({ timestamp }) => timestamp)).toEqual([soon, soon + 1n]);
});

test('of nodes that join at once from two processes, those that come second have later records', async () => {
  const { only, file, read, stateDir, context } = await joining();
  const now = MACHINE_CLOCK.now() + 60_000;
  writePeerRecords(file, only(0), now);
  const other = takeClusterTurn(stateDir, context.record, 'changing', () => new Error('taken'));
  const added = addPeerRecords(file, only(2), context);
  const { planned, placed: places } = only(1);
  const soon = now + 1000;
  const first = join(stateDir, 'first');
  writePeerRecords(first, { planned, placed: places }, soon);
  appendFileSync(file, readFileSync(first));
  other[Symbol.dispose]();
  await added;
  const seconds = BigInt(Math.floor(soon / 1000));
  expect(read().map(({ timestamp }) => timestamp)).toEqual([seconds - 1n, seconds, seconds + 1n]);
});

test('only our own nodes are given the path of the file', () => {
  const paths = placed({ nodes: MIXED }).placed.map(({ plan }) => plan.network.peerRecords);
  const file = '/cluster/peer-records';
  expect(paths).toEqual([file, file, undefined, file]);
});

test.each([
  ['nodes that find each other, as processes', {}, 'process', true],
  ['embedded nodes', {}, 'embedded', true],
  ['containers', {}, 'docker', false],
  ['cold gossip', { coldGossip: true }, 'process', false],
  ['links that are given', { topology: 'ring' }, 'process', false],
  ['boot nodes', { nodes: [{ mode: 'boot' }, { count: 2 }] }, 'process', false],
] as const)('%s', (_name, input, driver, shares) => {
  expect(sharesRecords(definitionOf({ nodes: 3, ...input }), driver)).toBe(shares);
});
