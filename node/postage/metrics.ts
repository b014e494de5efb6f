import type { MetricTable } from '../env/metrics.ts';

/** `node-behaviour.md` 12, group postage. */
export const POSTAGE_METRICS = {
  commitment: {
    kind: 'gauge',
    name: 'batchstore_commitment',
    help: 'Sum of 2^depth of all live batches, chunks.',
  },
  radius: {
    kind: 'gauge',
    name: 'batchstore_radius',
    help: 'Radius at which the commitment fits the reserve.',
  },
  pages: { kind: 'counter', name: 'postage_listener_pages_processed', help: 'Pages of blocks applied.' },
  events: { kind: 'counter', name: 'postage_listener_events_processed', help: 'Postage events applied.' },
  pageDuration: {
    kind: 'counter',
    name: 'postage_listener_page_duration',
    help: 'Time spent on applying pages, nanoseconds.',
  },
  eventDuration: {
    kind: 'counter',
    name: 'postage_listener_event_duration',
    help: 'Time spent on applying events, nanoseconds.',
  },
  pagesTakenBack: {
    kind: 'counter',
    name: 'postage_listener_pages_taken_back',
    help: 'Pages undone because the chain replaced their blocks.',
  },
  rebuilds: {
    kind: 'counter',
    name: 'postage_listener_rebuilds',
    help: 'Complete rereads because of a deep reorganisation.',
  },
  eventErrors: {
    kind: 'counter',
    name: 'postage_listener_event_errors',
    help: 'Pages that could not be applied.',
  },
  createdEvents: { kind: 'counter', name: 'postage_listener_created_events', help: 'Batches created.' },
  topUpEvents: { kind: 'counter', name: 'postage_listener_topup_events', help: 'Batches topped up.' },
  depthEvents: { kind: 'counter', name: 'postage_listener_depth_events', help: 'Batches diluted.' },
  priceEvents: { kind: 'counter', name: 'postage_listener_price_events', help: 'Changes of the price.' },
  backendCalls: {
    kind: 'counter',
    name: 'postage_listener_backend_calls',
    help: 'Chain requests of the listener.',
  },
  backendErrors: {
    kind: 'counter',
    name: 'postage_listener_backend_errors',
    help: 'Chain requests of the listener that failed.',
  },
} as const satisfies MetricTable;
