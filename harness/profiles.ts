/** Timing constants of a cluster: `fast` for tests in seconds, `production` for the network's own values. */
export const PROFILES = ['fast', 'production'] as const;
export type Profile = (typeof PROFILES)[number];
