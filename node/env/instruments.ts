import type { Clock } from '../../formats/clock.ts';
import type { ChunkEvents } from './chunk-events.ts';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';
import type { Tracing } from './tracing/tracing.ts';

export interface Instruments {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Undefined: keeps no events. */
  readonly events?: ChunkEvents | undefined;
  /** Undefined: does not trace. */
  readonly tracing?: Tracing | undefined;
}
