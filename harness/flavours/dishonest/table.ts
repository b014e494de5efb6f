import type { Behaviour } from './behaviour.ts';
import {
  BAD_STAMPS,
  FORGED_RECEIPTS,
  NO_STORE,
  OTHER_CHUNK,
  SHALLOW_RECEIPTS,
  SILENT,
  WRONG_DATA,
} from './chunks.ts';
import { ECLIPSE } from './eclipse.ts';
import { FORGED_GOSSIP, STALE_GOSSIP } from './gossip.ts';
import { HANDSHAKE_GARBAGE } from './handshakes.ts';
import { ABSURD_PRICES, BOUNCING_CHEQUES, FORGED_CHEQUES, FREELOAD, REFUSE_TO_PAY } from './money.ts';
import type { BehaviourName } from './names.ts';
import { ENDLESS_STREAMS, FLOOD, SLOW_STREAMS } from './streams.ts';
import { EMPTY_OFFERS } from './sync.ts';

export const BEHAVIOURS: Readonly<Record<BehaviourName, Behaviour>> = {
  'wrong-data': WRONG_DATA,
  'other-chunk': OTHER_CHUNK,
  'forged-receipts': FORGED_RECEIPTS,
  'shallow-receipts': SHALLOW_RECEIPTS,
  'no-store': NO_STORE,
  silent: SILENT,
  'bad-stamps': BAD_STAMPS,
  'empty-offers': EMPTY_OFFERS,
  'stale-gossip': STALE_GOSSIP,
  'forged-gossip': FORGED_GOSSIP,
  eclipse: ECLIPSE,
  freeload: FREELOAD,
  'refuse-to-pay': REFUSE_TO_PAY,
  'forged-cheques': FORGED_CHEQUES,
  'bouncing-cheques': BOUNCING_CHEQUES,
  'absurd-prices': ABSURD_PRICES,
  'slow-streams': SLOW_STREAMS,
  'endless-streams': ENDLESS_STREAMS,
  flood: FLOOD,
  'handshake-garbage': HANDSHAKE_GARBAGE,
};
