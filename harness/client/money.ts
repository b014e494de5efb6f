/** Chequebook, wallet, stake, the storage game, and their transactions. */
import { DIGITS, expectAmount, expectChainHex, expectHex, expectWhole } from '../base/arguments.ts';
import type { Dialect } from './dialect.ts';
import { type HttpClient, sent } from './http.ts';
import { type AmountJson, amount, plainHex } from './json.ts';
import type {
  Cashout,
  Cheque,
  ChequebookBalance,
  Cheques,
  PendingTransaction,
  RedistributionState,
  ReserveSample,
  Wallet,
} from './money-types.ts';

/** Reads and hashes the whole reserve. */
const SAMPLE_TIMEOUT_MS = 300_000;

interface ChequeJson {
  readonly beneficiary: string;
  readonly chequebook: string;
  readonly payout: AmountJson;
}

interface ChequesJson {
  readonly peer: string;
  readonly lastreceived: ChequeJson | null;
  readonly lastsent: ChequeJson | null;
}

function chequeOf(row: ChequeJson | null): Cheque | undefined {
  if (row === null) return undefined;
  return {
    beneficiary: plainHex(row.beneficiary),
    chequebook: plainHex(row.chequebook),
    payout: amount(row.payout),
  };
}

function chequesOf({ peer, lastreceived, lastsent }: ChequesJson): Cheques {
  return { peer, received: chequeOf(lastreceived), sent: chequeOf(lastsent) };
}

/** `/chequebook`. Amounts are token units. @throws ClientError from every method */
export class ChequebookClient {
  readonly #http: HttpClient;

  constructor(http: HttpClient) {
    this.#http = http;
  }

  /** @returns 40 hex digits, zeros without a chequebook */
  async address(signal?: AbortSignal): Promise<string> {
    const body = await this.#http.get<{ chequebookAddress: string }>('/chequebook/address', signal);
    return plainHex(body.chequebookAddress);
  }

  async balance(signal?: AbortSignal): Promise<ChequebookBalance> {
    type Body = Record<keyof ChequebookBalance, AmountJson>;
    const body = await this.#http.get<Body>('/chequebook/balance', signal);
    return { totalBalance: amount(body.totalBalance), availableBalance: amount(body.availableBalance) };
  }

  /**
   * @returns hash of the transaction @throws ClientError `http.400` when the account does not hold that much
   */
  async deposit(units: bigint, signal?: AbortSignal): Promise<string> {
    expectAmount('chequebook.deposit: units', units);
    return sent(this.#http, { method: 'POST', path: `/chequebook/deposit?amount=${units}`, signal });
  }

  /** @returns hash of the transaction @throws ClientError `http.400` when less is available */
  async withdraw(units: bigint, signal?: AbortSignal): Promise<string> {
    expectAmount('chequebook.withdraw: units', units);
    return sent(this.#http, { method: 'POST', path: `/chequebook/withdraw?amount=${units}`, signal });
  }

  /** Last cheques of every peer that cheques were exchanged with. */
  async cheques(signal?: AbortSignal): Promise<readonly Cheques[]> {
    type Body = { lastcheques: ChequesJson[] | null };
    const { lastcheques } = await this.#http.get<Body>('/chequebook/cheque', signal);
    return (lastcheques ?? []).map(chequesOf);
  }

  /** @throws ClientError `http.404` without one, in the dialect that says so */
  async cheque(peer: string, signal?: AbortSignal): Promise<Cheques> {
    expectHex('chequebook.cheque: peer', peer, DIGITS.hash);
    return chequesOf(await this.#http.get<ChequesJson>(`/chequebook/cheque/${peer}`, signal));
  }

  /** @throws ClientError `http.404` without a cheque of the peer */
  async cashout(peer: string, signal?: AbortSignal): Promise<Cashout> {
    expectHex('chequebook.cashout: peer', peer, DIGITS.hash);
    const body = await this.#http.get<{
      lastCashedCheque: ChequeJson | null;
      transactionHash: string | null;
      result: { recipient: string; lastPayout: AmountJson; bounced: boolean } | null;
      uncashedAmount: AmountJson;
    }>(`/chequebook/cashout/${peer}`, signal);
    const { result } = body;
    return {
      peer,
      lastCashed: chequeOf(body.lastCashedCheque),
      transactionHash: body.transactionHash ?? undefined,
      result:
        result === null
          ? undefined
          : {
              recipient: plainHex(result.recipient),
              lastPayout: amount(result.lastPayout),
              bounced: result.bounced,
            },
      uncashedAmount: amount(body.uncashedAmount),
    };
  }

  /** Cashes the last cheque of a peer. @returns hash of the transaction, which is not mined yet */
  async cash(peer: string, signal?: AbortSignal): Promise<string> {
    expectHex('chequebook.cash: peer', peer, DIGITS.hash);
    return sent(this.#http, { method: 'POST', path: `/chequebook/cashout/${peer}`, signal });
  }
}

/** `/wallet`: the node's account on the chain. @throws ClientError from every method */
export class WalletClient {
  readonly #http: HttpClient;
  readonly #dialect: Dialect;

  constructor(http: HttpClient, dialect: Dialect) {
    this.#http = http;
    this.#dialect = dialect;
  }

  async balances(signal?: AbortSignal): Promise<Wallet> {
    const body = await this.#http.get<Record<string, AmountJson>>('/wallet', signal);
    return {
      tokenBalance: amount(body[this.#dialect.tokenBalanceField] ?? 0),
      nativeBalance: amount(body['nativeTokenBalance'] ?? 0),
      chainId: Number(body['chainID']),
      address: plainHex(String(body['walletAddress'])),
    };
  }

  /**
   * Only to an address that the node's options name.
   * @param what base units of either coin @returns hash of the transaction @throws ClientError `http.400`
   */
  async withdraw(
    coin: 'token' | 'native',
    what: { readonly amount: bigint; readonly to: string },
    signal?: AbortSignal,
  ): Promise<string> {
    expectAmount('wallet.withdraw: amount', what.amount);
    expectChainHex('wallet.withdraw: to', what.to, DIGITS.account);
    const name = coin === 'native' ? 'nativetoken' : this.#dialect.tokenCoin;
    const to = what.to.startsWith('0x') ? what.to : `0x${what.to}`;
    const path = `/wallet/withdraw/${name}?amount=${what.amount}&address=${to}`;
    return sent(this.#http, { method: 'POST', path, signal });
  }
}

/**
 * `/stake`. Amounts are token units; every change is answered when it is mined, with the hash of its transaction.
 * @throws ClientError from every method
 */
export class StakeClient {
  readonly #http: HttpClient;

  constructor(http: HttpClient) {
    this.#http = http;
  }

  async staked(signal?: AbortSignal): Promise<bigint> {
    return amount((await this.#http.get<{ stakedAmount: AmountJson }>('/stake', signal)).stakedAmount);
  }

  /** What exceeds the commitment at the present price. */
  async withdrawable(signal?: AbortSignal): Promise<bigint> {
    const body = await this.#http.get<{ withdrawableAmount: AmountJson }>('/stake/withdrawable', signal);
    return amount(body.withdrawableAmount);
  }

  /** @throws ClientError `http.400` below the minimum, or when the account does not hold that much */
  async deposit(units: bigint, signal?: AbortSignal): Promise<string> {
    expectAmount('stake.deposit: units', units);
    return sent(this.#http, { method: 'POST', path: `/stake/${units}`, signal }, 'txHash');
  }

  /** @throws ClientError `http.400` when nothing is withdrawable */
  withdrawSurplus(signal?: AbortSignal): Promise<string> {
    return sent(this.#http, { method: 'DELETE', path: '/stake/withdrawable', signal }, 'txHash');
  }

  /** Takes the whole stake back. @throws ClientError `http.400` unless the contract is paused */
  migrate(signal?: AbortSignal): Promise<string> {
    return sent(this.#http, { method: 'DELETE', path: '/stake', signal }, 'txHash');
  }
}

/** The storage game. @throws ClientError from every method */
export class RedistributionClient {
  readonly #http: HttpClient;

  constructor(http: HttpClient) {
    this.#http = http;
  }

  /** @throws ClientError `http.403` where the node does not play */
  async state(signal?: AbortSignal): Promise<RedistributionState> {
    const body = await this.#http.get<RedistributionState>('/redistributionstate', signal);
    return {
      ...body,
      reward: amount(body.reward),
      fees: amount(body.fees),
      minimumGasFunds: amount(body.minimumGasFunds),
    };
  }

  /** @param request.anchors hex */
  async sample(
    request: { readonly depth: number; readonly anchors: readonly [string, string] },
    signal?: AbortSignal,
  ): Promise<ReserveSample> {
    expectWhole('redistribution.sample: depth', request.depth, { min: 0, max: 255 });
    const path = `/rchash/${request.depth}/${request.anchors.join('/')}`;
    return this.#http.json<ReserveSample>({ method: 'GET', path, timeoutMs: SAMPLE_TIMEOUT_MS, signal });
  }
}

type TransactionJson = Record<'gasPrice' | 'gasTipCap' | 'gasFeeCap' | 'value' | 'gasLimit', AmountJson> &
  Omit<PendingTransaction, 'gasPrice' | 'gasTipCap' | 'gasFeeCap' | 'value' | 'gasLimit'>;

function transactionOf(row: TransactionJson): PendingTransaction {
  return {
    ...row,
    to: plainHex(row.to),
    gasPrice: amount(row.gasPrice),
    gasTipCap: amount(row.gasTipCap),
    gasFeeCap: amount(row.gasFeeCap),
    value: amount(row.value),
    gasLimit: Number(row.gasLimit),
  };
}

/** `/transactions`: what the node has sent. @throws ClientError from every method */
export class TransactionsClient {
  readonly #http: HttpClient;

  constructor(http: HttpClient) {
    this.#http = http;
  }

  async pending(signal?: AbortSignal): Promise<readonly PendingTransaction[]> {
    type Body = { pendingTransactions: TransactionJson[] | null };
    const body = await this.#http.get<Body>('/transactions', signal);
    return (body.pendingTransactions ?? []).map(transactionOf);
  }

  /** @throws ClientError `http.404` for one that the node has not sent */
  async get(hash: string, signal?: AbortSignal): Promise<PendingTransaction> {
    expectChainHex('transactions.get: hash', hash, DIGITS.hash);
    return transactionOf(await this.#http.get<TransactionJson>(`/transactions/${hash}`, signal));
  }

  /** @throws ClientError `http.400` when the endpoint still has it */
  async resend(hash: string, signal?: AbortSignal): Promise<string> {
    expectChainHex('transactions.resend: hash', hash, DIGITS.hash);
    return sent(this.#http, { method: 'POST', path: `/transactions/${hash}`, signal });
  }

  /** Replaces it with one that does nothing. @returns hash of the replacement */
  async cancel(hash: string, options: { gasPrice?: bigint; signal?: AbortSignal } = {}): Promise<string> {
    const { gasPrice, signal } = options;
    expectChainHex('transactions.cancel: hash', hash, DIGITS.hash);
    if (gasPrice !== undefined) expectAmount('transactions.cancel: gasPrice', gasPrice);
    const headers = gasPrice === undefined ? {} : { 'gas-price': gasPrice.toString() };
    return sent(this.#http, { method: 'DELETE', path: `/transactions/${hash}`, headers, signal });
  }
}
