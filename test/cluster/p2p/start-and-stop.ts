/** The process must end by itself: nothing may hold its event loop. */
import { libp2pNode } from './libp2p-nodes.ts';

const Echo = { text: [1, 'string'] } as const;
const never = new AbortController().signal;
const a = await libp2pNode(1);
const b = await libp2pNode(2);
b.host.handle({ id: '/swarm/echo/1.0.0/echo', inboundStreamsMax: 8 }, async (stream) => {
  await stream.write(Echo, await stream.read(Echo));
});
const peer = await a.host.connect([b.underlay], never);
const stream = await a.host.open(peer, '/swarm/echo/1.0.0/echo', { signal: never });
await stream.write(Echo, { text: 'connected' });
process.stdout.write(`${(await stream.read(Echo)).text}\n`);
await a.host.stop();
await b.host.stop();
process.stdout.write('stopped\n');
