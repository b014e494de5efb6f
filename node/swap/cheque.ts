/**
 * The JSON on the wire, and the signature that the contract checks. `data-formats.md` 9.4, `p2p-protocols.md` 4.7. Vectors:
 * test/vectors/keys-and-cheques.json.
 */
import { fromHex, toHex } from '../../formats/crypto/hex.ts';
import { keccak256 } from '../../formats/crypto/keccak.ts';
import {
  isContractForm,
  recoverDigestSigner,
  SignatureError,
  type Signer,
} from '../../formats/crypto/signer.ts';
import { encodeWord } from '../../formats/ethereum/abi.ts';
import { SwapError } from './errors.ts';

/** A claim on everything ever promised to `beneficiary`. */
export interface Cheque {
  /** 20 bytes. */
  readonly chequebook: Uint8Array;
  /** 20 bytes. */
  readonly beneficiary: Uint8Array;
  /** Base units, below 2^256. */
  readonly cumulativePayout: bigint;
}

export interface SignedCheque extends Cheque {
  /** The issuer's, 65 bytes. */
  readonly signature: Uint8Array;
}

/** An honest cheque has some 360; the rest is for white space. */
const CHEQUE_BYTES_MAX = 1024;
const SIGNATURE_SIZE = 65;
const UINT256_END = 1n << 256n;

const text = new TextEncoder();
const hashOf = (value: string) => keccak256(text.encode(value));
const DOMAIN_TYPE = hashOf('EIP712Domain(string name,string version,uint256 chainId)');
const DOMAIN_NAME = hashOf('Chequebook');
const DOMAIN_VERSION = hashOf('1.0');
const CHEQUE_TYPE = hashOf('Cheque(address chequebook,address beneficiary,uint256 cumulativePayout)');
const TYPED_DATA = Uint8Array.of(0x19, 0x01);

/** EIP-712. The domain names no contract: the cheque does. */
export function chequeDigest(
  { chequebook, beneficiary, cumulativePayout }: Cheque,
  chainId: bigint,
): Uint8Array {
  const domain = keccak256(DOMAIN_TYPE, DOMAIN_NAME, DOMAIN_VERSION, encodeWord(chainId));
  const struct = keccak256(
    CHEQUE_TYPE,
    encodeWord(chequebook),
    encodeWord(beneficiary),
    encodeWord(cumulativePayout),
  );
  return keccak256(TYPED_DATA, domain, struct);
}

export function signCheque(cheque: Cheque, signer: Signer, chainId: bigint): SignedCheque {
  return { ...cheque, signature: signer.signDigest(chequeDigest(cheque, chainId)) };
}

/**
 * Stricter than elsewhere: a signature form that the contract refuses could never be cashed.
 * @returns chain address, 20 bytes @throws SwapError `CHEQUE_INVALID`
 */
export function recoverIssuer(cheque: SignedCheque, chainId: bigint): Uint8Array {
  const { signature } = cheque;
  if (signature.length !== SIGNATURE_SIZE)
    throw new SwapError('CHEQUE_INVALID', `invalid length ${signature.length} of the signature`);
  if (!isContractForm(signature))
    throw new SwapError('CHEQUE_INVALID', 'expected a signature with low s and v 27 or 28');
  try {
    return recoverDigestSigner(chequeDigest(cheque, chainId), signature);
  } catch (cause) {
    if (!(cause instanceof SignatureError)) throw cause;
    throw new SwapError('CHEQUE_INVALID', cause.message, { cause });
  }
}

/** The payout is a bare number of any size. */
export function encodeCheque(cheque: SignedCheque): Uint8Array {
  const { chequebook, beneficiary, cumulativePayout, signature } = cheque;
  const fields = [
    `"Chequebook":"0x${toHex(chequebook)}"`,
    `"Beneficiary":"0x${toHex(beneficiary)}"`,
    `"CumulativePayout":${cumulativePayout}`,
    `"Signature":"${Buffer.from(signature).toString('base64')}"`,
  ];
  return text.encode(`{${fields.join(',')}}`);
}

/**
 * Ignores the case of names and hex digits, and unknown members, as on the public network; otherwise exact. @throws
 * SwapError `CHEQUE_MALFORMED` naming the member
 */
export function decodeCheque(bytes: Uint8Array): SignedCheque {
  if (bytes.length > CHEQUE_BYTES_MAX)
    throw malformed(`${bytes.length} bytes, expected ${CHEQUE_BYTES_MAX} at most`);
  const members = membersOf(parse(bytes));
  return {
    chequebook: address(members, 'Chequebook'),
    beneficiary: address(members, 'Beneficiary'),
    cumulativePayout: payout(members),
    signature: signatureOf(members),
  };
}

/** A number as written: a double would lose digits. */
class Literal {
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }
}

type Reviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown;

function parse(bytes: Uint8Array): unknown {
  const keepDigits: Reviver = (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined ? new Literal(source) : value;
  try {
    const json = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    // The types do not know the source text yet.
    return JSON.parse(json, keepDigits as Parameters<typeof JSON.parse>[1]);
  } catch (cause) {
    throw new SwapError('CHEQUE_MALFORMED', 'not JSON', { cause });
  }
}

function membersOf(value: unknown): ReadonlyMap<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || value instanceof Literal)
    throw malformed('expected an object');
  const members = new Map<string, unknown>();
  for (const [name, member] of Object.entries(value)) {
    const key = name.toLowerCase();
    if (members.has(key)) throw malformed(`'${key}' is there twice`);
    members.set(key, member);
  }
  return members;
}

function address(members: ReadonlyMap<string, unknown>, name: string): Uint8Array {
  const value = members.get(name.toLowerCase());
  if (typeof value !== 'string' || !/^0x[0-9a-fA-F]{40}$/.test(value))
    throw malformed(`${name}: expected 0x and 40 hex digits`);
  return fromHex(value);
}

function payout(members: ReadonlyMap<string, unknown>): bigint {
  const value = members.get('cumulativepayout');
  if (!(value instanceof Literal) || !/^\d+$/.test(value.source))
    throw malformed('CumulativePayout: expected a whole number');
  const amount = BigInt(value.source);
  if (amount >= UINT256_END) throw malformed('CumulativePayout: more than 256 bits');
  return amount;
}

function signatureOf(members: ReadonlyMap<string, unknown>): Uint8Array {
  const value = members.get('signature');
  const bytes = new Uint8Array(Buffer.from(typeof value === 'string' ? value : '', 'base64'));
  // The decoder skips wrong characters; only canonical text is accepted.
  if (bytes.length === 0 || Buffer.from(bytes).toString('base64') !== value)
    throw malformed('Signature: expected base64 with padding');
  return bytes;
}

function malformed(detail: string): SwapError {
  return new SwapError('CHEQUE_MALFORMED', detail);
}
