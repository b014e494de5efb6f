import { checksumAddress } from '../../formats/crypto/checksum.ts';
import { fromHex } from '../../formats/crypto/hex.ts';
import { keccak256 } from '../../formats/crypto/keccak.ts';
import { encodeWord } from '../../formats/ethereum/abi.ts';
import { hexText } from '../../formats/ethereum/hex.ts';
import { createdAddress } from '../account.ts';

/** EIP-1167: ten bytes return the next 45, which delegate to the master. */
const CLONE = {
  head: '0x3d602d80600a3d3981f3363d3d373d3d3d363d73',
  tail: '0x5af43d82803e903d91602b57fd5bf3',
};
/** The factory makes the master copy in its constructor. */
const FIRST_CREATION = 1n;

/**
 * Source: contracts.md 8. Vectors: test/vectors/contracts.json, chequebookDeployment
 * @param factory,sender addresses
 * @param salt 32 bytes as hex, different for each chequebook of a sender
 */
export function chequebookAddress({
  factory,
  sender,
  salt,
}: {
  factory: string;
  sender: string;
  salt: string;
}): string {
  const master = createdAddress(fromHex(factory), FIRST_CREATION);
  const codeHash = keccak256(fromHex(CLONE.head), master, fromHex(CLONE.tail));
  const saltOfSender = keccak256(encodeWord(sender), encodeWord(salt));
  const address = keccak256(Uint8Array.of(0xff), fromHex(factory), saltOfSender, codeHash).subarray(12);
  return checksumAddress(address);
}

export function chequebookSalt(index: number): string {
  return hexText(encodeWord(index));
}
