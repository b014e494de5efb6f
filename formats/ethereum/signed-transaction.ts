/** EIP-1559 (type 2), the only kind sent here. `node-behaviour.md` 7.1. */
import { fromBigEndian } from '../crypto/big-endian.ts';
import { toHex } from '../crypto/hex.ts';
import { keccak256 } from '../crypto/keccak.ts';
import type { Signer } from '../crypto/signer.ts';
import { hexBytes, hexText } from './hex.ts';
import { encodeRlp, type RlpItem } from './rlp.ts';

const TYPE_2 = Uint8Array.of(2);
const V_OFFSET = 64;
const V_BASE = 27;

export interface TransactionFields {
  readonly chainId: bigint;
  readonly nonce: number;
  /** Base units per gas: highest tip and highest total. */
  readonly tipCap: bigint;
  readonly feeCap: bigint;
  readonly gasLimit: bigint;
  /** `0x` and 40 hex; undefined: `data` is the code of a new contract. */
  readonly to: string | undefined;
  readonly value: bigint;
  readonly data: string;
}

/** Both 0x-hex; deterministic for the same fields and key. */
export function signTransaction(
  fields: TransactionFields,
  signer: Pick<Signer, 'signDigest'>,
): { hash: string; raw: string } {
  const unsigned: readonly RlpItem[] = [
    fields.chainId,
    BigInt(fields.nonce),
    fields.tipCap,
    fields.feeCap,
    fields.gasLimit,
    fields.to === undefined ? new Uint8Array(0) : hexBytes(fields.to, 'to'),
    fields.value,
    hexBytes(fields.data, 'data'),
    [],
  ];
  const signature = signer.signDigest(keccak256(TYPE_2, encodeRlp(unsigned)));
  const signed = encodeRlp([
    ...unsigned,
    BigInt(signature[V_OFFSET]! - V_BASE),
    fromBigEndian(signature.subarray(0, 32)),
    fromBigEndian(signature.subarray(32, V_OFFSET)),
  ]);
  return { hash: hexText(keccak256(TYPE_2, signed)), raw: `${hexText(TYPE_2)}${toHex(signed)}` };
}
