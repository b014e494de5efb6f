import { expect } from 'vitest';
import { type Node, upToDate } from './kit.ts';

export const TERMS = { amount: 10_000_000n, depth: 17, immutable: true };

/** Every block is a page of its own. */
export async function mineSlowly(own: Node, blocks: number): Promise<void> {
  for (let i = 0; i < blocks; i++) {
    own.chain.mine();
    await upToDate(own);
  }
}

export async function metric({ metrics }: Node, name: string): Promise<number> {
  const lines = (await metrics.expose()).split('\n');
  return Number(lines.find((line) => line.startsWith(`svc_${name} `))?.split(' ')[1]);
}

export function endings({ postage }: Node, id: Uint8Array): boolean[] {
  const seen: boolean[] = [];
  postage.onExpired(() => seen.push(postage.awaited(id)));
  return seen;
}

export async function settled(own: Node): Promise<void> {
  await expect.poll(() => own.postage.batches.chainState().block, { interval: 1 }).toBe(own.chain.head);
  await new Promise(setImmediate);
}
