/**
 * Conditions of scenarios that no test turns red, as `file: name` with … for what a run fills in. Whoever adds a mutation
 * takes its condition out; a new condition does not go in.
 */
export const WITHOUT_MUTATION: readonly string[] = [
  // Only a node that speaks over TCP can be introduced to.
  'known/bee-handshake.ts: …: … (…)',
  'steps/storm/checks.ts: chunks are on every node of their neighbourhood',
  'steps/storm/checks.ts: every deferred upload reaches the network',
  'steps/storm/checks.ts: every upload is delivered',
  'steps/storm/checks.ts: no node has served or named anything wrong',
  'steps/storm/checks.ts: no node refuses another',
  'steps/storm/checks.ts: the mesh is whole again',
  'steps/storm/growth.ts: memory, handles and disk of every node stay within bounds',
  'steps/storm/messages.ts: every message is heard by the node it is for',
  'steps/storm/messages.ts: no message is heard twice',
  'storm.ts: every fault has an effect',
  'storm.ts: faults are begun',
  'storm.ts: nodes take uploads',
];
