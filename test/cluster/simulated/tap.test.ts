/** What simulated nodes say to each other is seen, and single messages are lost, repeated and changed, as the seed says. */
import { expect, test } from 'vitest';
import { Cluster, type ClusterOptions } from '../../../harness/index.ts';
import type { TapEvent } from '../../../harness/places/links/tap/events.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { bytesOf } from '../node/kit.ts';

const stateDir = temporaryFolder('svcnet-simulated-tap');

function start(options: ClusterOptions = {}): Promise<Cluster> {
  return Cluster.start({ nodes: 5, seed: 11, driver: 'simulated', tap: true, stateDir, ...options });
}

async function kept(net: Cluster): Promise<TapEvent[]> {
  const events: TapEvent[] = [];
  for await (const event of net.tap({ kept: true })) events.push(event);
  return events;
}

/** The same work on each cluster. @returns what was uploaded */
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
    // Who listens asks ten times a second of the cluster's time.
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
