/** Conditions of the connections of one link; absent ones change nothing. */
export interface LinkConditions {
  /** Added to a round trip: half each way, or all of it if only one is meant. */
  readonly latencyMs?: number | undefined;
  /** A round trip varies by up to this much either way; the order of data stays. */
  readonly jitterMs?: number | undefined;
  readonly bytesPerSecond?: number | undefined;
  /** Share of lost packets, 0 to 1. TCP resends: later data waits a round trip, at least 200 ms. */
  readonly loss?: number | undefined;
  /** Connections stay, new ones wait; data arrives when the fault ends. */
  readonly stall?: true | undefined;
  /** What is sent is lost, ends of connections too; such connections are reset when the fault ends. */
  readonly halfOpen?: true | undefined;
  /** Connections open when it begins are reset. */
  readonly reset?: true | undefined;
  /** Resets new connections. */
  readonly refuse?: true | undefined;
  /** A connection is reset after so many bytes, both directions together. */
  readonly cutAfterBytes?: number | undefined;
  /** The end of a connection arrives so much later. */
  readonly slowCloseMs?: number | undefined;
}

const MBIT = 125_000;

export const LINK_PROFILES = {
  lan: { latencyMs: 0.2 },
  metro: { latencyMs: 5, jitterMs: 1, bytesPerSecond: 1000 * MBIT },
  continent: { latencyMs: 40, jitterMs: 8 },
  world: { latencyMs: 150, jitterMs: 40, bytesPerSecond: 50 * MBIT },
  mobile: { latencyMs: 300, jitterMs: 150, bytesPerSecond: 2 * MBIT, loss: 0.01 },
  satellite: { latencyMs: 600, jitterMs: 30 },
  bad: { latencyMs: 800, jitterMs: 400, loss: 0.05 },
} as const satisfies Record<string, LinkConditions>;
/** Conditions of a link by name, such as `mobile`. */
export type LinkProfile = keyof typeof LINK_PROFILES;
export const LINK_PROFILE_NAMES = Object.keys(LINK_PROFILES) as [LinkProfile, ...LinkProfile[]];

/** TCP's shortest retransmission timeout. */
const RETRANSMIT_MIN_MS = 200;

export interface Shape {
  readonly delayMs: number;
  readonly jitterMs: number;
  /** Infinite: as fast as it goes. */
  readonly bytesPerSecond: number;
  readonly loss: number;
  readonly retransmitMs: number;
  readonly stalls: boolean;
  readonly swallows: boolean;
  readonly closeDelayMs: number;
}

export const FREE: Shape = {
  delayMs: 0,
  jitterMs: 0,
  bytesPerSecond: Number.POSITIVE_INFINITY,
  loss: 0,
  retransmitMs: 0,
  stalls: false,
  swallows: false,
  closeDelayMs: 0,
};

export function shapeOf(given: readonly { conditions: LinkConditions; oneWay: boolean }[]): Shape {
  if (given.length === 0) return FREE;
  const sum = (value: (one: LinkConditions) => number | undefined) =>
    given.reduce((all, { conditions, oneWay }) => all + (value(conditions) ?? 0) * (oneWay ? 1 : 0.5), 0);
  const all = given.map(({ conditions }) => conditions);
  const roundTripMs = all.reduce((ms, { latencyMs = 0 }) => ms + latencyMs, 0);
  return {
    delayMs: sum(({ latencyMs }) => latencyMs),
    jitterMs: sum(({ jitterMs }) => jitterMs),
    bytesPerSecond: Math.min(...all.map(({ bytesPerSecond = Number.POSITIVE_INFINITY }) => bytesPerSecond)),
    loss: 1 - all.reduce((arriving, { loss = 0 }) => arriving * (1 - loss), 1),
    retransmitMs: Math.max(RETRANSMIT_MIN_MS, roundTripMs),
    stalls: all.some(({ stall }) => stall === true),
    swallows: all.some(({ halfOpen }) => halfOpen === true),
    closeDelayMs: Math.max(0, ...all.map(({ slowCloseMs = 0 }) => slowCloseMs)),
  };
}

export function isSlow({ delayMs, jitterMs, bytesPerSecond, loss }: Shape): boolean {
  return delayMs > 0 || jitterMs > 0 || loss > 0 || Number.isFinite(bytesPerSecond);
}
