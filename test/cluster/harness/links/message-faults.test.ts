import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { Cluster } from '../../../../harness/cluster/cluster.ts';
import type { Fault } from '../../../../harness/cluster/faults/fault.ts';
import type { TapEvent } from '../../../../harness/places/links/tap/events.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';
import { everyKindMeasured } from '../../faults/measured.ts';
import { bytesOf } from '../../node/kit.ts';
import { pingMs } from './ping.ts';

const stateDir = temporaryFolder('svcnet-message-faults');
let net: Cluster;

beforeAll(async () => {
  // A light node stores nothing: it asks for what it reads.
  net = await Cluster.start({
    nodes: [{ count: 5 }, { mode: 'light' }],
    seed: 11,
    driver: 'process',
    tap: true,
    stateDir,
  });
});
afterEach(async () => void (await net.faults.heal()));
afterAll(() => net.stop());

async function healed({ id }: Fault): Promise<Fault> {
  const [fault] = await net.faults.heal(id);
  if (fault === undefined) throw new TypeError(`${id} is not active`);
  return fault;
}

async function kept(): Promise<TapEvent[]> {
  const events: TapEvent[] = [];
  for await (const event of net.tap({ kept: true })) events.push(event);
  return events;
}

test('of receipts that are dropped the chunks are pushed again, and arrive', async () => {
  const fault = await net.faults.message({ protocol: 'pushsync', message: 'receipt', drop: true, first: 3 });
  const data = bytesOf('dropped', 100_000);
  const { reference } = await net.node(0).bytes.upload(data);
  await net.synced(reference);
  const { 'messages met': met, ...effect } = (await healed(fault)).effect;
  expect(met).toBeGreaterThan(3);
  expect(effect).toEqual({
    'messages dropped': 3,
    'messages delayed': 0,
    'messages duplicated': 0,
    'messages reordered': 0,
    'messages corrupted': 0,
    'messages replayed': 0,
    'messages answered': 0,
    'streams cut': 0,
  });
  expect(Buffer.from(await net.node(5).bytes.download(reference)).equals(data)).toBe(true);
  expect((await kept()).filter(({ fields }) => fields['fault'] === 'dropped')).toHaveLength(3);
});

test('a chunk that is changed on its way is fetched from another peer', async () => {
  const data = bytesOf('changed', 50_000);
  const { reference } = await net.node(0).bytes.upload(data);
  await net.synced(reference);
  const fault = await net.faults.message({
    protocol: 'retrieval',
    message: 'delivery',
    corrupt: 'data',
    first: 1,
  });
  expect(Buffer.from(await net.node(5).bytes.download(reference)).equals(data)).toBe(true);
  expect((await healed(fault)).effect).toMatchObject({ 'messages corrupted': 1 });
});

test('a request that is answered in the place of the peer does not arrive, and another peer is asked', async () => {
  const data = bytesOf('answered', 3000);
  const { reference } = await net.node(0).bytes.upload(data);
  await net.synced(reference);
  const fault = await net.faults.message({
    from: 'node-5',
    protocol: 'retrieval',
    message: 'request',
    where: `address is ${reference}`,
    answer: { err: 'not today' },
    first: 1,
  });
  expect(fault.text).toContain('answers ({"err":"not today"}) the first 1 of retrieval request');
  expect(Buffer.from(await net.node(5).bytes.download(reference)).equals(data)).toBe(true);
  expect((await healed(fault)).effect).toMatchObject({ 'messages answered': 1, 'messages dropped': 0 });
  const events = (await kept()).filter(
    ({ protocol, kind }) => protocol === 'retrieval' && kind === 'message',
  );
  const asked = events.find(({ fields }) => fields['fault'] === 'answered');
  const answers = events.filter(({ stream, name }) => stream === asked?.stream && name === 'delivery');
  expect(answers.map(({ from, fields }) => [from, fields['err'], fields['fault']])).toEqual([
    [asked?.to, 'not today', 'made up'],
  ]);
  expect(events.some(({ to, fields }) => to === 'node-5' && fields['data'] !== undefined)).toBe(true);
});

test('a delay of a message is in the times of the tap, and the fault outlasts a restart of its node', async () => {
  const fault = await net.faults.message({
    from: 'node-0',
    to: 'node-2',
    protocol: 'pingpong',
    message: 'ping',
    delay: '300ms..400ms',
  });
  expect(await pingMs(net, { from: 0, to: 2 })).toBeGreaterThanOrEqual(300);
  expect(await pingMs(net, { from: 0, to: 3 })).toBeLessThan(300);
  const events = (await kept()).filter(({ protocol }) => protocol === 'pingpong');
  const ping = events.findLast(({ name, to }) => name === 'ping' && to === 'node-2');
  const pong = events.findLast(({ name, from }) => name === 'pong' && from === 'node-2');
  expect(ping?.fields).toMatchObject({ fault: 'delayed' });
  expect((pong?.at ?? 0) - (ping?.at ?? 0)).toBeGreaterThanOrEqual(299);
  const node = net.node('node-2');
  await node.kill();
  await node.start();
  await net.ready();
  await net.meshed();
  expect(await pingMs(net, { from: 0, to: 2 })).toBeGreaterThanOrEqual(300);
  expect((await healed(fault)).effect['messages delayed']).toBeGreaterThanOrEqual(2);
  expect(await pingMs(net, { from: 0, to: 2 })).toBeLessThan(300);
});

test('what no message can match is refused with what is known, and leaves no fault', async () => {
  await expect(
    net.faults.message({ protocol: 'pushsync', message: 'recipt', drop: true }),
  ).rejects.toMatchObject({
    code: 'FAULT_REFUSED',
    message: expect.stringContaining("no message 'recipt' of pushsync (known: delivery, receipt)"),
  });
  await expect(
    net.faults.message({ protocol: 'pushsync', message: 'receipt', corrupt: 'stamp' }),
  ).rejects.toThrow("no field 'stamp' of pushsync receipt (known: address,");
  await expect(
    net.faults.message({ from: 'node-1', to: 'node-1', protocol: 'hive', drop: true }),
  ).rejects.toThrow('two different nodes');
  await expect(
    net.faults.message({ protocol: 'pushsync', message: 'receipt', replay: '30s' }),
  ).rejects.toThrow('pushsync receipt cannot be replayed');
  await expect(net.faults.begin({ kind: 'message', protocol: 'pushsnyc', drop: true })).rejects.toThrow(
    "protocol: got 'pushsnyc', expected one of",
  );
  await expect(net.faults.begin({ kind: 'message', protocol: 'hive', delay: '2x..5s' })).rejects.toThrow(
    "delay: got '2x..5s', expected a duration above 0 such as 2s, or a range such as 2s..5s",
  );
  await expect(
    net.faults.begin({ kind: 'message', protocol: 'hive', drop: true, duplicate: true }),
  ).rejects.toThrow('drop alone');
  await expect(
    net.faults.message({ protocol: 'retrieval', message: 'request', answer: 'empty', delay: '1s' }),
  ).rejects.toThrow('answer alone');
  await expect(
    net.faults.begin({ kind: 'message', protocol: 'retrieval', answer: '{"err"' }),
  ).rejects.toThrow('answer: got \'{"err"\', expected error, empty, or the fields of the message as JSON');
  await expect(
    net.faults.message({ protocol: 'retrieval', message: 'request', answer: { dta: '00' } }),
  ).rejects.toThrow("answer: no field 'dta' (known: data, stamp, err)");
  await expect(net.faults.begin({ kind: 'message', protocol: 'hive' })).rejects.toThrow(
    'at least one action: drop, delay, duplicate, reorder, replay, cut, corrupt or answer',
  );
  expect(net.faults.active).toEqual([]);
});

test('every kind of fault of messages has been measured', () => {
  everyKindMeasured(net.faults.history, 'message');
});
