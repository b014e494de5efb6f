import { unixSeconds } from '../../../formats/clock.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import { ownIdentity } from '../../../node/p2p/address/identity-key.ts';
import { mintRecord, NO_CHEQUEBOOK } from '../../../node/p2p/address/record.ts';
import { encodeUnderlays, withPeerId } from '../../../node/p2p/address/underlay.ts';
import type { AddressRecord } from '../../../node/p2p/host.ts';
import { BATCH_MAX, HIVE, Peers } from '../../../node/protocols/hive/wire.ts';
import type { Behaviour, Stage } from './behaviour.ts';
import { withPeers, withStream } from './steps.ts';

const EVERY_MS = 2_000;
/** Nothing listens on loopback ports this low. */
const PORTS_BELOW = 1_000;
const YEAR_SECONDS = 365n * 86_400n;

type RecordsOf = (stage: Stage) => AddressRecord[];

function gossip(what: string, records: RecordsOf): (stage: Stage) => Promise<void> {
  return (stage) =>
    withPeers(stage, EVERY_MS, (peer) =>
      withStream(stage, peer, HIVE[peer.generation].id, async (stream) => {
        const peers = records(stage);
        if (peers.length === 0) return;
        await stream.write(Peers, { peers });
        stage.count(what, peers.length);
        await stream.close();
      }),
    );
}

function nowhere({ random }: Stage): Uint8Array {
  const { peerId } = ownIdentity(random.bytes(32));
  return encodeUnderlays([withPeerId(`/ip4/127.0.0.1/tcp/${1 + random.below(PORTS_BELOW)}`, peerId)]);
}

function minted(stage: Stage, key: Uint8Array | undefined, timestamp: bigint): AddressRecord {
  const { options, deps } = stage;
  const signer = key === undefined ? deps.signer : createSigner(key);
  const statement = { underlay: nowhere(stage), nonce: options.nonce, timestamp, chequebook: NO_CHEQUEBOOK };
  return mintRecord(statement, { signer, networkId: options.networkId });
}

export const STALE_GOSSIP: Behaviour = {
  about: 'gossips records of long ago, and of nodes that are at none of their addresses',
  acts: gossip('stale records sent', (stage) => [
    minted(stage, undefined, unixSeconds(stage.clock) - YEAR_SECONDS),
    ...Array.from({ length: BATCH_MAX - 1 }, () =>
      minted(stage, stage.random.bytes(32), unixSeconds(stage.clock)),
    ),
  ]),
};

export const FORGED_GOSSIP: Behaviour = {
  about: 'gossips records of other peers with addresses that these have not signed',
  acts: gossip('forged records sent', (stage) => {
    const { deps } = stage;
    const known = deps.addressBook.overlays().slice(0, BATCH_MAX);
    return known.flatMap((id) => {
      const record = deps.addressBook.get(id);
      if (record === undefined) return [];
      return [{ ...record, underlay: nowhere(stage), timestamp: unixSeconds(stage.clock) }];
    });
  }),
};
