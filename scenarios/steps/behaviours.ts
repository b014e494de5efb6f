import type { Counts } from 'svcnet/scenario';
import { inTime, type Limits } from './steps.ts';

interface Acting {
  readonly what: string;
  readonly counts: () => Promise<Counts>;
  /** Gives it another occasion, perhaps for longer than the wait. */
  readonly exchange: () => Promise<void>;
}

/** @returns undefined: nothing in time */
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
