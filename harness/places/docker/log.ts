import { setTimeout as sleep } from 'node:timers/promises';
import type { PartLog } from '../../base/logs/file-log.ts';
import type { LogRange } from './engine/documents.ts';
import { type Engine, statusOf } from './engine/engine.ts';

/** Stream type, three zero bytes, length of the payload. */
const HEADER_BYTES = 8;
const LENGTH_AT = 4;
const REOPEN_PAUSE_MS = 200;

/** RFC 3339, ns, UTC: texts sort as times. */
interface Entry {
  readonly at: string;
  readonly line: string;
}

export function containerLog(engine: Engine, container: string): PartLog {
  const read = async (range: LogRange): Promise<Entry[]> => {
    try {
      const raw = await engine.ask((docker) => docker.container(container).log(range));
      return new EntryReader().read(raw);
    } catch (error) {
      if (statusOf(error) === 404) return [];
      throw error;
    }
  };
  const since = async (position: string): Promise<Entry[]> => {
    const entries = await read(position === '' ? {} : { since: unixTime(position) });
    return entries.filter(({ at }) => at > position);
  };

  return {
    where: `docker logs ${container}`,
    async tail(lines) {
      const entries = await read(Number.isFinite(lines) ? { tail: lines } : {});
      return entries.map(({ line }) => line);
    },
    async end() {
      return (await read({ tail: 1 })).at(-1)?.at ?? '';
    },
    async since(position) {
      return (await since(String(position ?? ''))).filter(({ line }) => line !== '').map(({ line }) => line);
    },
    async *follow(signal, lines = 0) {
      const last = await read({ tail: Math.max(1, lines) });
      let position = last.at(-1)?.at ?? '';
      if (lines > 0) yield* last.map(({ line }) => line);
      while (!signal.aborted) {
        for await (const { at, line } of followed(engine, container, { position, signal })) {
          if (at <= position) continue;
          position = at;
          yield line;
        }
        await sleep(REOPEN_PAUSE_MS, undefined, { signal }).catch((error: unknown) => {
          if (!signal.aborted) throw error;
        });
      }
    },
    failure: () => undefined,
  };
}

async function* followed(
  engine: Engine,
  container: string,
  { position, signal }: { position: string; signal: AbortSignal },
): AsyncGenerator<Entry> {
  const stream = await engine.ask((docker) =>
    // Where there was no line, all of them are new.
    docker.container(container).followLog(position === '' ? {} : { since: unixTime(position) }),
  );
  const end = () => stream.destroy();
  signal.addEventListener('abort', end, { once: true });
  const reader = new EntryReader();
  try {
    if (signal.aborted) return;
    for await (const part of stream as AsyncIterable<Buffer>) yield* reader.read(part);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    signal.removeEventListener('abort', end);
    end();
  }
}

export class EntryReader {
  #rest: Buffer = Buffer.alloc(0);
  readonly #begun = new Map<number, Entry>();

  read(part: Buffer): Entry[] {
    this.#rest = Buffer.concat([this.#rest, part]);
    const entries: Entry[] = [];
    while (this.#rest.length >= HEADER_BYTES) {
      const end = HEADER_BYTES + this.#rest.readUInt32BE(LENGTH_AT);
      if (this.#rest.length < end) break;
      const entry = this.#take(this.#rest.readUInt8(0), this.#rest.toString('utf8', HEADER_BYTES, end));
      if (entry !== undefined) entries.push(entry);
      this.#rest = this.#rest.subarray(end);
    }
    return entries;
  }

  #take(stream: number, frame: string): Entry | undefined {
    const space = frame.indexOf(' ');
    const text = frame.slice(space + 1);
    const line = (this.#begun.get(stream)?.line ?? '') + text;
    const entry = { at: frame.slice(0, space), line };
    if (text.endsWith('\n')) {
      this.#begun.delete(stream);
      return { ...entry, line: line.slice(0, -1) };
    }
    this.#begun.set(stream, entry);
    return undefined;
  }
}

/** Seconds with all digits, which a number would lose. */
function unixTime(at: string): string {
  const [whole = '', fraction = '0'] = at.replace(/Z$/, '').split('.');
  return `${Date.parse(`${whole}Z`) / 1000}.${fraction}`;
}
