import { expect, test } from 'vitest';
import { toHex } from '../../../node/crypto/hex.ts';
import type { Peer, ProtocolSpec } from '../../../node/p2p/host.ts';
import { MemoryNetwork } from '../../../node/p2p/memory-host.ts';
import { memoryNode, startedNodes, testKey } from './memory-nodes.ts';

const Echo = { text: [1, 'string'], data: [2, 'bytes'] } as const;
const ECHO: ProtocolSpec = {
  id: '/swarm/echo/1.1.0/echo',
  accepts: ['/swarm/echo/1.0.0/echo'],
  inboundStreamsMax: 4,
};
const never = new AbortController().signal;

async function pair() {
  const [a, b] = await startedNodes(2);
  if (a === undefined || b === undefined) throw new Error('two nodes were asked for');
  return { a, b };
}

test('the dialled peer and the dialler know each other by overlay', async () => {
  const { a, b } = await pair();
  const arrived = new Promise<Peer>((resolve) => b.host.onConnected(resolve));
  const peer = await a.host.connect([b.underlay()], never);
  expect(peer.overlay).toEqual(b.host.overlay);
  expect(peer.direction).toBe('outbound');
  expect((await arrived).overlay).toEqual(a.host.overlay);
  expect(b.host.peers().map(({ direction }) => direction)).toEqual(['inbound']);
  expect(a.addressBook.overlays()).toEqual([toHex(b.host.overlay)]);
  expect(b.addressBook.overlays()).toEqual([toHex(a.host.overlay)]);
});

test('a stream carries headers, messages and a full close', async () => {
  const { a, b } = await pair();
  b.host.handle(
    ECHO,
    async (stream) => {
      const { text, data } = await stream.read(Echo);
      await stream.write(Echo, { text: `{${text}}`, data });
    },
    (_peer, received) => new Map([['answer', received.get('question') ?? new Uint8Array(0)]]),
  );
  const peer = await a.host.connect([b.underlay()], never);
  for (const id of [ECHO.id, '/swarm/echo/1.0.0/echo']) {
    const stream = await a.host.open(peer, id, {
      signal: never,
      headers: new Map([['question', testKey(7)]]),
    });
    expect(stream.headers.get('answer')).toEqual(testKey(7));
    await stream.write(Echo, { text: 'hi', data: new Uint8Array(100_000) });
    expect(await stream.read(Echo)).toEqual({ text: '{hi}', data: new Uint8Array(100_000) });
    await stream.close();
  }
});

test('a protocol nobody serves is refused at opening', async () => {
  const { a, b } = await pair();
  const peer = await a.host.connect([b.underlay()], never);
  await expect(a.host.open(peer, '/swarm/none/1.0.0/none', { signal: never })).rejects.toMatchObject({
    code: 'PROTOCOL_UNSUPPORTED',
  });
});

test('network ids must be equal', async () => {
  const network = new MemoryNetwork();
  const a = memoryNode({ network, n: 1 });
  const b = memoryNode({ network, n: 2, networkId: 4021n });
  await a.host.start();
  await b.host.start();
  await expect(a.host.connect([b.underlay()], never)).rejects.toMatchObject({
    code: 'HANDSHAKE_FAILED',
    message: expect.stringContaining('incompatible network ID'),
  });
  expect(a.host.peers()).toEqual([]);
  expect(b.host.peers()).toEqual([]);
});
