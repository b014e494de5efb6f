/** A key of the chain's own (the deployer) and the transactions it signs. */
import secp256k1 from 'secp256k1';
import { checksumAddress, fromHex, integerBytes, keccak256, rlp } from './encoding.ts';

/** Far above what the base fee reaches on a chain of mostly empty blocks, so that no transaction waits. */
const FEE_CAP_WEI = 100_000_000_000n;
const TIP_WEI = 1_000_000_000n;
const TYPE_FEE_MARKET = 2;

export interface UnsignedTransaction {
  nonce: number;
  /** Absent: the transaction deploys a contract. */
  to?: string;
  gas: number;
  data: Uint8Array;
}

export interface Account {
  readonly address: string;
  /** The signed EIP-1559 transaction, ready for eth_sendRawTransaction; equal inputs give equal bytes. */
  sign(transaction: UnsignedTransaction, chainId: number): Uint8Array;
  /** Address of the contract that this account's transaction with `nonce` deploys. */
  contractAt(nonce: number): string;
}

/** @param privateKey 32 bytes as 0x-prefixed hex */
export function createAccount(privateKey: string): Account {
  const key = fromHex(privateKey);
  const address = keccak256(secp256k1.publicKeyCreate(key, false).subarray(1)).subarray(12);
  return {
    address: checksumAddress(address),
    sign: (transaction, chainId) => sign(transaction, chainId, key),
    contractAt: (nonce) =>
      checksumAddress(keccak256(rlp([address, integerBytes(BigInt(nonce))])).subarray(12)),
  };
}

function sign(transaction: UnsignedTransaction, chainId: number, key: Uint8Array): Uint8Array {
  const fields = [
    integerBytes(BigInt(chainId)),
    integerBytes(BigInt(transaction.nonce)),
    integerBytes(TIP_WEI),
    integerBytes(FEE_CAP_WEI),
    integerBytes(BigInt(transaction.gas)),
    transaction.to === undefined ? new Uint8Array(0) : fromHex(transaction.to),
    new Uint8Array(0),
    transaction.data,
    [],
  ];
  const digest = keccak256(typed(rlp(fields)));
  const { signature, recid } = secp256k1.ecdsaSign(digest, key);
  const r = withoutLeadingZeros(signature.subarray(0, 32));
  const s = withoutLeadingZeros(signature.subarray(32));
  return typed(rlp([...fields, integerBytes(BigInt(recid)), r, s]));
}

function typed(payload: Uint8Array): Uint8Array {
  return Buffer.concat([Uint8Array.of(TYPE_FEE_MARKET), payload]);
}

function withoutLeadingZeros(bytes: Uint8Array): Uint8Array {
  return bytes.subarray(bytes.findIndex((byte) => byte !== 0));
}
