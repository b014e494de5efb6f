import { fromHex, toHex } from '../crypto/hex.ts';
import { ChainError } from './chain-error.ts';

export function hexText(bytes: Uint8Array): string {
  return `0x${toHex(bytes)}`;
}

/** @param hex of whole bytes @param about what is read, for the error @throws ChainError RPC_ERROR */
export function hexBytes(hex: string, about: string): Uint8Array {
  checkHex(hex, about);
  return fromHex(hex);
}

/** @param about what is read, for the error @throws ChainError RPC_ERROR */
export function checkHex(hex: string, about: string): void {
  if (!/^0x(?:[0-9a-fA-F]{2})*$/.test(hex)) throw malformed(`${about}: not 0x-hex`);
}

/** A number without leading zeros: `0x0`, `0x10`. */
export function quantity(value: bigint | number): string {
  return `0x${value.toString(16)}`;
}

export function malformed(message: string): ChainError {
  return new ChainError('RPC_ERROR', `malformed answer: ${message}`);
}
