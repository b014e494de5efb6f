import { type MemoryNode, startedNodes } from './memory-nodes.ts';

export const never = new AbortController().signal;

export async function pair(options: Parameters<typeof startedNodes>[1] = {}) {
  const [a, b] = (await startedNodes(2, options)) as [MemoryNode, MemoryNode];
  return { a, b };
}
