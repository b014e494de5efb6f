import { expect, test } from 'vitest';
import type { Peer, ProtocolSpec } from '../../../node/p2p/host.ts';
import { libp2pNode } from './libp2p-nodes.ts';

const Echo = { text: [1, 'string'], data: [2, 'bytes'] } as const;
const ECHO: ProtocolSpec = {
  id: '/swarm/echo/1.1.0/echo',
  accepts: ['/swarm/echo/1.0.0/echo'],
  inboundStreamsMax: 2000,
};
const never = new AbortController().signal;

test('two hosts introduce themselves and exchange messages', async () => {
  await using a = await libp2pNode(1);
  await using b = await libp2pNode(2);
  b.host.handle(ECHO, async (stream) => {
    const { text, data } = await stream.read(Echo);
    await stream.write(Echo, { text: `{${text}}`, data });
  });
  const arrived = new Promise<Peer>((resolve) => b.host.onConnected(resolve));
  const peer = await a.host.connect([b.underlay], never);
  expect(peer.overlay).toEqual(b.host.overlay);
  expect(peer.welcomeMessage).toBe('hello from 2');
  const inbound = await arrived;
  expect(inbound.overlay).toEqual(a.host.overlay);
  expect(inbound.underlays).toEqual([a.underlay]);
  const data = new Uint8Array(100_000).fill(7);
  for (const id of [ECHO.id, '/swarm/echo/1.0.0/echo']) {
    const stream = await a.host.open(peer, id, { signal: never });
    await stream.write(Echo, { text: 'hi', data });
    expect(await stream.read(Echo)).toEqual({ text: '{hi}', data });
    await stream.close();
  }
});
