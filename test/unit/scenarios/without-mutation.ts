/**
 * As `file: name`, with … for what a run fills in. A new mutation takes its condition out; a new condition does not go in.
 */
export const WITHOUT_MUTATION: readonly string[] = [
  // Such a node must speak over TCP.
  'known/bee-handshake.ts: …: … (…)',
];
