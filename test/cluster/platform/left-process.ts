import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pickFreePorts } from '../../../harness/base/machine/ports.ts';
import { MemoryDisk } from '../../../node/store/memory-store.ts';
import { startNodeChain } from '../../unit/platform/node-chain.ts';
import { batchOf, embedded, peersOf, SEED, surroundings, upload } from './embedded-node.ts';

const folder = mkdtempSync(join(tmpdir(), 'svcnet-left-'));
const chain = await startNodeChain({ seed: SEED });
const around = surroundings(chain);
const onTcp = process.argv[2] !== 'memory';
const given = (n: number) =>
  onTcp ? { host: 'tcp' as const, store: { folder: join(folder, String(n)) } } : { store: new MemoryDisk() };
const [port] = await pickFreePorts(1);
const a = await embedded(1, around, { platform: given(1), options: { 'p2p-addr': `127.0.0.1:${port}` } });
const bootnode = `/ip4/127.0.0.1/tcp/${port}`;
const b = await embedded(2, around, { platform: given(2), options: { bootnode } });
while ((await peersOf(b.api)).length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
await upload(b.api, await batchOf(b.api), new Uint8Array(100_000));
await Promise.all([a.platform.cut(), b.platform.cut()]);
await chain[Symbol.asyncDispose]();
// The clients' ends of the connections notice.
for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setTimeout(resolve, 1));
rmSync(folder, { recursive: true });
// Standard output.
const left = process.getActiveResourcesInfo().filter((type) => type !== 'PipeWrap');
process.stdout.write(JSON.stringify(left));
