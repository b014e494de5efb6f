import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../../formats/clock.ts';
import { Dialling } from '../../../../node/p2p/peers/dialling.ts';
import type { Link, Transport } from '../../../../node/p2p/transport.ts';
import { OWN_ID, THEIR_ID } from '../scripted-transport.ts';

/** No peer can have them. */
const NOBODYS = [
  '/ip4/169.254.169.254/tcp/80',
  '/ip4/0.0.0.0/tcp/1634',
  '/ip4/224.0.0.1/tcp/1634',
  '/ip4/255.255.255.255/tcp/1634',
  '/ip6/::/tcp/1634',
  '/ip6/fe80::1/tcp/1634',
  '/ip6/ff02::1/tcp/1634',
  '/ip6/::ffff:a9fe:a9fe/tcp/80',
].map((address) => `${address}/p2p/${THEIR_ID}`);
const PEERS = `/ip4/10.0.0.1/tcp/1634/p2p/${THEIR_ID}`;
const never = new AbortController().signal;

function recorded(): { dialling: Dialling; dialled: string[] } {
  const dialled: string[] = [];
  const transport: Pick<Transport, 'localId' | 'dial' | 'probe'> = {
    localId: OWN_ID,
    dial: async (underlay) => {
      dialled.push(underlay);
      return {} as Link;
    },
    probe: async (underlay) => {
      dialled.push(underlay);
      return 1;
    },
  };
  const deps = { transport: transport as Transport, clock: systemClock() };
  return { dialling: new Dialling({ allowPrivateCidrs: true }, deps), dialled };
}

describe('addresses that no peer can have', () => {
  test.each(NOBODYS)('%s is refused, and neither dialled nor probed', async (underlay) => {
    const { dialling, dialled } = recorded();
    expect(() => dialling.choose([underlay])).toThrow('no supported addresses');
    await expect(dialling.probe([underlay], never)).rejects.toThrow('no supported addresses');
    expect(dialled).toEqual([]);
  });

  test('are left out where a peer has others', async () => {
    const { dialling, dialled } = recorded();
    expect(dialling.choose([...NOBODYS, PEERS])).toEqual([PEERS]);
    await dialling.probe([...NOBODYS, PEERS], never);
    expect(dialled).toEqual([PEERS]);
  });
});
