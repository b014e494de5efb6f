import { beforeEach, expect, test } from 'vitest';
import { makeCac } from '../../../formats/chunk/cac.ts';
import { streamHeaders } from '../../../node/env/tracing/span-context.ts';
import type { Span, SpanContext, SpanOptions, Tracing } from '../../../node/env/tracing/tracing.ts';
import type { Headers, Host } from '../../../node/p2p/host.ts';
import { MemoryNetwork } from '../../../node/p2p/memory-host.ts';
import type { Pushsync } from '../../../node/protocols/pushsync/pushsync.ts';
import { tracedHost, tracedPushsync, uploadKey } from '../../../node/protocols/tracing.ts';
import { memoryNode } from '../p2p/memory-nodes.ts';

const ID = '/swarm/test/1.0.0/test';
const OTHER_ID = '/swarm/other/1.0.0/other';
const CONTEXT: SpanContext = {
  traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
  spanId: '00f067aa0ba902b7',
  sampled: true,
};

interface Begun extends SpanOptions {
  readonly name: string;
}

function recording(current?: SpanContext): { tracing: Tracing; begun: Begun[] } {
  const begun: Begun[] = [];
  const span = (context: SpanContext): Span => ({
    context,
    annotate: () => undefined,
    event: () => undefined,
    fail: () => undefined,
  });
  const tracing: Tracing = {
    span(name, options, work) {
      begun.push({ name, ...options });
      return work(span(CONTEXT));
    },
    current: () => (current === undefined ? undefined : span(current)),
    bind: (stream) => stream,
    keep: () => undefined,
    kept: (key) => (key === uploadKey(7) ? CONTEXT : undefined),
    stop: async () => undefined,
  };
  return { tracing, begun };
}

let asking: Host;
let serving: Host;
beforeEach(async () => {
  const network = new MemoryNetwork();
  const nodes = [memoryNode({ network, n: 1 }), memoryNode({ network, n: 2 })] as const;
  [asking, serving] = nodes.map(({ host }) => host) as [Host, Host];
  for (const host of [asking, serving]) await host.start();
  await asking.connect(serving.underlays(), new AbortController().signal);
});

/** As its handler on the other host sees them. */
async function sentBy(host: Pick<Host, 'open'>, id = ID): Promise<Headers> {
  const seen = Promise.withResolvers<Headers>();
  serving.handle({ id, inboundStreamsMax: 1 }, async ({ headers }) => seen.resolve(headers));
  const [peer] = asking.peers();
  if (peer === undefined) throw new Error('there is no peer');
  const stream = await host.open(peer, id, {});
  await stream.close();
  return seen.promise;
}

test('a node that does not trace sends no header', async () => {
  expect(await sentBy(asking)).toEqual(new Map());
});

test('work outside any span sends no header either', async () => {
  expect(await sentBy(tracedHost(asking, recording().tracing, {}))).toEqual(new Map());
});

test('the context of the work that opens a stream is in its headers', async () => {
  const sent = await sentBy(tracedHost(asking, recording(CONTEXT).tracing, {}));
  expect(sent).toEqual(streamHeaders(CONTEXT));
});

test.each<[string, Headers, SpanContext | 'none']>([
  ['the context of its headers', streamHeaders(CONTEXT), CONTEXT],
  ['none', new Map(), 'none'],
  ['a header without a value', new Map([['tracing-span-context', new Uint8Array()]]), 'none'],
  ['a header of rubbish', new Map([['tracing-span-context-v2', new Uint8Array(26).fill(255)]]), 'none'],
])('a stream with %s is served in a span of that trace', async (_what, headers, parent) => {
  const { tracing, begun } = recording();
  const served = Promise.withResolvers<void>();
  tracedHost(serving, tracing, { [ID]: 'handler' }).handle({ id: ID, inboundStreamsMax: 1 }, async () =>
    served.resolve(),
  );
  const [peer] = asking.peers();
  if (peer === undefined) throw new Error('there is no peer');
  const stream = await asking.open(peer, ID, { headers });
  await served.promise;
  await stream.close();
  const caller = Buffer.from(asking.overlay).toString('hex');
  expect(begun).toEqual([
    { name: 'handler', kind: 'server', parent, attributes: { 'peer.overlay': caller } },
  ]);
});

test('a protocol without a name for its spans is served in none', async () => {
  const { tracing, begun } = recording();
  const served = Promise.withResolvers<void>();
  const host = tracedHost(serving, tracing, { [ID]: 'handler' });
  host.handle({ id: OTHER_ID, inboundStreamsMax: 1 }, async () => served.resolve());
  const [peer] = asking.peers();
  if (peer === undefined) throw new Error('there is no peer');
  const stream = await asking.open(peer, OTHER_ID, {});
  await served.promise;
  await stream.close();
  expect(begun).toEqual([]);
});

test.each<[string, SpanContext | undefined, number | undefined, SpanContext | undefined]>([
  [
    'of the code that pushes',
    { ...CONTEXT, spanId: '1'.repeat(16) },
    7,
    { ...CONTEXT, spanId: '1'.repeat(16) },
  ],
  ['of its upload', undefined, 7, CONTEXT],
  ['of nobody: the upload was before this start', undefined, 8, undefined],
  ['of nobody: no upload', undefined, undefined, undefined],
])('a push is work %s', async (_what, current, tagUid, parent) => {
  const { tracing, begun } = recording(current);
  const pushsync: Pushsync = { push: async () => ({ outcome: 'want-self' }) };
  const chunk = makeCac(3n, new Uint8Array(3));
  const { signal } = new AbortController();
  const stamp = {} as Parameters<Pushsync['push']>[1];
  await tracedPushsync(pushsync, tracing).push(chunk, stamp, {
    signal,
    ...(tagUid === undefined ? {} : { tagUid }),
  });
  expect(begun).toMatchObject([{ name: 'push-chunk', parent }]);
});
