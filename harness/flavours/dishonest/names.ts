/** What a dishonest node can do. */
export const BEHAVIOUR_NAMES = [
  'wrong-data',
  'other-chunk',
  'forged-receipts',
  'shallow-receipts',
  'no-store',
  'silent',
  'bad-stamps',
  'empty-offers',
  'stale-gossip',
  'forged-gossip',
  'eclipse',
  'freeload',
  'refuse-to-pay',
  'forged-cheques',
  'bouncing-cheques',
  'absurd-prices',
  'slow-streams',
  'endless-streams',
  'flood',
  'handshake-garbage',
] as const;
/** What a dishonest node does, as a definition names it. */
export type BehaviourName = (typeof BEHAVIOUR_NAMES)[number];

export const SPOILS_CONNECTIONS: readonly BehaviourName[] = ['handshake-garbage'];
