import { expect, test } from 'vitest';
import { Cluster } from '../../../../harness/cluster/cluster.ts';
import { faultsOf, type TapEvent } from '../../../../harness/places/links/tap/events.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';
import { bytesOf } from '../../node/kit.ts';

test('receipts between embedded nodes are dropped by a reset, repeated and seen', async () => {
  await using net = await Cluster.start({
    nodes: 4,
    seed: 11,
    driver: 'embedded',
    tap: true,
    stateDir: temporaryFolder('svcnet-embedded-tap'),
  });
  const message = { protocol: 'pushsync', message: 'receipt', first: 2 } as const;
  await net.faults.message({ ...message, drop: true, reset: true });
  await net.faults.message({ protocol: 'pushsync', message: 'delivery', duplicate: true });
  const data = bytesOf('embedded', 60_000);
  const { reference } = await net.node(0).bytes.upload(data);
  await net.synced(reference);
  const effects = (await net.faults.heal()).map(({ effect }) => effect);
  expect(effects).toContainEqual(expect.objectContaining({ 'messages dropped': 2 }));
  expect(effects.some((effect) => (effect['messages duplicated'] ?? 0) > 0)).toBe(true);
  expect(Buffer.from(await net.node(3).bytes.download(reference)).equals(data)).toBe(true);
  const events: TapEvent[] = [];
  for await (const event of net.tap({ kept: true })) events.push(event);
  const dropped = events.filter(({ fields }) => fields['fault'] === 'dropped');
  expect(dropped).toHaveLength(2);
  const ends = events.filter(({ kind, stream }) => kind === 'end' && stream === dropped[0]?.stream);
  expect(ends.map(({ name }) => name)).toEqual(['reset']);
  await expect(
    net.faults.message({ protocol: 'pushsync', message: 'recipt', drop: true }),
  ).rejects.toMatchObject({
    code: 'FAULT_REFUSED',
    message: expect.stringContaining("no message 'recipt' of pushsync (known: delivery, receipt)"),
  });
});

test('a request between embedded nodes is answered in the place of the peer, which another one makes good', async () => {
  await using net = await Cluster.start({
    nodes: [{ count: 4 }, { mode: 'light' }],
    seed: 11,
    driver: 'embedded',
    tap: true,
    stateDir: temporaryFolder('svcnet-embedded-tap'),
  });
  const data = bytesOf('answered', 3000);
  const { reference } = await net.node(0).bytes.upload(data);
  await net.synced(reference);
  const asked = { protocol: 'retrieval', message: 'request', where: `address is ${reference}` } as const;
  await net.faults.message({ ...asked, from: 'node-4', oneWay: true, answer: 'error', first: 1 });
  expect(Buffer.from(await net.node(4).bytes.download(reference)).equals(data)).toBe(true);
  const [fault] = await net.faults.heal();
  expect(fault?.effect).toMatchObject({ 'messages answered': 1 });
  const events: TapEvent[] = [];
  for await (const event of net.tap({ kept: true })) events.push(event);
  const answered = events.find(({ fields }) => fields['fault'] === 'answered');
  const talk = events.filter(({ stream }) => stream === answered?.stream);
  expect(talk.map((event) => [event.kind, event.name, ...faultsOf(event)].join(' '))).toEqual([
    'opened ',
    'message request answered',
    'message delivery made up',
    'end closed',
  ]);
});

test('a tap of embedded nodes is refused beside nodes that are processes', async () => {
  await expect(
    Cluster.start({
      nodes: [{ count: 2 }, { flavour: 'bee' }],
      driver: 'embedded',
      tap: true,
      stateDir: temporaryFolder('svcnet-embedded-tap'),
    }),
  ).rejects.toThrow('tap: got true with driver embedded and nodes that it cannot embed');
});
