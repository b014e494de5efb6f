import type { Clock } from '../../formats/clock.ts';
import type { Signer } from '../../formats/crypto/signer.ts';
import type { Random } from '../../formats/random.ts';
import type { Logger } from '../env/logger.ts';
import type { Metrics } from '../env/metrics.ts';
import type { KeyValueStore } from '../store/ports.ts';
import type { AddressBook, AddressRecord, Generation } from './host.ts';
import type { DiallingOptions } from './peers/dialling.ts';
import type { Transport } from './transport.ts';
import type { Certificate } from './websocket-host.ts';

export interface PeerHostOptions extends DiallingOptions {
  readonly networkId: bigint;
  /** 32 bytes. */
  readonly nonce: Uint8Array;
  readonly fullNode: boolean;
  readonly welcomeMessage: string;
  /** Multiaddresses of the only peers accepted, whichever side dials; absent or none: all. */
  readonly onlyPeers?: readonly string[];
  /** Multiaddresses that the operator named: a failed dial of one says nothing about other nodes. */
  readonly configured?: readonly string[];
  /** Contract, 20 bytes, that our record names. */
  readonly chequebook?: () => Uint8Array | undefined;
  /** Our record that peers were given: used as long as it fits. */
  readonly givenRecord?: AddressRecord | undefined;
  /** Listen addresses of an identity that need not be asked for them. */
  readonly listensAt?: (remoteId: string) => readonly string[] | undefined;
  /** Handshakes offered and accepted; absent: all. */
  readonly generations?: readonly Generation[];
}

export interface PeerHostDeps {
  readonly transport: Transport;
  readonly signer: Signer;
  readonly addressBook: AddressBook;
  /** Subsystem `p2p`. */
  readonly state: KeyValueStore;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
}

export interface HostOptions extends PeerHostOptions {
  /** Port 0 takes a free one. */
  readonly listen: string;
  readonly natAddress?: string;
  readonly secure?: Certificate & { readonly listen: string; readonly natAddress?: string };
  /** Certificates to trust besides those of Node.js: PEM. */
  readonly authority?: string;
}

export interface HostDeps extends Omit<PeerHostDeps, 'transport'> {
  /** Ed25519 seed, 32 bytes: the libp2p identity. */
  readonly identity: Uint8Array;
  readonly random: Random;
}
