/** Routes in any order: literal segments win. */
import type { Route } from '../route/route.ts';
import { ACCOUNTING_ROUTES } from './accounting.ts';
import { BYTES_ROUTES } from './bytes.ts';
import { CHEQUEBOOK_ROUTES } from './chequebook.ts';
import { CHUNK_EVENT_ROUTES } from './chunk-events.ts';
import { CHUNK_ROUTES } from './chunks.ts';
import { ENVELOPE_ROUTES } from './envelope.ts';
import { FEED_ROUTES } from './feeds.ts';
import { FILE_ROUTES } from './files.ts';
import { GRANTEE_ROUTES } from './grantees.ts';
import { INCENTIVE_ROUTES } from './incentives.ts';
import { LOGGER_ROUTES } from './loggers.ts';
import { MESSAGING_ROUTES } from './messaging.ts';
import { NODE_ROUTES } from './node.ts';
import { PEER_ROUTES } from './peers.ts';
import { PIN_ROUTES } from './pins.ts';
import { POSTAGE_ROUTES } from './postage.ts';
import { SOC_ROUTES } from './soc.ts';
import { STATUS_ROUTES } from './status.ts';
import { STEWARDSHIP_ROUTES } from './stewardship.ts';
import { TAG_ROUTES } from './tags.ts';
import { TECHNICAL_ROUTES } from './technical.ts';
import { TRANSACTION_ROUTES } from './transactions.ts';
import { WALLET_ROUTES } from './wallet.ts';

export const ROUTES: readonly Route[] = [
  ...BYTES_ROUTES,
  ...CHUNK_ROUTES,
  ...CHUNK_EVENT_ROUTES,
  ...FILE_ROUTES,
  ...SOC_ROUTES,
  ...FEED_ROUTES,
  ...GRANTEE_ROUTES,
  ...MESSAGING_ROUTES,
  ...ENVELOPE_ROUTES,
  ...TAG_ROUTES,
  ...PIN_ROUTES,
  ...STEWARDSHIP_ROUTES,
  ...POSTAGE_ROUTES,
  ...NODE_ROUTES,
  ...PEER_ROUTES,
  ...ACCOUNTING_ROUTES,
  ...INCENTIVE_ROUTES,
  ...WALLET_ROUTES,
  ...TRANSACTION_ROUTES,
  ...CHEQUEBOOK_ROUTES,
  ...STATUS_ROUTES,
  ...TECHNICAL_ROUTES,
  ...LOGGER_ROUTES,
];
