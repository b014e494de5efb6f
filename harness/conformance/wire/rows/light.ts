/** A light node's answers: `p2p-protocols.md` 0 and 8. */

import { HeadersMessage } from '../../../../node/p2p/stream/headers.ts';
import { PULLSYNC } from '../../../../node/protocols/pullsync/wire.ts';
import { PUSHSYNC } from '../../../../node/protocols/pushsync/wire.ts';
import { RETRIEVAL } from '../../../../node/protocols/retrieval/wire.ts';
import type { WireRow } from '../subject.ts';
import { refusedAgain } from './retrieval.ts';

export const LIGHT_ROWS: readonly WireRow[] = [RETRIEVAL.id, PUSHSYNC.id, PULLSYNC.id].map((id) => ({
  id: `light node and ${id.split('/')[2]}`,
  group: 'light node',
  level: 'read',
  mode: 'light',
  about: 'refuses a peer for a while that asks it for what only full nodes serve',
  async check(desk) {
    const peer = await desk.fresh();
    const conversation = await peer.open(id);
    conversation.send(HeadersMessage, {}, 'Headers');
    await peer.mustEnd();
    await refusedAgain(desk, peer);
  },
}));
