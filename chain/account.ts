import { checksumAddress } from '../formats/crypto/checksum.ts';
import { fromHex } from '../formats/crypto/hex.ts';
import { keccak256 } from '../formats/crypto/keccak.ts';
import { createSigner } from '../formats/crypto/signer.ts';
import { encodeRlp } from '../formats/ethereum/rlp.ts';
import { signTransaction } from '../formats/ethereum/signed-transaction.ts';

/** Far above the base fee of mostly empty blocks, so that no transaction waits. */
const FEE_CAP_WEI = 100_000_000_000n;
const TIP_WEI = 1_000_000_000n;

export interface UnsignedTransaction {
  nonce: number;
  to?: string;
  gas: number;
  data: string;
}

export interface Account {
  readonly address: string;
  /** For eth_sendRawTransaction; equal inputs give equal bytes. */
  sign(transaction: UnsignedTransaction, chainId: number): string;
  contractAt(nonce: number): string;
}

/** @param privateKey 32 bytes as hex */
export function createAccount(privateKey: string): Account {
  const signer = createSigner(fromHex(privateKey));
  return {
    address: checksumAddress(signer.address),
    sign({ nonce, to, gas, data }, chainId) {
      const fees = { tipCap: TIP_WEI, feeCap: FEE_CAP_WEI, gasLimit: BigInt(gas) };
      const fields = { chainId: BigInt(chainId), nonce, ...fees, to, value: 0n, data };
      return signTransaction(fields, signer).raw;
    },
    contractAt: (nonce) => checksumAddress(createdAddress(signer.address, BigInt(nonce))),
  };
}

/** @param creator 20 bytes of an account or a contract @returns 20 bytes */
export function createdAddress(creator: Uint8Array, nonce: bigint): Uint8Array {
  return keccak256(encodeRlp([creator, nonce])).subarray(12);
}
