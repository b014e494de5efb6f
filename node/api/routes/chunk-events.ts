/** The ring of `env/chunk-events.ts`, for tools. */
import { ADDRESS_SIZE } from '../../../formats/chunk/chunk.ts';
import { route } from '../route/route.ts';
import { hex, uint } from '../values/kinds.ts';
import { length, max, min, optional } from '../values/params.ts';

const LIMIT = 1000;
/** Two megabytes of JSON. */
const LIMIT_MAX = 10_000;

export const CHUNK_EVENT_ROUTES = [
  route({
    method: 'GET',
    path: '/chunk-events',
    port: 'debug',
    summary: 'what happened to chunks on this node, as far as it keeps their events',
    gates: ['started'],
    query: {
      address: optional(hex, undefined, { checks: [length(ADDRESS_SIZE)] }),
      after: optional(uint(64), 0),
      limit: optional(uint(64), LIMIT, { checks: [min(1), max(LIMIT_MAX)] }),
    },
    success: [200],
    response: 'ChunkEvents',
    handle: ({ query, services: { chunkEvents } }) => ({
      status: 200,
      json:
        chunkEvents === undefined
          ? { events: [], last: 0, lost: 0, capacity: 0 }
          : { ...chunkEvents.page(query), capacity: chunkEvents.capacity },
    }),
  }),
];
