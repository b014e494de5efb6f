/**
 * Everything of a cluster that looks random is derived from one 64-bit seed: key files, and through them accounts,
 * overlays and peer ids, and the nonces of batches, and through them batch ids. The chain's deployer is the standard
 * development account, so contract addresses are equal for every seed.
 */
import { createHash, createPrivateKey, createPublicKey, randomInt } from 'node:crypto';
import { toBase58 } from '../../node/crypto/base58.ts';
import { toHex } from '../../node/crypto/hex.ts';
import { overlayAddress } from '../../node/crypto/overlay.ts';
import { createSigner } from '../../node/crypto/signer.ts';
import { HarnessError } from '../base/errors.ts';

/** Bound of `randomInt`; such a seed is short to type and exact as a JSON number. */
const DRAWN_SEED_BOUND = 2 ** 32;
const SEED_BITS = 64n;
/** Nonce of every overlay: the testbed needs no mined overlays. */
const OVERLAY_NONCE = new Uint8Array(32);

/** Keys and addresses of one node. */
export interface NodeIdentity {
  readonly keys: { readonly swarm: Uint8Array; readonly pss: Uint8Array; readonly libp2p: Uint8Array };
  /** 40 lower-case hex digits. */
  readonly ethereum: string;
  /** 64 lower-case hex digits. */
  readonly overlay: string;
  /** Base58 libp2p identity of a node that has an Ed25519 key. */
  readonly peerId: string;
}

export function drawSeed(): bigint {
  return BigInt(randomInt(DRAWN_SEED_BOUND));
}

/** @param text decimal, or hex with `0x`, below 2^64 @throws HarnessError `USAGE` */
export function parseSeed(text: string): bigint {
  const seed = /^(\d+|0x[0-9a-fA-F]+)$/.test(text) ? BigInt(text) : undefined;
  if (seed === undefined || seed >> SEED_BITS !== 0n) {
    throw new HarnessError('USAGE', `--seed: got '${text}', expected a whole number from 0 to 2^64 - 1`);
  }
  return seed;
}

/** Seeds that JSON numbers hold exactly are numbers, larger ones decimal strings; `null` stands for none. */
export function seedToJson(seed: bigint): number | string;
export function seedToJson(seed: bigint | undefined): number | string | null;
export function seedToJson(seed: bigint | undefined): number | string | null {
  if (seed === undefined) return null;
  return seed <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(seed) : seed.toString();
}

/**
 * 32 bytes for one purpose: SHA-256 of a tag, the seed (8 bytes big-endian) and the labels.
 * Different labels give independent values, so adding a use never changes another.
 */
export function derive(seed: bigint, ...labels: readonly (string | number)[]): Uint8Array {
  const seedBytes = Buffer.alloc(8);
  seedBytes.writeBigUInt64BE(seed);
  const hash = createHash('sha256').update('svcnet seed').update(seedBytes);
  for (const label of labels) hash.update(`\0${label}`);
  return new Uint8Array(hash.digest());
}

/** A hash is a valid secp256k1 scalar but for a chance of 2^-128. */
export function deriveNode(options: { seed: bigint; index: number; networkId: number }): NodeIdentity {
  const key = (kind: string) => derive(options.seed, 'node', options.index, kind);
  const keys = { swarm: key('swarm'), pss: key('pss'), libp2p: key('libp2p') };
  const { address } = createSigner(keys.swarm);
  return {
    keys,
    ethereum: toHex(address),
    overlay: toHex(overlayAddress(address, BigInt(options.networkId), OVERLAY_NONCE)),
    peerId: ed25519PeerId(keys.libp2p),
  };
}

/** An account that belongs to no node, for applications and people. */
export interface SpareAccount {
  readonly name: string;
  readonly key: Uint8Array;
  /** 40 lower-case hex digits. */
  readonly ethereum: string;
}

/** As many as one application needs to have two parties and somebody who pays. */
const SPARE_ACCOUNTS = 3;

/** Funded on every chain of the seed. */
export function spareAccounts(seed: bigint): SpareAccount[] {
  return Array.from({ length: SPARE_ACCOUNTS }, (_, index) => {
    const key = derive(seed, 'account', index);
    return { name: `account-${index}`, key, ethereum: toHex(createSigner(key).address) };
  });
}

/** `0x` and 64 hex digits: the nonce a batch of `up` is created with. */
export function batchNonce(seed: bigint, node: number, batch: number): string {
  return `0x${toHex(derive(seed, 'batch', node, batch))}`;
}

/** PKCS #8 wrapping of a raw Ed25519 seed: everything before its 32 bytes. */
const PKCS8_ED25519 = Buffer.from('302e020100300506032b657004220420', 'hex');
/** Multihash "identity" of 36 bytes, holding a protobuf key: type Ed25519, 32 bytes. */
const PEER_ID_PREFIX = Buffer.from('002408011220', 'hex');

function ed25519PeerId(seed: Uint8Array): string {
  const der = Buffer.concat([PKCS8_ED25519, seed]);
  const publicKey = createPublicKey(createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }));
  const spki = publicKey.export({ format: 'der', type: 'spki' });
  return toBase58(Buffer.concat([PEER_ID_PREFIX, spki.subarray(-32)]));
}
