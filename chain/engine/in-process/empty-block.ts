/** The header of a block without transactions, which follows from the one before it. Ethereum yellow paper 4.4, EIP-1559. */
import { keccak256 } from '../../../formats/crypto/keccak.ts';
import { hexText, quantity } from '../../../formats/ethereum/hex.ts';
import { encodeRlp, type RlpItem } from '../../../formats/ethereum/rlp.ts';

/** As `eth_getBlockByNumber` answers, without whole transactions. */
export type Block = Readonly<Record<string, unknown>>;

/** In the order in which the hash covers them. */
const HEADER: readonly (readonly [name: string, kind: 'bytes' | 'number'])[] = [
  ['parentHash', 'bytes'],
  ['sha3Uncles', 'bytes'],
  ['miner', 'bytes'],
  ['stateRoot', 'bytes'],
  ['transactionsRoot', 'bytes'],
  ['receiptsRoot', 'bytes'],
  ['logsBloom', 'bytes'],
  ['difficulty', 'number'],
  ['number', 'number'],
  ['gasLimit', 'number'],
  ['gasUsed', 'number'],
  ['timestamp', 'number'],
  ['extraData', 'bytes'],
  ['mixHash', 'bytes'],
  ['nonce', 'bytes'],
  ['baseFeePerGas', 'number'],
  ['withdrawalsRoot', 'bytes'],
  ['blobGasUsed', 'number'],
  ['excessBlobGas', 'number'],
  ['parentBeaconBlockRoot', 'bytes'],
];
const NONE = '0x0';
/** Around the header: the block's prefix, and empty lists of transactions, uncles and withdrawals. */
const FRAME_SIZE = 6;
/** Without gas, the base fee falls by this part. */
const FEE_CHANGE = 8n;

/** @returns undefined after a block with transactions, whose gas changes the fees in other ways */
export function emptyBlockAfter(block: Block, timestampS: number): Block | undefined {
  if (block['gasUsed'] !== NONE || block['blobGasUsed'] !== NONE || block['excessBlobGas'] !== NONE)
    return undefined;
  const fee = BigInt(String(block['baseFeePerGas']));
  const header: Block = {
    ...block,
    parentHash: block['hash'],
    number: quantity(Number(block['number']) + 1),
    timestamp: quantity(timestampS),
    baseFeePerGas: quantity(fee - fee / FEE_CHANGE),
    // The provider draws both from a chain of hashes.
    mixHash: hashOf(block['mixHash']),
    parentBeaconBlockRoot: hashOf(block['parentBeaconBlockRoot']),
  };
  const encoded = encodeRlp(HEADER.map(([name, kind]) => itemOf(header[name], kind)));
  return { ...header, hash: hexText(keccak256(encoded)), size: quantity(encoded.length + FRAME_SIZE) };
}

function itemOf(value: unknown, kind: 'bytes' | 'number'): RlpItem {
  return kind === 'number' ? BigInt(String(value)) : bytesOf(value);
}

function hashOf(value: unknown): string {
  return hexText(keccak256(bytesOf(value)));
}

function bytesOf(value: unknown): Uint8Array {
  return Buffer.from(String(value).slice(2), 'hex');
}
