/** What a node says about itself: Get is answered by a Snapshot. `p2p-protocols.md` 4.5. */
import type { Clock } from '../../../formats/clock.ts';
import type { Logger } from '../../env/logger.ts';
import type { MessageOf } from '../../p2p/codec/message.ts';
import type { Host, Peer } from '../../p2p/host.ts';
import { converse, timeLimit } from '../conversation.ts';
import { Get, Snapshot, STATUS } from './wire.ts';

const TIMEOUT_MS = 10_000;

export type StatusSnapshot = MessageOf<typeof Snapshot>;

export interface StatusDeps {
  readonly host: Pick<Host, 'handle' | 'open'>;
  readonly snapshot: () => StatusSnapshot;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface Status {
  /** @throws StreamError; TimeoutError after 10 s; the signal's reason */
  request(peer: Peer, signal: AbortSignal): Promise<StatusSnapshot>;
}

export function createStatus(deps: StatusDeps): Status {
  const { host, clock } = deps;
  host.handle(STATUS, async (stream) => {
    using _limit = timeLimit(stream, TIMEOUT_MS, clock);
    await stream.read(Get);
    await stream.write(Snapshot, deps.snapshot());
  });
  return {
    async request(peer, signal) {
      using deadline = clock.deadline(TIMEOUT_MS, signal);
      return await converse({ peer, protocol: STATUS.id, signal: deadline.signal }, deps, async (stream) => {
        await stream.write(Get, {});
        return stream.read(Snapshot);
      });
    },
  };
}
