/** What a dishonest node has done. */
import type { Counts } from 'svcnet/scenario';
import { inTime, type Limits } from './steps.ts';

interface Acting {
  readonly what: string;
  /** What it has done so far. */
  readonly counts: () => Promise<Counts>;
  /** Gives it another occasion; may take longer than the wait. */
  readonly exchange: () => Promise<void>;
}

/** @returns what it has done, once that is something; undefined when it has done nothing in time */
export async function countsOnceActed(
  { what, counts, exchange }: Acting,
  limits: Limits,
): Promise<Counts | undefined> {
  let seen: Counts = {};
  const hasActed = async () => {
    seen = await counts();
    return Object.values(seen).some((count) => count > 0);
  };
  const probe = async () => {
    if (await hasActed()) return undefined;
    await exchange();
    return (await hasActed()) ? undefined : 'nothing';
  };
  return (await inTime(what, probe, limits)) === undefined ? seen : undefined;
}
