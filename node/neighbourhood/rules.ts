/** Pure decisions of the reserve worker. `node-behaviour.md` 2.5. */

/** Part of the capacity below which a reserve is too empty for its radius. */
const FILLED_MIN = 0.5;

/** Is there room for the chunks of twice the neighbourhood? Not while more may still come from the peers there are. */
export function isTooEmpty(reserve: {
  readonly withinRadius: number;
  readonly capacity: number;
  /** Historical chunks per second that peers send. */
  readonly pullRate: number;
}): boolean {
  return reserve.withinRadius < reserve.capacity * FILLED_MIN && reserve.pullRate === 0;
}
