import type { MetricTable } from '../../env/metrics.ts';

export const PINGPONG_METRICS = {
  pingSent: { kind: 'counter', name: 'pingpong_ping_sent_count', help: 'Pings sent.' },
  pongReceived: { kind: 'counter', name: 'pingpong_pong_received_count', help: 'Answers received.' },
  pingReceived: { kind: 'counter', name: 'pingpong_ping_received_count', help: 'Pings received.' },
  pongSent: { kind: 'counter', name: 'pingpong_pong_sent_count', help: 'Answers sent.' },
} as const satisfies MetricTable;
