import { expect, test } from 'vitest';
import { Cluster, type ClusterOptions } from '../../../harness/index.ts';
import type { TapEvent } from '../../../harness/places/links/tap/events.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { bytesOf } from '../node/kit.ts';
import '../../../harness/vitest.ts';

const stateDir = temporaryFolder('svcnet-simulated-tap');

function start(options: ClusterOptions = {}): Promise<Cluster> {
  return Cluster.start({ nodes: 5, seed: 11, driver: 'simulated', tap: true, stateDir, ...options });
}

async function kept(net: Cluster): Promise<TapEvent[]> {
  const events: TapEvent[] = [];
  for await (const event of net.tap({ kept: true })) events.push(event);
  return events;
}

async function exchange(net: Cluster): Promise<string> {
  const data = bytesOf('exchanged', 60_000);
  const { reference } = await net.node(0).bytes.upload(data);
  await net.synced(reference);
  expect(Buffer.from(await net.node(4).bytes.download(reference)).equals(data)).toBe(true);
  return reference;
}

test('a run that is tapped and listened to is the same as one that is not', async () => {
  const run = async (tap: boolean) => {
    await using net = await start({ tap });
    const stop = new AbortController();
    const heard: TapEvent[] = [];
    const listening = (async () => {
      if (tap) for await (const event of net.tap({ signal: stop.signal })) heard.push(event);
    })();
    await exchange(net);
    await net.clock.sleep(1000);
    const { digest } = net;
    stop.abort();
    await listening;
    return { digest, heard, events: tap ? await kept(net) : [] };
  };
  const [plain, tapped] = [await run(false), await run(true)];
  expect(tapped.digest).toBe(plain.digest);
  expect(tapped.heard.length).toBeGreaterThan(0);
  const { events } = tapped;
  expect(events.filter(({ name }) => name === 'undecodable' || name === 'bytes')).toEqual([]);
  expect([...new Set(events.map(({ protocol }) => protocol))]).toEqual(
    expect.arrayContaining(['noise', 'handshake', 'pushsync', 'retrieval']),
  );
  const talk = events.find(({ protocol, from }) => protocol === 'pushsync' && from === 'node-0');
  const told = events.filter(({ stream }) => stream === talk?.stream);
  expect(told.map(({ kind, name }) => [kind, name].join(' '))).toEqual(
    expect.arrayContaining(['opened ', 'message delivery', 'message receipt', 'end closed']),
  );
  expect(told.every(({ to, from }) => [to, from].every((node) => node.startsWith('node-')))).toBe(true);
});

test('the same seed has the same messages hit, another one others', async () => {
  const run = async (seed: number) => {
    await using net = await start({ seed });
    await net.faults.message({ protocol: 'pushsync', message: 'receipt', drop: '30%' });
    await exchange(net);
    const [fault] = await net.faults.heal();
    const hit = (await kept(net))
      .filter(({ fields }) => fields['fault'] === 'dropped')
      .map(({ at, from, to, fields }) => [at, from, to, fields['address']]);
    expect(fault?.effect).toMatchObject({ 'messages dropped': hit.length });
    expect(hit.length).toBeGreaterThan(0);
    return { digest: net.digest, hit };
  };
  const first = await run(11);
  expect(await run(11)).toEqual(first);
  expect((await run(12)).hit).not.toEqual(first.hit);
});

test('what has been said and what is said later is seen', async () => {
  await using net = await start();
  const { reference } = await net.node(0).bytes.upload(bytesOf('seen', 4000));
  await expect(net).toSee({ protocol: 'pushsync', message: 'delivery', from: 'node-0', within: '5s' });
  await net.synced(reference);
  await expect(net).toSee({ protocol: 'pushsync', message: 'receipt', to: 'node-0', within: 0 });
  // Nodes ask each other for their status later on.
  await expect(net).not.toSee({ protocol: 'pingpong', within: '10s' });
  const ping = net.node(0).client.pingpong(net.node(2).overlay);
  await expect(net).toSee({ protocol: 'pingpong', message: 'pong', from: 'node-2', to: 'node-0' });
  await ping;
});

test('what is not seen fails with what was seen of that protocol, or of others', async () => {
  await using net = await start();
  const { reference } = await net.node(0).bytes.upload(bytesOf('seen', 4000));
  await net.synced(reference);
  const unseen = { protocol: 'pushsync', message: 'receipt', from: 'node-0', within: '2s' };
  await expect(net).not.toSee(unseen);
  await expect(expect(net).toSee(unseen)).rejects.toThrow(
    /^no pushsync receipt from node-0 was seen within 2\.0 s: of pushsync it saw\n( {2}\d+ × (delivery|receipt) node-\d -> node-\d\n?)+$/,
  );
  await expect(expect(net).toSee({ protocol: 'pingpong', within: 100 })).rejects.toThrow(
    /it saw nothing of pingpong, but of\n {2}\d+ × \w+/,
  );
  await expect(expect(net).not.toSee({ protocol: 'pushsync', message: 'receipt' })).rejects.toThrow(
    'expected another state than this: pushsync receipt is seen',
  );
});

test('what can never be seen is refused, seen or not', async () => {
  await using net = await start();
  for (const [wanted, why] of [
    [{ protocol: 'pushsnyc' }, "protocol: got 'pushsnyc', expected one of"],
    [
      { protocol: 'pushsync', message: 'recipt' },
      "no message 'recipt' of pushsync (known: delivery, receipt)",
    ],
    [{ protocol: 'swap', from: 'node-9' }, "no node 'node-9'"],
    [{ protocol: 'swap', from: 'node-1', to: 'node-1' }, 'another node than from'],
    [{ protocol: 'swap', within: 'soon' }, "within: got 'soon', expected a duration"],
  ] as const) {
    await expect(expect(net).toSee(wanted)).rejects.toThrow(why);
    await expect(expect(net).not.toSee(wanted)).rejects.toThrow(why);
  }
  await using plain = await start({ tap: false, nodes: 2 });
  await expect(expect(plain).not.toSee({ protocol: 'swap' })).rejects.toThrow('cannot tap cluster');
});
