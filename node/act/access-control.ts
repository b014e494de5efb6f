/** Who may read what, and since when, stored as content. `node-behaviour.md` 8.4, `data-formats.md` 7.3. */
import { ChunkNotFoundError } from '../../formats/chunk/chunk.ts';
import type { Clock } from '../../formats/clock.ts';
import { KEY_SIZE, transcrypt } from '../../formats/crypto/counter-mode.ts';
import { toHex } from '../../formats/crypto/hex.ts';
import type { Random } from '../../formats/random.ts';
import { randomEncryption } from '../files/encryption.ts';
import { JoinError } from '../files/tree.ts';
import { load, type Reading, store, type Writing } from './content.ts';
import { ActError } from './errors.ts';
import { decodeGrantees, encodeGrantees, GRANTEES_SIZE_MAX, withAdded, withoutRevoked } from './grantees.ts';
import { History } from './history.ts';
import { KeyValues } from './key-values.ts';
import { createSession, type Session } from './session.ts';

const MS_PER_SECOND = 1000;
/** Some 25,000 readers. */
const ACCESS_LIST_SIZE_MAX = 4 * 1024 * 1024;
/** A history's entries differ by their second; after so many taken ones the clock stands still. */
const SECONDS_TRIED_MAX = 5;
/** Key agreements per turn: some seven milliseconds. */
const GRANTED_AT_ONCE = 128;
/** Where the publisher finds the list of grantees. */
const GRANTEES_REFERENCE = 'encryptedglref';

interface Protected {
  /** Encrypted, as long as the plain one. */
  readonly reference: Uint8Array;
  /** 32 bytes. */
  readonly history: Uint8Array;
}

interface Request {
  readonly reference: Uint8Array;
  /** SEC1. */
  readonly publisher: Uint8Array;
  readonly history: Uint8Array;
  /** Unix seconds; default: now. */
  readonly timestamp: number | undefined;
}

interface Change {
  /** Encrypted reference; absent: a new list. */
  readonly grantees?: Uint8Array;
  /** Absent: a new one, and no one is revoked. */
  readonly history: Uint8Array | undefined;
  /** Compressed. */
  readonly add: readonly Uint8Array[];
  readonly revoke?: readonly Uint8Array[];
}

interface Changed {
  /** Encrypted for the publisher, 64 bytes. */
  readonly grantees: Uint8Array;
  readonly history: Uint8Array;
  /** Root of the list's content, 64 bytes. */
  readonly stored: Uint8Array;
}

/** All throw ActError; ChunkNotFoundError for a missing history or access list; errors of the putter. */
export interface AccessControl {
  /**
   * For current readers; in a new history only the publisher. @throws ActError `ENTRY_NOT_FOUND` when the history is another
   * publisher's
   */
  protect(reference: Uint8Array, history: Uint8Array | undefined, io: Writing): Promise<Protected>;
  /** The plain reference, for authorised readers; a wrong encrypted one gives a wrong plain one. */
  reveal(request: Request, io: Reading): Promise<Uint8Array>;
  /** Revoked grantees cannot read with the new history; earlier content stays readable. */
  change(change: Change, io: Writing): Promise<Changed>;
  /** Compressed. @throws ActError `GRANTEES_UNAVAILABLE` also for another publisher's list */
  grantees(reference: Uint8Array, io: Reading): Promise<Uint8Array[]>;
}

interface Deps {
  readonly clock: Clock;
  readonly random: Random;
}

/** @param privateKey of the chain account, 32 bytes: publisher and reader */
export function createAccessControl(privateKey: Uint8Array, { clock, random }: Deps): AccessControl {
  const self = createSession(privateKey);
  const newList = () => newAccessList(self, random.bytes(KEY_SIZE));
  const now = () => Math.floor(clock.now() / MS_PER_SECOND);

  return {
    async protect(reference, given, io) {
      const list = given === undefined ? newList() : await currentList(given, now(), io);
      const history = given ?? (await begin(list, io));
      return { reference: transcrypt(accessKeyOf(list, self, self.publicKey), reference), history };
    },
    async reveal({ reference, publisher, history, timestamp = now() }, io) {
      const list = await currentList(history, timestamp, io);
      return transcrypt(accessKeyOf(list, self, publisher), reference);
    },
    async change({ grantees: given, history: past, add, revoke = [] }, io) {
      const history = past === undefined ? History.create() : await History.load(past, io.getter, io);
      const seconds = await freeSecond(history, io.signal);
      const current = past === undefined ? undefined : await history.accessListAt(seconds);
      const present = given === undefined ? [] : await loadGrantees(given, self, io);
      const added = withAdded(present, add);
      const grantees = revoke.length === 0 ? added : withoutRevoked(added, revoke);
      const encoded = encodeGrantees(grantees);
      const renewed = current === undefined || revoke.length > 0;
      const list = renewed ? newList() : await loadList(current, io);
      await grantAll(list, renewed ? grantees : add, io.signal);
      const encryption = randomEncryption(random);
      const stored = await store(encoded, io, { encryption });
      const encrypted = transcrypt(ownKey(self), stored);
      await history.add(seconds, await store(list.encode(), io), { [GRANTEES_REFERENCE]: toHex(encrypted) });
      return { grantees: encrypted, history: await history.save(io.putter, io), stored };
    },
    grantees: (reference, io) => loadGrantees(reference, self, io),
  };

  /** Grants in parts, so that other requests get their turn. */
  async function grantAll(
    list: KeyValues,
    grantees: readonly Uint8Array[],
    signal: AbortSignal,
  ): Promise<void> {
    for (let from = 0; from < grantees.length; from += GRANTED_AT_ONCE) {
      if (from > 0) await clock.sleep(0, signal);
      grant(list, self, grantees.slice(from, from + GRANTED_AT_ONCE));
    }
  }

  async function begin(list: KeyValues, io: Writing): Promise<Uint8Array> {
    const history = History.create();
    await history.add(now(), await store(list.encode(), io));
    return history.save(io.putter, io);
  }

  /** Without an entry. An entry in the future would not yet apply to an upload right after a revocation. */
  async function freeSecond(history: History, signal: AbortSignal): Promise<number> {
    for (let tries = 0; tries < SECONDS_TRIED_MAX; tries++) {
      const seconds = now();
      if (!(await history.has(seconds))) return seconds;
      await clock.sleep(Math.max((seconds + 1) * MS_PER_SECOND - clock.now(), 1), signal);
    }
    throw new ActError('HISTORY_BUSY', 'every second of now is taken by an entry of the history');
  }
}

async function currentList(history: Uint8Array, seconds: number, io: Reading): Promise<KeyValues> {
  const { getter } = io;
  return loadList(await (await History.load(history, getter, io)).accessListAt(seconds), io);
}

async function loadList(reference: Uint8Array, io: Reading): Promise<KeyValues> {
  return KeyValues.decode(
    await load(reference, io, { sizeMax: ACCESS_LIST_SIZE_MAX, code: 'ACT_MALFORMED' }),
  );
}

async function loadGrantees(encrypted: Uint8Array, self: Session, io: Reading): Promise<Uint8Array[]> {
  try {
    const reference = transcrypt(ownKey(self), encrypted);
    const bytes = await load(reference, io, { sizeMax: GRANTEES_SIZE_MAX, code: 'GRANTEES_MALFORMED' });
    return decodeGrantees(bytes);
  } catch (error) {
    // Another publisher's key gives a meaningless reference.
    if (error instanceof ChunkNotFoundError || error instanceof JoinError)
      throw new ActError('GRANTEES_UNAVAILABLE', `no grantee list: ${error.message}`, { cause: error });
    throw error;
  }
}

function ownKey(self: Session): Uint8Array {
  return self.keys(self.publicKey).accessKeyDecryptionKey;
}

/**
 * Readable by the publisher alone: the key is stored once per reader, encrypted so that only that reader finds it.
 * `data-formats.md` 7.2. Vectors: test/vectors/act.json. @param accessKey 32 random bytes
 */
export function newAccessList(publisher: Session, accessKey: Uint8Array): KeyValues {
  const list = new KeyValues();
  put(list, publisher, publisher.publicKey, accessKey);
  return list;
}

/** The publisher's own key changes nothing. @param grantees compressed @throws ActError as `accessKeyOf` */
export function grant(list: KeyValues, publisher: Session, grantees: readonly Uint8Array[]): void {
  const accessKey = accessKeyOf(list, publisher, publisher.publicKey);
  for (const grantee of grantees) put(list, publisher, grantee, accessKey);
}

/**
 * 32 bytes. @param publisher of the list; the reader's own key when it is the reader
 * @throws ActError `ENTRY_NOT_FOUND` when the list has no key for this reader of this publisher; `ACT_MALFORMED`
 */
export function accessKeyOf(list: KeyValues, reader: Session, publisher: Uint8Array): Uint8Array {
  const { lookupKey, accessKeyDecryptionKey } = reader.keys(publisher);
  const encrypted = list.get(lookupKey);
  if (encrypted === undefined) throw new ActError('ENTRY_NOT_FOUND', 'access control: not found');
  if (encrypted.length !== KEY_SIZE)
    throw new ActError('ACT_MALFORMED', `access key of ${encrypted.length} bytes, not ${KEY_SIZE}`);
  return transcrypt(accessKeyDecryptionKey, encrypted);
}

function put(list: KeyValues, publisher: Session, reader: Uint8Array, accessKey: Uint8Array): void {
  const { lookupKey, accessKeyDecryptionKey } = publisher.keys(reader);
  list.set(lookupKey, transcrypt(accessKeyDecryptionKey, accessKey));
}
