import { type Clock, unixSeconds } from '../../../formats/clock.ts';
import {
  type AbiValue,
  encodeCall,
  readWords,
  selectorOf,
  type WordReader,
} from '../../../formats/ethereum/abi.ts';
import { messageOf } from '../../base/errors.ts';
import type { Contracts } from '../../chain/contracts.ts';
import { type Exchange, Mismatch, NotApplicable } from '../row.ts';

export type RpcCall = (method: string, params: readonly unknown[]) => Promise<unknown>;

export interface ChainSubject {
  readonly clock: Clock;
  readonly call: RpcCall;
  readonly contracts: Partial<Contracts>;
  readonly startBlock: bigint;
}

export class Questions {
  readonly #subject: ChainSubject;
  readonly #record: (exchange: Exchange) => void;

  constructor(subject: ChainSubject, record: (exchange: Exchange) => void) {
    this.#subject = subject;
    this.#record = record;
  }

  /** Unix seconds. */
  get now(): bigint {
    return unixSeconds(this.#subject.clock);
  }

  get startBlock(): bigint {
    return this.#subject.startBlock;
  }

  /** @throws NotApplicable without its address */
  address(name: keyof Contracts): string {
    const address = this.#subject.contracts[name];
    if (address === undefined) throw new NotApplicable(`the address of ${name} was not given`);
    return address;
  }

  async ask<T>(method: string, params: readonly unknown[]): Promise<T> {
    const sent = `${method} ${JSON.stringify(params)}`;
    try {
      const answer = await this.#subject.call(method, params);
      this.#record({ sent, received: shortened(JSON.stringify(answer)), asks: [method] });
      return answer as T;
    } catch (error) {
      this.#record({ sent, received: `error: ${messageOf(error)}`, asks: [method] });
      throw error;
    }
  }

  /** Hex without 0x; empty: none. */
  async code(address: string): Promise<string> {
    return (await this.ask<string>('eth_getCode', [address, 'latest'])).slice(2).toLowerCase();
  }

  /** @returns words @throws Mismatch for no answer, or fewer words */
  async view(
    address: string,
    signature: string,
    { values = [], words = 1 }: { readonly values?: readonly AbiValue[]; readonly words?: number } = {},
  ): Promise<WordReader> {
    const data = encodeCall(selectorOf(signature), ...values);
    const answer = await this.#viewed(address, signature, data);
    const reader = readWords(answer, signature);
    if (reader.count !== words) {
      throw new Mismatch(`${signature} answers ${reader.count} words, expected ${words}`);
    }
    return reader;
  }

  async #viewed(to: string, signature: string, data: string): Promise<string> {
    try {
      return await this.ask<string>('eth_call', [{ from: NOBODY, to, data }, 'latest']);
    } catch (error) {
      throw new Mismatch(`${signature} fails: ${messageOf(error)}`);
    }
  }
}

/** An empty account: the zero address may do less. */
export const NOBODY = `0x${'00'.repeat(18)}beef`;

const SHOWN_MAX = 600;

function shortened(text: string): string {
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}… (${text.length} characters)` : text;
}
