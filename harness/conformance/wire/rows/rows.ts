/** In the order in which a connection reaches them. */
import type { Row } from '../../row.ts';
import { type Desk, rowOf, type WireRow, type WireSubject } from '../subject.ts';
import { CONNECTION_ROWS, strangerStays } from './connection.ts';
import { HANDSHAKE_ROWS, silentHandshake } from './handshake.ts';
import { HOSTILE_ROWS } from './hostile.ts';
import { LIGHT_ROWS } from './light.ts';
import { PSEUDOSETTLE_ROWS, SWAP_ROWS } from './money.ts';
import { HIVE_ROWS, PINGPONG_ROWS, PRICING_ROWS, STATUS_ROWS } from './peers.ts';
import { PULLSYNC_ROWS } from './pullsync.ts';
import { PUSHSYNC_ROWS } from './pushsync.ts';
import { RETRIEVAL_ROWS } from './retrieval.ts';
import { STREAM_ROWS, silentHeaders } from './streams.ts';

export const BACKGROUND_CHECKS: Readonly<Record<string, (desk: Desk) => Promise<void>>> = {
  stranger: strangerStays,
  'silent handshake': silentHandshake,
  'silent headers': silentHeaders,
};

const table: readonly WireRow[] = [
  ...CONNECTION_ROWS,
  ...HANDSHAKE_ROWS,
  ...STREAM_ROWS,
  ...PRICING_ROWS,
  ...PINGPONG_ROWS,
  ...STATUS_ROWS,
  ...HIVE_ROWS,
  ...PUSHSYNC_ROWS,
  ...PULLSYNC_ROWS,
  ...RETRIEVAL_ROWS,
  ...LIGHT_ROWS,
  ...PSEUDOSETTLE_ROWS,
  ...SWAP_ROWS,
  ...HOSTILE_ROWS,
];

export const WIRE_ROWS: readonly Row<WireSubject>[] = table
  .toSorted((a, b) => lateness(a) - lateness(b))
  .map(rowOf);

function lateness({ background, mayEndIt }: WireRow): number {
  if (mayEndIt === true) return 2;
  return background === undefined ? 0 : 1;
}
