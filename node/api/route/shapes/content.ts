import { CHUNK_EVENT_KINDS } from '../../../env/chunk-events.ts';
import type { Dialect } from '../../dialect.ts';
import {
  byName,
  chainAddress,
  dateTime,
  flag,
  givenKey,
  hex8,
  hex32,
  hex64,
  hex65,
  list,
  number,
  object,
  oneOf,
  publicKey,
  reference,
  text,
  uint,
} from './json-schema.ts';

const tag = object({
  split: uint,
  seen: uint,
  stored: uint,
  sent: uint,
  synced: uint,
  uid: uint,
  address: text,
  startedAt: dateTime,
});
const pinCheck = object({ reference, total: uint, missing: uint, invalid: uint });

export const contentShapes = ({ pinChecks, tagReferenceKeys }: Dialect) => ({
  ReferenceResponse: object({ reference }),
  Envelope: object({ issuer: chainAddress, index: hex8, timestamp: hex8, signature: hex65 }),
  ManifestListing: object({
    entries: list(object({ path: text, reference, metadata: byName('', text) })),
    commonPrefixes: list(text),
    truncated: flag,
    nextMarker: text,
  }),
  Tag: tag,
  TagList: object({ tags: list(tag) }),
  TagCreation: object({}),
  TagPatch: object({}, Object.fromEntries(tagReferenceKeys.map((key) => [key, reference]))),
  PinList: object({ references: list(reference) }),
  // Otherwise each record is a document.
  PinChecks: pinChecks.start === '' ? pinCheck : list(pinCheck),
  Retrievability: object({ isRetrievable: flag }),
  GranteesCreation: object({}, { grantees: list(givenKey) }),
  GranteesPatch: object({}, { add: list(givenKey), revoke: list(givenKey) }),
  GranteesChange: object({ ref: hex64, historyref: hex32 }),
  PublicKeys: list(publicKey),
  ChunkEvents: object({
    events: list(
      object(
        { seq: uint, at: number, address: hex32, kind: oneOf(Object.keys(CHUNK_EVENT_KINDS)) },
        { peer: hex32, ms: number, attempt: uint, of: uint, detail: text },
      ),
    ),
    last: uint,
    lost: uint,
    capacity: uint,
  }),
});
