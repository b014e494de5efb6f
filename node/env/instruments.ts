import type { Clock } from '../../formats/clock.ts';
import type { ChunkEvents } from './chunk-events.ts';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';
import type { Tracing } from './tracing/tracing.ts';

/** What a part of the node is observed with. */
export interface Instruments {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Undefined: this node keeps no events. */
  readonly events?: ChunkEvents | undefined;
  /** Undefined: this node does not trace. */
  readonly tracing?: Tracing | undefined;
}
