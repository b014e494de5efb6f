/**
 * A chain with the rules of Redistribution that a player can see (`contracts.md` 7); it outlives the player. It stands at
 * the ports `Chain` and `Transactions`, but a transaction waits for the block that the test mines: that block decides a
 * round.
 */
import { toHex } from '../../../formats/crypto/hex.ts';
import { keccak256 } from '../../../formats/crypto/keccak.ts';
import { encodeWord, readWords, selectorOf, topicOf } from '../../../formats/ethereum/abi.ts';
import { ChainError } from '../../../formats/ethereum/chain-error.ts';
import { obfuscated, placeOf } from '../../../node/incentives/rules.ts';
import { GAME_FUNCTIONS } from '../../../node/onchain/incentive-contracts.ts';
import {
  type Receipt,
  type SentTransaction,
  type TransactionRequest,
  type Transactions,
} from '../../../node/onchain/ports.ts';
import { TOKEN } from '../onchain/addresses.ts';
import { SentBook } from '../onchain/sent-book.ts';

export const GAME = `0x${'6a'.repeat(20)}`;
export const ACCOUNT = new Uint8Array(20).fill(0xac);
export const OVERLAY = new Uint8Array(32).fill(1);
export const ROUND_LENGTH = 16;
/** Paid to the winner. */
export const POT = 77_000n;
const GAS_LIMIT = 500_000n;
const FEE_CAP = 3n;
export const COST = GAS_LIMIT * FEE_CAP;

const selector = {
  commit: selectorOf(GAME_FUNCTIONS.commit),
  reveal: selectorOf(GAME_FUNCTIONS.reveal),
  claim: selectorOf(GAME_FUNCTIONS.claim),
  anchor: selectorOf(GAME_FUNCTIONS.currentRoundAnchor),
  participating: selectorOf(GAME_FUNCTIONS.isParticipating),
  winner: selectorOf(GAME_FUNCTIONS.isWinner),
};

export class FakeGame implements Pick<Transactions, 'send' | 'wait' | 'find'> {
  head = 0;
  /** Everything that asks the endpoint fails. */
  down = false;
  /** Blocks by which calls lag behind the height, as at another server of the endpoint. */
  behind = 0;
  /** As a reorganisation that reaches the first reveal of a round. */
  fork = 0;
  winner: 'me' | 'other' = 'me';
  participating = true;
  staked = true;
  balance = 10n ** 18n;
  /** Called between any two effects; what it throws ends them, as death does. */
  effect: () => void = () => undefined;
  readonly commits: { round: number; hash: string }[] = [];
  readonly reveals: { round: number; depth: number; hash: string }[] = [];
  readonly claims: { round: number; data: string }[] = [];
  readonly #book = new SentBook();

  /** In the order of sending. */
  get sent(): readonly SentTransaction[] {
    return this.#book.all;
  }

  anchorOf(round: number): Uint8Array {
    return keccak256(encodeWord(round + this.fork));
  }

  /** Anchor that draws the elements to prove: it is known when a round is revealed. */
  seedOf(round: number): Uint8Array {
    return keccak256(encodeWord(1_000_000 + round));
  }

  async blockNumber(): Promise<number> {
    this.#reach();
    return this.head;
  }

  async nativeBalance(): Promise<bigint> {
    this.#reach();
    return this.balance;
  }

  async baseFee(): Promise<bigint> {
    this.#reach();
    return 1n;
  }

  async suggestedTip(): Promise<bigint> {
    this.#reach();
    return 2n;
  }

  async call({ data }: { data: string }): Promise<string> {
    this.#reach();
    const answer = (value: boolean | Uint8Array) => `0x${toHex(encodeWord(value))}`;
    const block = this.head - this.behind;
    const { round, phase } = placeOf(block, ROUND_LENGTH);
    switch (data.slice(0, 10)) {
      case selector.participating:
        if (phase === 'reveal') throw refusal('WrongPhase()');
        if (!this.staked) throw refusal('NotStaked()');
        return answer(this.participating);
      case selector.anchor: {
        const playing = phase === 'claim' ? round + 1 : round;
        const isMoved = this.reveals.some((r) => r.round === playing - 1);
        return answer(isMoved ? this.seedOf(playing - 1) : this.anchorOf(playing));
      }
      case selector.winner:
        this.#mayClaim(block);
        return answer(this.winner === 'me');
      default:
        this.#apply(data, { change: false, block });
        return '0x';
    }
  }

  async send(request: TransactionRequest): Promise<string> {
    this.#reach();
    this.effect();
    const hash = `0x${toHex(encodeWord(this.sent.length + 1))}`;
    await request.beforeSend?.(hash);
    this.effect();
    this.#book.add(hash, request, { gasLimit: GAS_LIMIT, gasTipCap: 1n, gasFeeCap: FEE_CAP });
    this.effect();
    return hash;
  }

  wait(hash: string, signal: AbortSignal): Promise<Receipt> {
    return this.#book.wait(hash, signal);
  }

  find(hash: string): SentTransaction | undefined {
    return this.#book.find(hash);
  }

  /** As if another transaction had taken its nonce. */
  cancel(hash: string): void {
    this.#book.cancel(hash, this.head);
  }

  mine(): void {
    this.head++;
    for (const sent of this.#book.pending()) this.#include(sent);
  }

  #include({ hash, data }: SentTransaction): void {
    let status: Receipt['status'] = 'success';
    let logs: Receipt['logs'] = [];
    try {
      logs = this.#apply(data, { change: true, block: this.head });
    } catch (error) {
      if (!(error instanceof ChainError)) throw error;
      status = 'reverted';
    }
    this.#book.mine(hash, { status, blockNumber: this.head, logs });
  }

  #apply(data: string, { change, block }: { change: boolean; block: number }): Receipt['logs'] {
    const { round, phase, offset } = placeOf(block, ROUND_LENGTH);
    const words = readWords(`0x${data.slice(10)}`, 'call');
    switch (data.slice(0, 10)) {
      case selector.commit: {
        if (round > words.small(1)) throw refusal('CommitRoundOver()');
        if (round < words.small(1)) throw refusal('CommitRoundNotStarted()');
        if (phase !== 'commit') throw refusal('NotCommitPhase()');
        if (offset === ROUND_LENGTH / 4 - 1) throw refusal('PhaseLastBlock()');
        if (this.commits.some((one) => one.round === round)) throw refusal('AlreadyCommitted()');
        if (change) this.commits.push({ round, hash: toHex(words.bytes32(0)) });
        return [];
      }
      case selector.reveal: {
        const commit = this.commits.find((one) => one.round === round);
        if (commit === undefined) throw refusal('NoCommitsReceived()');
        if (phase !== 'reveal') throw refusal('NotRevealPhase()');
        const [depth, hash, key] = [words.small(0), words.bytes32(1), words.bytes32(2)];
        if (toHex(obfuscated({ overlay: OVERLAY, depth, hash, key })) !== commit.hash) {
          throw refusal('NoMatchingCommit()');
        }
        if (this.reveals.some((one) => one.round === round)) throw refusal('AlreadyRevealed()');
        if (change) this.reveals.push({ round, depth, hash: toHex(hash) });
        return [];
      }
      case selector.claim: {
        this.#mayClaim(block);
        if (!change) return [];
        this.claims.push({ round, data });
        const topics = [topicOf('Transfer(address,address,uint256)'), new Uint8Array(32), ACCOUNT];
        const texts = topics.map((t) => (typeof t === 'string' ? t : `0x${toHex(encodeWord(t))}`));
        const entry = { blockNumber: this.head, transactionHash: '0x', logIndex: 0 };
        return [{ ...entry, address: TOKEN, topics: texts, data: `0x${toHex(encodeWord(POT))}` }];
      }
      default:
        throw new Error(`no function ${data.slice(0, 10)}`);
    }
  }

  #mayClaim(block: number): void {
    const { round, phase } = placeOf(block, ROUND_LENGTH);
    if (phase !== 'claim') throw refusal('NotClaimPhase()');
    if (!this.reveals.some((one) => one.round === round)) throw refusal('NoReveals()');
    if (this.claims.some((one) => one.round === round)) throw refusal('AlreadyClaimed()');
  }

  #reach(): void {
    if (this.down) throw new ChainError('RPC_UNREACHABLE', 'no answer');
  }
}

export function refusal(reason: string): ChainError {
  return new ChainError('REVERTED', reason, { revert: { reason, data: '0x' } });
}
