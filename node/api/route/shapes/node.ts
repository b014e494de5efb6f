import type { Dialect } from '../../dialect.ts';
import {
  anything,
  byName,
  chainAddress,
  type Fields,
  flag,
  hex32,
  integer,
  list,
  named,
  object,
  prefix,
  publicKey,
  text,
  uint,
} from './json-schema.ts';

const ACKNOWLEDGEMENT: Fields = { code: integer, message: text };

export function nodeShapes({ fields, welcomeWithHealth, wholeLoggers }: Dialect) {
  const health: Fields = {
    status: text,
    version: text,
    apiVersion: text,
    ...named(fields.debugApiVersion, text),
  };
  return {
    Acknowledgement: object(ACKNOWLEDGEMENT),
    Problem: object(ACKNOWLEDGEMENT, { reasons: list(anything) }),
    Addresses: object({
      overlay: hex32,
      underlay: list(text),
      ethereum: chainAddress,
      chain_address: chainAddress,
      publicKey,
      pssPublicKey: publicKey,
    }),
    Health: object(health),
    Readiness: object({ status: text, version: text, apiVersion: text }),
    NodeInfo: object({ ...named(fields.mode, text), chequebookEnabled: flag, swapEnabled: flag }),
    WelcomeMessage: object({ welcomeMessage: text }),
    WelcomeAnswer: object(welcomeWithHealth ? { ...health, ...ACKNOWLEDGEMENT } : ACKNOWLEDGEMENT),
    Backlog: backlog,
    StoreCounters: storeCounters,
    Loggers: loggers(wholeLoggers),
    OpenApi: object({ openapi: text, info: anything, paths: anything }),
  };
}

const backlog = object({
  reserve: object(
    {
      capacity: uint,
      size: uint,
      sizeWithinRadius: uint,
      storageRadius: uint,
      full: flag,
      leftovers: list(object({ neighborhood: prefix, chunks: uint })),
    },
    { missing: prefix, refusal: text },
  ),
  disk: object({ full: flag }),
  uploads: list(object({ neighborhood: prefix, chunks: uint, reason: text, since: uint })),
});

const storeCounters = object({
  Upload: object({ TotalUploaded: uint, TotalSynced: uint, PendingUpload: uint }),
  Pinning: object({ TotalCollections: uint, TotalChunks: uint }),
  Cache: object({ Size: uint, Capacity: uint }),
  Reserve: object({
    SizeWithinRadius: uint,
    TotalSize: uint,
    Capacity: uint,
    LastBinIDs: { ...list(uint), minItems: 32, maxItems: 32 },
    Epoch: uint,
  }),
  ChunkStore: object({ TotalChunks: uint, SharedSlots: uint, ReferenceCount: uint }),
});

const ANY_NAME = '^.*$';
function loggers(whole: boolean) {
  // The same shape at every depth.
  const children = byName(ANY_NAME, object({}));
  const entry = whole ? object({ '/': children, '+': text }) : object({}, { '/': children, '+': list(text) });
  return object({
    tree: byName(ANY_NAME, entry),
    loggers: list(
      object({
        logger: text,
        verbosity: text,
        subsystem: text,
        id: { ...text, contentEncoding: 'base64url' },
      }),
    ),
  });
}
