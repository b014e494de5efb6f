import { Mismatch } from '../row.ts';

/** @throws Mismatch */
export function must(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Mismatch(message);
}
