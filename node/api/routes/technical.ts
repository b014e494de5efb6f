/** Routes for machines: metrics, the OpenAPI document, crawlers. */
import { route } from '../route/route.ts';

export const TECHNICAL_ROUTES = [
  ...(['GET', 'HEAD'] as const).map((method) =>
    route({
      method,
      path: '/metrics',
      port: 'both',
      summary: 'metrics in the text exposition format',
      gates: [],
      success: [200],
      response: 'text',
      handle: async ({ services: { metrics } }) => ({
        status: 200,
        headers: { 'content-type': metrics.contentType },
        text: await metrics.expose(),
      }),
    }),
  ),
  route({
    method: 'GET',
    path: '/debugstore',
    port: 'both',
    summary: 'counters of the local store',
    gates: [],
    success: [200],
    response: 'StoreCounters',
    failure: 'STORE_COUNTERS_FAILED',
    async handle({ services: { store } }) {
      const { uploads, pins, cache, reserve } = store;
      const { uploaded, synced, pending } = uploads.totals();
      const pinned = pins.totals();
      const { chunks, shared, references } = await store.chunkTotals();
      return {
        status: 200,
        json: {
          Upload: { TotalUploaded: uploaded, TotalSynced: synced, PendingUpload: pending },
          Pinning: { TotalCollections: pinned.collections, TotalChunks: pinned.chunks },
          Cache: { Size: cache.size(), Capacity: cache.capacity() },
          Reserve: {
            SizeWithinRadius: reserve.sizeWithinRadius(),
            TotalSize: reserve.size(),
            Capacity: reserve.capacity(),
            LastBinIDs: reserve.lastBinIds(),
            Epoch: reserve.epoch(),
          },
          ChunkStore: { TotalChunks: chunks, SharedSlots: shared, ReferenceCount: references },
        },
      };
    },
  }),
  ...(['GET', 'HEAD'] as const).map((method) =>
    route({
      method,
      path: '/',
      port: 'main',
      summary: 'name of the server',
      gates: [],
      success: [200],
      response: 'text',
      handle: ({ dialect }) => ({ status: 200, headers: PLAIN_TEXT, text: dialect.messages.root }),
    }),
  ),
  ...(['GET', 'HEAD'] as const).map((method) =>
    route({
      method,
      path: '/robots.txt',
      port: 'main',
      summary: 'keeps crawlers away',
      gates: [],
      success: [200],
      response: 'text',
      handle: () => ({ status: 200, headers: PLAIN_TEXT, text: 'User-agent: *\nDisallow: /\n' }),
    }),
  ),
  ...(['main', 'debug'] as const).map((port) =>
    route({
      method: 'GET',
      path: '/openapi.json',
      port,
      summary: 'this document',
      gates: [],
      success: [200],
      response: 'OpenApi',
      async handle({ dialect, routes }) {
        // On demand: pulls in the schema library.
        const { openApiDocument } = await import('../route/openapi.ts');
        return { status: 200, json: openApiDocument(routes, dialect, port) };
      },
    }),
  ),
];

const PLAIN_TEXT = { 'content-type': 'text/plain; charset=utf-8' } as const;
