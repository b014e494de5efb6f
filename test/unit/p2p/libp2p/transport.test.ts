import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { systemClock } from '../../../../formats/clock.ts';
import { silentLogger } from '../../../../node/env/logger.ts';
import { Libp2pTransport } from '../../../../node/p2p/libp2p/transport.ts';
import type { TcpConnection, TcpEvents } from '../../../../node/p2p/tcp-host.ts';

const NEVER = new Promise<never>(() => undefined);

test('of connections that arrive together only one starts to be secured per turn of the event loop', async () => {
  let events: TcpEvents | undefined;
  let begun = 0;
  const transport = new Libp2pTransport(
    { localId: 'us', publicKey: new Uint8Array(), agentVersion: '', listen: [{ address: '' }] },
    {
      clock: systemClock(),
      log: silentLogger(),
      defer: (flush) => flush(),
      stranger: () => {
        throw new Error('nothing is probed');
      },
      tcp: {
        dial: () => NEVER,
        async listen(_address, given) {
          events = given;
          return { addresses: () => [], close: async () => undefined };
        },
      },
      secure() {
        begun += 1;
        return NEVER;
      },
    },
  );
  await transport.start({
    supports: () => false,
    protocolIds: () => [],
    opened: () => undefined,
    closed: () => undefined,
    accepted: () => undefined,
  });
  for (let n = 0; n < 5; n++) {
    const remoteAddress = `/ip4/127.0.0.1/tcp/${1000 + n}`;
    events?.accepted({
      remoteAddress,
      onClosed: () => undefined,
      ready: async () => undefined,
    } as unknown as TcpConnection);
  }
  const perTurn: number[] = [];
  for (let turn = 0; turn < 6; turn++) {
    perTurn.push(begun);
    await nextTurn();
  }
  expect(begun).toBe(5);
  for (const [turn, count] of perTurn.entries()) expect(count).toBeLessThanOrEqual(turn + 1);
  await transport.stop();
});
