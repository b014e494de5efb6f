/**
 * All random values derive from one 64-bit seed: key files, which determine accounts, overlays and peer ids, and batch
 * nonces. The deployer is the standard development account: contract addresses never change.
 */
import { createCipheriv, createHash, randomInt } from 'node:crypto';
import { fromHex, toHex } from '../../../formats/crypto/hex.ts';
import { overlayAddress } from '../../../formats/crypto/overlay.ts';
import { createSigner } from '../../../formats/crypto/signer.ts';
import { HarnessError } from '../../base/errors.ts';
import type { NodeKeys } from '../../flavours/flavour.ts';
import { ed25519Identity } from '../../flavours/svc-keys.ts';

/** Such a seed is short to type and exact as a JSON number. */
const DRAWN_SEED_BOUND = 2 ** 32;
const SEED_BITS = 64n;
/** Overlays are mined by varying the key, which nodes of every flavour accept. */
export const OVERLAY_NONCE = new Uint8Array(32);
/** All tries fail with a probability of e^-40. */
const TRIES_PER_EXPECTED = 40;

export function drawSeed(): bigint {
  return BigInt(randomInt(DRAWN_SEED_BOUND));
}

/** @returns undefined: not decimal, or not below 2^64 */
export function seedIn(text: string): bigint | undefined {
  const seed = /^\d{1,20}$/.test(text) ? BigInt(text) : undefined;
  return seed === undefined || seed >> SEED_BITS !== 0n ? undefined : seed;
}

/** @param text decimal, below 2^64 @param where it was given @throws HarnessError `USAGE` */
export function parseSeed(text: string, where = '--seed'): bigint {
  const seed = seedIn(text);
  if (seed === undefined) {
    throw new HarnessError('USAGE', `${where}: got '${text}', expected a whole number from 0 to 2^64 - 1`);
  }
  return seed;
}

/** A number where JSON is exact, else decimal text. */
export function seedToJson(seed: bigint): number | string;
export function seedToJson(seed: bigint | undefined): number | string | null;
export function seedToJson(seed: bigint | undefined): number | string | null {
  if (seed === undefined) return null;
  return seed <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(seed) : seed.toString();
}

/** SHA-256 of a tag, the seed (8 bytes big-endian) and labels: new labels never change other values. */
export function derive(seed: bigint, ...labels: readonly (string | number)[]): Uint8Array {
  const seedBytes = Buffer.alloc(8);
  seedBytes.writeBigUInt64BE(seed);
  const hash = createHash('sha256').update('svcnet seed').update(seedBytes);
  for (const label of labels) hash.update(`\0${label}`);
  return new Uint8Array(hash.digest());
}

export function seededBytes(
  length: number,
  seed: bigint,
  ...labels: readonly (string | number)[]
): Uint8Array {
  const stream = createCipheriv('aes-256-ctr', derive(seed, ...labels), Buffer.alloc(16));
  return new Uint8Array(stream.update(Buffer.alloc(length)));
}

/** No more secret than the seed, which gives all keys. */
export function chainToken(seed: bigint): string {
  return toHex(derive(seed, 'chain token'));
}

export interface NodeOrigin {
  readonly seed: bigint;
  readonly index: number;
  readonly networkId: number;
  readonly privateKey?: string | undefined;
  readonly neighbourhood?: string | undefined;
}

/** A hash is a valid scalar except once in 2^128. */
export function deriveNode(origin: NodeOrigin): NodeKeys {
  const key = (kind: string) => derive(origin.seed, 'node', origin.index, kind);
  const account =
    origin.privateKey === undefined ? minedAccount(origin) : accountOf(fromHex(origin.privateKey), origin);
  const keys = { swarm: account.key, pss: key('pss'), libp2p: key('libp2p') };
  return {
    keys,
    ethereum: toHex(account.address),
    overlay: toHex(account.overlay),
    peerId: ed25519Identity(keys.libp2p).peerId,
  };
}

interface NodeAccount {
  readonly key: Uint8Array;
  readonly address: Uint8Array;
  readonly overlay: Uint8Array;
}

function accountOf(key: Uint8Array, { networkId }: NodeOrigin): NodeAccount {
  const { address } = createSigner(key);
  return { key, address, overlay: overlayAddress(address, BigInt(networkId), OVERLAY_NONCE) };
}

/** The first key whose overlay is in the neighbourhood, if there is one. */
function minedAccount(origin: NodeOrigin): NodeAccount {
  const { seed, index, neighbourhood = '' } = origin;
  const triesMax = TRIES_PER_EXPECTED * expectedTries(neighbourhood);
  for (let attempt = 0; attempt < triesMax; attempt++) {
    const labels = attempt === 0 ? [] : [attempt];
    const account = accountOf(derive(seed, 'node', index, 'swarm', ...labels), origin);
    if (isInside(account.overlay, neighbourhood)) return account;
  }
  throw new HarnessError(
    'DEFINITION_INVALID',
    `node-${index}: none of ${triesMax} keys that follow from seed ${seed} gives an overlay that begins with ${neighbourhood}`,
    { hint: 'Choose another seed, or fewer bits.' },
  );
}

/** Keys to try, on average; about 50 µs each. */
export function expectedTries(neighbourhood: string): number {
  return 2 ** neighbourhood.length;
}

function isInside([first = 0, second = 0]: Uint8Array, neighbourhood: string): boolean {
  const bits = ((first << 8) | second).toString(2).padStart(16, '0');
  return bits.startsWith(neighbourhood);
}

export interface SpareAccount {
  readonly name: string;
  readonly key: Uint8Array;
  readonly ethereum: string;
}

const SPARE_ACCOUNTS = 3;

/** Accounts of no node, funded on every chain with this seed. */
export function spareAccounts(seed: bigint): SpareAccount[] {
  return Array.from({ length: SPARE_ACCOUNTS }, (_, index) => {
    const key = derive(seed, 'account', index);
    return { name: `account-${index}`, key, ethereum: toHex(createSigner(key).address) };
  });
}

export function batchNonce(seed: bigint, node: number, batch: number): string {
  return `0x${toHex(derive(seed, 'batch', node, batch))}`;
}
