/** Stamps chunks without end, and reports how many are kept. Meant to be killed. */
import { toHex } from '../../../formats/crypto/hex.ts';
import { chunkOf, openIssuer } from './stamping.ts';

const GROUP = 50;

const { issuer, store } = await openIssuer(process.argv[2] ?? '');
const { uid } = await store.tags.create();
const session = store.uploads.openSession(uid);
for (let n = 1; ; n++) {
  const chunk = chunkOf(`${process.pid} ${n}`);
  const stamp = issuer.stamp(chunk);
  await session.put(chunk, stamp);
  // Commits after the chunk.
  const kept = store.state('kept').put(toHex(chunk.identity), stamp.index);
  if (n % GROUP === 0) {
    await kept;
    process.stdout.write(`${n}\n`);
  }
}
