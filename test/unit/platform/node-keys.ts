import { keccak256 } from '../../../formats/crypto/keccak.ts';
import type { NodeKeys } from '../../../node/platform/platform.ts';

export function keysOf(seed: string, n: number): NodeKeys {
  const key = (name: string) => keccak256(Buffer.from(`${seed} ${n} ${name}`));
  return { swarm: key('swarm'), libp2p: key('libp2p'), pss: key('pss') };
}
