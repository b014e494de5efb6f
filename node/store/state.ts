import type { Backend } from './backend.ts';
import type { KeyValueStore } from './ports.ts';
import { behind, join } from './records.ts';

const PAGE = 256;
const TERMINATOR = new Uint8Array(1);

/** Its name and a zero byte: no name is another's prefix. */
export function stateKey(subsystem: string): Uint8Array {
  return join(Buffer.from(subsystem), TERMINATOR);
}

export function createState(backend: Backend, subsystem: string): KeyValueStore {
  const name = stateKey(subsystem);
  const keyOf = (key: string) => join(name, Buffer.from(key));
  return {
    get: (key) => backend.get('state', keyOf(key)),
    put: (key, value) => backend.change((tx) => tx.put('state', keyOf(key), value)),
    remove: (key) => backend.change((tx) => tx.remove('state', keyOf(key))),
    batch: (changes) =>
      backend.change((tx) => {
        for (const change of changes) {
          if ('put' in change) tx.put('state', keyOf(change.put), change.value);
          else tx.remove('state', keyOf(change.remove));
        }
      }),
    *entries(prefix) {
      let from = keyOf(prefix);
      const to = behind(from);
      for (;;) {
        const page = backend.scan('state', from, to, PAGE);
        for (const [key, value] of page) {
          yield [text(key, name.length), value] as const;
          from = join(key, TERMINATOR);
        }
        if (page.length < PAGE) return;
      }
    },
  };
}

function text(key: Uint8Array, offset: number): string {
  return Buffer.from(key.subarray(offset)).toString();
}
