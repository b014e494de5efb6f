/**
 * Conditions of scenarios that no test turns red, as `file: name` with … for what a run fills in. A new mutation takes
 * its condition out; a new condition does not go in.
 */
export const WITHOUT_MUTATION: readonly string[] = [
  // Only a node that speaks over TCP can be introduced to.
  'known/bee-handshake.ts: …: … (…)',
];
