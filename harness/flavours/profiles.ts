/** Timing constants of a cluster: `fast` for tests in seconds, `production` for the network's own values. */
export const PROFILES = ['fast', 'production'] as const;
/** Timing of the nodes. */
export type Profile = (typeof PROFILES)[number];

/**
 * How much peers lend each other: `high` so much that no cheque is ever sent, `network` as much as on the
 * public network, `low` so little that a few dozen chunks are paid by cheque at once.
 */
export const CREDITS = ['high', 'network', 'low'] as const;
/** How much peers lend each other: see `CREDITS`. */
export type Credit = (typeof CREDITS)[number];
