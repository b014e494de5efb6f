/** Names that differ between the HTTP API's two dialects (`http-api-completion.md` 1.1). */
export const DIALECT_NAMES = ['svc', 'swarm'] as const;
/** Names and values that a node uses on HTTP: `svc` of this package, `swarm` of Bee. */
export type DialectName = (typeof DIALECT_NAMES)[number];

/** Names on HTTP that differ between the dialects. */
export interface Dialect {
  readonly name: DialectName;
  /** Prefix of request and response headers. */
  readonly headerPrefix: string;
  /** Path segment of files and collections. */
  readonly files: string;
  readonly modeField: string;
  readonly tokenBalanceField: string;
  /** Path segment of the token where a coin is chosen. */
  readonly tokenCoin: string;
}

export const DIALECTS = {
  svc: {
    name: 'svc',
    headerPrefix: 'svc-',
    files: '/svc',
    modeField: 'svcMode',
    tokenBalanceField: 'svcBalance',
    tokenCoin: 'svc',
  },
  swarm: {
    name: 'swarm',
    headerPrefix: 'swarm-',
    files: '/bzz',
    modeField: 'beeMode',
    tokenBalanceField: 'bzzBalance',
    tokenCoin: 'bzz',
  },
} as const satisfies Record<DialectName, Dialect>;
