/** Where the chequebooks of the start will be: the factory clones its master copy to addresses that can be computed. */
import { abiWord, checksumAddress, fromHex, integerBytes, keccak256, rlp } from '../encoding.ts';

/** EIP-1167: ten bytes that return the 45 bytes after them, which delegate every call to the master. */
const CLONE = {
  head: '0x3d602d80600a3d3981f3363d3d373d3d3d363d73',
  tail: '0x5af43d82803e903d91602b57fd5bf3',
};
/** A contract's first creation; the factory makes the master copy in its constructor. */
const FIRST_CREATION = 1n;

/**
 * Address of a chequebook that the factory deploys for a sender.
 * @param factory,sender addresses @param salt 32 bytes as hex, different for each chequebook of a sender
 * Source: contracts.md 8. Vectors: test/vectors/contracts.json, chequebookDeployment
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
  const master = keccak256(rlp([fromHex(factory), integerBytes(FIRST_CREATION)])).subarray(12);
  const code = Buffer.concat([fromHex(CLONE.head), master, fromHex(CLONE.tail)]);
  const saltOfSender = keccak256(Buffer.concat([abiWord(sender), abiWord(salt)]));
  const preimage = Buffer.concat([Uint8Array.of(0xff), fromHex(factory), saltOfSender, keccak256(code)]);
  return checksumAddress(keccak256(preimage).subarray(12));
}

/** Salt of the n-th chequebook of the start. */
export function chequebookSalt(index: number): string {
  return `0x${index.toString(16).padStart(64, '0')}`;
}
