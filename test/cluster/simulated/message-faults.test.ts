import { expect, test } from 'vitest';
import { Cluster, type ClusterOptions } from '../../../harness/index.ts';
import type { TapEvent } from '../../../harness/places/links/tap/events.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { bytesOf } from '../node/kit.ts';

const stateDir = temporaryFolder('svcnet-simulated-messages');

function start(options: ClusterOptions = {}): Promise<Cluster> {
  return Cluster.start({ nodes: 5, seed: 11, driver: 'simulated', tap: true, stateDir, ...options });
}

async function kept(net: Cluster): Promise<TapEvent[]> {
  const events: TapEvent[] = [];
  for await (const event of net.tap({ kept: true })) events.push(event);
  return events;
}

test.each([
  ['on its own stream', { duplicate: true }, 'messages duplicated'],
  ['on a stream of its own, later', { replay: '2s' }, 'messages replayed'],
] as const)('a repeated cheque, %s, is credited once', async (_, action, counter) => {
  const options = { 'payment-threshold': 8_000_000, 'refresh-rate': 1_000_000, 'payment-minimum': 100_000 };
  await using net = await start({ nodes: [{ count: 3, options }], swap: { deposit: 10n ** 15n } });
  await net.faults.message({ protocol: 'swap', message: 'cheque', ...action });
  const { reference } = await net.node(0).bytes.upload(bytesOf('cheques', 150 * 4096));
  await net.synced(reference);
  await net.settled();
  const said = (await kept(net)).filter(({ protocol, name }) => protocol === 'swap' && name === 'cheque');
  const first = said.filter(({ fields }) => fields['fault'] !== 'replayed');
  if (counter === 'messages replayed') await net.clock.sleep(2000);
  await net.settled();
  const [fault] = await net.faults.heal();
  expect(fault?.effect[counter]).toBe(first.length);
  expect(first.length).toBeGreaterThan(0);
  const replayed = (await kept(net)).filter(({ fields }) => fields['fault'] === 'replayed');
  const cheques = (events: readonly TapEvent[]) =>
    events.map(({ from, to, fields }) => JSON.stringify([from, to, fields['cheque']])).sort();
  if (counter === 'messages replayed') expect(cheques(replayed)).toEqual(cheques(first));
});

test('the receipt of one chunk is lost, and of no other', async () => {
  await using net = await start();
  const [lost, other] = [bytesOf('lost', 3000), bytesOf('not lost', 3000)];
  const { reference } = await net.node(0).bytes.upload(lost);
  await net.synced(reference);
  const condition = `address is ${reference}`;
  await net.faults.message({
    protocol: 'pushsync',
    message: 'receipt',
    where: condition,
    drop: true,
    first: 1,
  });
  await net.faults.message({
    protocol: 'pushsync',
    message: 'delivery',
    where: 'address starts 1',
    delay: '1s',
  });
  for (const data of [other, lost]) {
    const uploaded = await net.node(1).bytes.upload(data);
    await net.synced(uploaded.reference);
  }
  const done = (await kept(net)).filter(({ fields }) => fields['fault'] !== undefined);
  const isFar = (address: unknown) => /^[89a-f]/.test(String(address));
  const dropped = done.filter(({ name }) => name === 'receipt').map(({ fields }) => fields['address']);
  expect(dropped).toEqual([reference]);
  const delayed = done.filter(({ name }) => name === 'delivery').map(({ fields }) => fields['address']);
  expect(delayed.length).toBeGreaterThan(0);
  expect(delayed.filter((address) => !isFar(address))).toEqual([]);
  expect([...new Set(net.faults.active.map(({ text }) => text))]).toContain(
    `drops the first 1 of pushsync receipt where ${condition}`,
  );
  await expect(
    net.faults.message({ protocol: 'pushsync', message: 'receipt', where: 'stamp starts 1', drop: true }),
  ).rejects.toMatchObject({ code: 'FAULT_REFUSED', message: expect.stringContaining("no field 'stamp'") });
  await expect(
    net.faults.begin({ kind: 'message', protocol: 'hive', where: 'peers', drop: true }),
  ).rejects.toThrow("where: got 'peers', expected a field, then 'starts' and bits");
});

test('a stream that is cut after a request delivers nothing, and another peer is asked', async () => {
  await using net = await start({ nodes: [{ count: 5 }, { mode: 'light' }], network: { latency: '20ms' } });
  const data = bytesOf('cut', 3000);
  const { reference } = await net.node(0).bytes.upload(data);
  await net.synced(reference);
  const selection = { from: 'node-5', oneWay: true, protocol: 'retrieval', message: 'request' } as const;
  const { id, text } = await net.faults.message({ ...selection, first: 1, cut: '15ms' });
  expect(text).toBe('cuts streams 15 ms after the first 1 of retrieval request from node-5 to all');
  expect(Buffer.from(await net.node(5).bytes.download(reference)).equals(data)).toBe(true);
  const [fault] = await net.faults.heal(id);
  expect(fault?.effect['streams cut']).toBe(1);
  const said = (await kept(net)).filter(({ protocol, from, to }) => {
    return protocol === 'retrieval' && [from, to].includes('node-5');
  });
  const cut = said.find(({ fields }) => fields['fault'] !== undefined);
  expect(said.findLast(({ stream }) => stream === cut?.stream)?.name).toBe('reset');
  expect(said.some(({ name, stream }) => name === 'delivery' && stream !== cut?.stream)).toBe(true);
});
