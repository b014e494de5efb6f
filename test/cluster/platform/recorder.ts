import type { Host, MessageStream } from '../../../node/p2p/host.ts';
import type { Platform } from '../../../node/platform/platform.ts';

/** The push, and the settlements that follow from it. */
const RECORDED = /^\/swarm\/(pushsync|pseudosettle|swap)\//;

export interface Recorder {
  /** `<protocol> sent|received <JSON>`, bytes as hex. */
  readonly messages: string[];
  open: number;
}

export function recorded(platform: Platform, recorder: Recorder): Platform {
  return { ...platform, host: (options, deps) => recordedHost(platform.host(options, deps), recorder) };
}

function recordedHost(host: Host, recorder: Recorder): Host {
  return overriding(host, {
    async open(peer, protocolId, options) {
      if (!RECORDED.test(protocolId)) return host.open(peer, protocolId, options);
      recorder.open++;
      try {
        const stream = await host.open(peer, protocolId, options);
        return recordedStream(stream, protocolId, recorder);
      } catch (error) {
        recorder.open--;
        throw error;
      }
    },
  });
}

function recordedStream(stream: MessageStream, protocolId: string, recorder: Recorder): MessageStream {
  const note = (direction: string, message: object) =>
    void recorder.messages.push(`${protocolId} ${direction} ${JSON.stringify(message, shown)}`);
  let isOpen = true;
  const over = () => {
    if (isOpen) recorder.open--;
    isOpen = false;
  };
  return overriding(stream, {
    async read(table, signal) {
      const message = await stream.read(table, signal);
      note('received', message);
      return message;
    },
    write(table, message) {
      note('sent', message);
      return stream.write(table, message);
    },
    close: () => stream.close().finally(over),
    reset(reason) {
      over();
      stream.reset(reason);
    },
  });
}

function shown(_key: string, value: unknown): unknown {
  if (value instanceof Uint8Array)
    return Buffer.from(value.buffer, value.byteOffset, value.length).toString('hex');
  return typeof value === 'bigint' ? String(value) : value;
}

/** The rest is delegated to `target`, which may have private fields. */
function overriding<T extends object>(target: T, own: Partial<T>): T {
  return new Proxy(target, {
    get(_target, name) {
      const value = (Reflect.get(own, name) ?? Reflect.get(target, name, target)) as unknown;
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}
