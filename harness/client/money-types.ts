/** What nodes report about their money. Amounts are `bigint`, addresses 40 lower-case hex digits. */

export interface Wallet {
  /** Token units. */
  readonly tokenBalance: bigint;
  /** wei */
  readonly nativeBalance: bigint;
  /** Id of the chain. */
  readonly chainId: number;
  readonly address: string;
}

/** What a peer (overlay, 64 hex digits) owes, accounting units; negative: what is owed to it. */
export interface Balance {
  readonly peer: string;
  /** Accounting units. */
  readonly balance: bigint;
}

/** What was settled with each peer (overlay) and in total. */
export interface Settlements {
  /** Cheques: token units; settlements by time: accounting units. */
  readonly totalReceived: bigint;
  /** Units as in `totalReceived`. */
  readonly totalSent: bigint;
  readonly settlements: readonly {
    readonly peer: string;
    readonly received: bigint;
    readonly sent: bigint;
  }[];
}

/** Books of a node about one peer, accounting units; positive: the peer owes. */
export interface PeerAccount {
  readonly peer: string;
  /** Debt less what was paid ahead. */
  readonly balance: bigint;
  /** Debt without what was paid ahead. */
  readonly consumedBalance: bigint;
  /** Debt at which the peer wants to be paid. */
  readonly thresholdReceived: bigint;
  /** Debt at which the peer has to pay. */
  readonly thresholdGiven: bigint;
  /** Credit that the peer gives now: its threshold and what it forgives by time. */
  readonly currentThresholdReceived: bigint;
  /** Debt at which the peer is disconnected. */
  readonly currentThresholdGiven: bigint;
  /** What the peer has paid beyond its debt. */
  readonly surplusBalance: bigint;
  /** Price of requests to the peer that are under way. */
  readonly reservedBalance: bigint;
  /** Price of requests of the peer that are under way. */
  readonly shadowReservedBalance: bigint;
  /** Price of what the peer asked for and did not take. */
  readonly ghostBalance: bigint;
}

/** Of a chequebook, token units. */
export interface ChequebookBalance {
  /** What the contract holds. */
  readonly totalBalance: bigint;
  /** The same minus what uncashed cheques promise. */
  readonly availableBalance: bigint;
}

/** A promise of everything ever paid by a chequebook to a beneficiary. */
export interface Cheque {
  /** 40 hex digits. */
  readonly beneficiary: string;
  readonly chequebook: string;
  /** Cumulative, token units. */
  readonly payout: bigint;
}

/** The last cheques exchanged with a peer. */
export interface Cheques {
  /** Overlay. */
  readonly peer: string;
  readonly received: Cheque | undefined;
  readonly sent: Cheque | undefined;
}

/** What happened to the cheques of a peer. */
export interface Cashout {
  readonly peer: string;
  readonly lastCashed: Cheque | undefined;
  readonly transactionHash: string | undefined;
  /** Undefined before the first one, while one is pending, and when it failed. */
  readonly result:
    | { readonly recipient: string; readonly lastPayout: bigint; readonly bounced: boolean }
    | undefined;
  /** Token units. */
  readonly uncashedAmount: bigint;
}

/** A transaction that has not been mined. Amounts in base units. */
export interface PendingTransaction {
  readonly transactionHash: string;
  /** 40 hex digits. */
  readonly to: string;
  /** Count of the earlier transactions of the account. */
  readonly nonce: number;
  /** wei per gas. */
  readonly gasPrice: bigint;
  /** Gas. */
  readonly gasLimit: number;
  /** Percent. */
  readonly gasTipBoost: number;
  /** wei per gas. */
  readonly gasTipCap: bigint;
  /** wei per gas. */
  readonly gasFeeCap: bigint;
  /** Hex with `0x`. */
  readonly data: string;
  readonly created: string;
  readonly description: string;
  /** wei */
  readonly value: bigint;
}

/** The state of a node in the storage game. Amounts in token units. */
export interface RedistributionState {
  readonly phase: string;
  /** Number of the round. */
  readonly round: number;
  /** Block number. */
  readonly block: number;
  /** Number of a round; 0: none. */
  readonly lastWonRound: number;
  /** Number of a round; 0: none. */
  readonly lastPlayedRound: number;
  /** Number of a round; 0: none. */
  readonly lastFrozenRound: number;
  /** Number of a round; 0: none. */
  readonly lastSelectedRound: number;
  /** Seconds. */
  readonly lastSampleDurationSeconds: number;
  /** Token units, in total. */
  readonly reward: bigint;
  /** wei, in total. */
  readonly fees: bigint;
  /** wei */
  readonly minimumGasFunds: bigint;
  readonly hasSufficientFunds: boolean;
  readonly isFrozen: boolean;
  readonly isFullySynced: boolean;
  readonly isHealthy: boolean;
}

/** What a node would commit to, with its proofs. */
export interface ReserveSample {
  /** 64 hex digits. */
  readonly hash: string;
  readonly proofs: Readonly<Record<'proof1' | 'proof2' | 'proofLast', unknown>>;
  /** Seconds. */
  readonly durationSeconds: number;
}
