import type { Delta, Snapshot } from '../picture/live.ts';

/** The server sends something every five seconds. */
const SILENCE_MS = 12_000;
const CHECK_MS = 1000;

/** `stale`: connected, but silent. */
export type Connection = 'connecting' | 'live' | 'stale' | 'lost';

export interface StreamEvents {
  readonly onSnapshot: (snapshot: Snapshot) => void;
  readonly onDelta: (delta: Delta) => void;
  readonly onConnection: (connection: Connection) => void;
}

/** Reconnects by itself; each connection begins with a snapshot. */
export function openStream(events: StreamEvents): void {
  const source = new EventSource('events');
  let heardAt = performance.now();
  let connection: Connection = 'connecting';
  const say = (now: Connection) => {
    if (now === connection) return;
    connection = now;
    events.onConnection(now);
  };
  const heard = () => {
    heardAt = performance.now();
    say('live');
  };
  source.addEventListener('snapshot', (event) => {
    heard();
    events.onSnapshot(JSON.parse(event.data as string) as Snapshot);
  });
  source.addEventListener('delta', (event) => {
    heard();
    events.onDelta(JSON.parse(event.data as string) as Delta);
  });
  source.addEventListener('beat', heard);
  source.addEventListener('error', () => say('lost'));
  setInterval(() => {
    if (connection === 'live' && performance.now() - heardAt > SILENCE_MS) say('stale');
  }, CHECK_MS);
}
