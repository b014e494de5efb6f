/** The names that differ between the two dialects of the HTTP API: one table, two columns (http-api-completion 1.1). */
export interface Dialect {
  readonly name: 'svc' | 'swarm';
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
} as const satisfies Record<string, Dialect>;
