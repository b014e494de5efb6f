import { proximityOrder } from '../../../formats/chunk/address.ts';
import { overlayAddress } from '../../../formats/crypto/overlay.ts';
import type { Host, Peer } from '../../../node/p2p/host.ts';
import { Delivery as Parcel, PUSHSYNC, Receipt } from '../../../node/protocols/pushsync/wire.ts';
import { Delivery, RETRIEVAL, Request } from '../../../node/protocols/retrieval/wire.ts';
import type { Behaviour, Stage } from './behaviour.ts';
import { newIdentity, newSigner } from './identity.ts';
import { pause, succeeds } from './steps.ts';

const IDENTITIES = 16;
/** Deeper than any honest node in a small network. */
const PROXIMITY = 8;
const EVERY_MS = 1_000;

export const ECLIPSE: Behaviour = {
  about: `surrounds the peer with the lowest overlay by ${IDENTITIES} identities that keep nothing and have nothing`,
  async acts(stage) {
    const { host, clock, signal } = stage;
    const identities: Host[] = [];
    try {
      do {
        const victim = host
          .peers()
          .filter(({ fullNode }) => fullNode)
          .toSorted(byOverlay)[0];
        if (victim === undefined) continue;
        if (identities.length === 0) identities.push(...(await surround(stage, victim)));
        await Promise.all(identities.map((one) => join(stage, one, victim)));
      } while (await pause(clock, EVERY_MS, signal));
    } finally {
      await Promise.all(identities.map((one) => one.stop()));
    }
  },
};

function byOverlay(a: Peer, b: Peer): number {
  return a.overlayHex < b.overlayHex ? -1 : 1;
}

async function surround(stage: Stage, victim: Peer): Promise<Host[]> {
  const made = Array.from({ length: IDENTITIES }, () => beside(stage, victim));
  for (const one of made) await one.start();
  return made;
}

/** The owner of a key can place its overlay anywhere by the nonce. */
function beside(stage: Stage, victim: Peer): Host {
  const { options, random } = stage;
  const signer = newSigner(stage);
  let nonce = random.bytes(32);
  while (
    proximityOrder(overlayAddress(signer.address, options.networkId, nonce), victim.overlay) < PROXIMITY
  ) {
    nonce = random.bytes(32);
  }
  const host = newIdentity(stage, { options: { nonce }, deps: { signer } });
  host.handle(PUSHSYNC, async (stream) => {
    const { address } = await stream.read(Parcel);
    stage.count('chunks swallowed');
    await stream.write(Receipt, { address, signature: signer.sign(address), nonce, storageRadius: 0 });
  });
  host.handle(RETRIEVAL, async (stream) => {
    await stream.read(Request);
    stage.count('requests refused');
    await stream.write(Delivery, { err: 'not found' });
  });
  return host;
}

function join({ count, signal }: Stage, one: Host, victim: Peer): Promise<boolean> {
  if (one.peer(victim.overlayHex) !== undefined) return Promise.resolve(true);
  return succeeds(async () => {
    await one.connect(victim.underlays, signal);
    count('identities connected');
  });
}
