/** `node writer.ts FOLDER LIFE`: works on the store until it is killed, and prints what has been promised. */
import { toHex } from '../../../formats/crypto/hex.ts';
import {
  CHUNKS_PER_BATCH,
  CHUNKS_PER_PIN,
  CHUNKS_PER_UPLOAD,
  CHURN_NUMBERS,
  type Line,
  NUMBERS_PER_LIFE,
  numberedBatch,
  numberedChunk,
  numberedPin,
  numberedStamp,
  openStore,
  PIN_NUMBERS,
  RESERVE_NUMBERS,
  RESERVE_PLACES,
  UNDONE_NUMBERS,
} from './workload.ts';

const [path = '', life = '0'] = process.argv.slice(2);
const base = Number(life) * NUMBERS_PER_LIFE;
const store = await openStore(path);

/** A pipe is written synchronously. */
function tell(line: Line): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

async function uploadAndPush(): Promise<void> {
  for (let first = base; ; first += CHUNKS_PER_UPLOAD) {
    const { uid } = await store.tags.create();
    const session = store.uploads.openSession(uid);
    for (let number = first; number < first + CHUNKS_PER_UPLOAD; number++) {
      await session.put(numberedChunk(number), numberedStamp(number, 0));
    }
    await session.done();
    tell({ did: 'upload', tag: uid, first });
    for (const push of store.uploads.pending(0, CHUNKS_PER_UPLOAD)) {
      if (push.sequence % 3 === 0) continue;
      store.uploads.sent(push);
      store.cache.put(push.chunk);
      await store.uploads.report(push, 'synced');
      tell({ did: 'synced', tag: push.tagUid, number: Buffer.from(push.chunk.data).readUInt32BE(8) });
    }
  }
}

async function reserve(): Promise<void> {
  for (let number = base + RESERVE_NUMBERS; ; number++) {
    const place = (number * 7) % RESERVE_PLACES;
    await store.reserve.put(numberedChunk(number), numberedStamp(number, place));
    tell({ did: 'reserve', place, number });
  }
}

async function churn(): Promise<void> {
  for (let batch = base + CHURN_NUMBERS; ; batch += CHUNKS_PER_BATCH) {
    const batchId = numberedBatch(batch);
    const put = (n: number) =>
      store.reserve.put(
        numberedChunk(n % 3 === 0 ? base + n : batch + n),
        numberedStamp(batch + n, n, batch),
      );
    const numbers = Array.from({ length: CHUNKS_PER_BATCH }, (_, n) => n);
    for (let n = 0; n < CHUNKS_PER_BATCH; n += 10) await Promise.all(numbers.slice(n, n + 10).map(put));
    const outermost = store.reserve
      .items(0, 1n, 1_000)
      .filter((item) => toHex(item.batchId) === toHex(batchId));
    await Promise.all([
      store.reserve.release(outermost),
      store.reserve.setRadius(Math.floor(batch / CHUNKS_PER_BATCH) % 5),
      put(CHUNKS_PER_BATCH),
    ]);
    while ((await store.reserve.evictBatch(batchId)) > 0);
    tell({ did: 'gone', batch });
  }
}

async function uploadWithoutEnd(): Promise<void> {
  const { uid } = await store.tags.create();
  const session = store.uploads.openSession(uid);
  for (let number = base + UNDONE_NUMBERS; ; number++) {
    await session.put(numberedChunk(number), numberedStamp(number, 0));
    await store.state('writer').put('undone', Buffer.of(1));
    tell({ did: 'undone', tag: uid, number });
  }
}

async function pin(): Promise<void> {
  for (let root = base + PIN_NUMBERS + CHUNKS_PER_PIN; ; root += CHUNKS_PER_PIN) {
    const { reference, numbers } = numberedPin(root);
    const session = store.pins.openSession();
    for (const number of numbers) await session.put(numberedChunk(number));
    await session.done(reference);
    tell({ did: 'pinned', root });
    if ((root / CHUNKS_PER_PIN) % 3 !== 0) continue;
    await store.pins.remove(reference);
    tell({ did: 'unpinned', root });
  }
}

async function state(): Promise<void> {
  for (let value = base; ; value++) {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(value);
    await store.state('writer').batch([
      { put: 'a', value: bytes },
      { put: 'b', value: bytes },
    ]);
    tell({ did: 'state', value });
  }
}

await Promise.all([uploadAndPush(), reserve(), churn(), uploadWithoutEnd(), pin(), state()]);
