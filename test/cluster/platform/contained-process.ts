import { EventEmitter } from 'node:events';
import { containCrashes } from '../../../node/platform/memory.ts';
import { startNodeChain } from '../../unit/platform/node-chain.ts';
import { embedded, SEED, surroundings } from './embedded-node.ts';

using _contained = containCrashes();
const chain = await startNodeChain({ seed: SEED });
const around = surroundings(chain);
const nodes = [await embedded(1, around), await embedded(2, around), await embedded(3, around)] as const;
const [a, b, c] = nodes;
void a.platform.run(async () => {
  void Promise.reject(new Error('of a promise'));
});
await new Promise(setImmediate);
void b.platform.run(async () => {
  const source = new EventEmitter();
  source.on('ready', () => {
    throw new Error('of an event');
  });
  setImmediate(() => source.emit('ready'));
});
await new Promise(setImmediate);
await new Promise(setImmediate);
const crashes = nodes.flatMap((node) => node.crashes.map((error) => (error as Error).message));
const other = (await fetch(`${c.api}/health`)).status;
await c.platform.cut();
await chain[Symbol.asyncDispose]();
process.stdout.write(JSON.stringify({ crashes, other }));
