export const PROFILES = ['fast', 'production'] as const;
/** Timing of the nodes. */
export type Profile = (typeof PROFILES)[number];

/** `high`: no cheque is ever sent; `network`: as on the public network; `low`: a few dozen chunks cost a cheque. */
export const CREDITS = ['high', 'network', 'low'] as const;
/** How much peers lend each other: see `CREDITS`. */
export type Credit = (typeof CREDITS)[number];
