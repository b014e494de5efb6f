import { expect, test } from 'vitest';
import { type ChunkHolder, Ledger, type LedgerEntry } from '../../../../../harness/inspect/ledger/ledger.ts';

const hex = (byte: number) => byte.toString(16).padStart(2, '0').repeat(32);

function entry(chunks: string[]): LedgerEntry {
  return {
    kind: 'bytes',
    node: 'node-0',
    batch: hex(9),
    reference: chunks[0] as string,
    size: 1,
    chunks,
    mode: 'deferred',
    level: 'synced',
    requestedAtMs: 0,
    acknowledgedAtMs: 1,
  };
}

function holder(name: string, overlay: string, held: readonly string[], asked: string[] = []): ChunkHolder {
  return {
    name,
    overlay,
    hasChunk(address) {
      asked.push(address);
      return Promise.resolve(held.includes(address));
    },
  };
}

const signal = new AbortController().signal;

test('a chunk that any node holds is found', async () => {
  const ledger = new Ledger();
  await ledger.add(entry([hex(1), hex(2)]));
  const verdict = await ledger.verify([holder('a', hex(0x10), [hex(1)]), holder('b', hex(0x20), [hex(2)])], {
    signal,
  });
  expect(verdict).toEqual({ acknowledged: 2, found: 2, missing: 0, losses: [] });
});

test('a chunk that no node holds is a loss, reported with the node that should have it', async () => {
  const ledger = new Ledger();
  await ledger.add(entry([hex(0x1f), hex(0x2f)]));
  const verdict = await ledger.verify(
    [holder('near', hex(0x2e), []), holder('far', hex(0xf0), [hex(0x1f)])],
    { signal },
  );
  expect(verdict.missing).toBe(1);
  expect(verdict.losses).toEqual([
    { chunk: hex(0x2f), reference: hex(0x1f), uploader: 'node-0', batch: hex(9), closest: 'near' },
  ]);
  expect(ledger.result()).toEqual(verdict);
});

test('nodes are asked closest first, so a healthy network costs one request per chunk', async () => {
  const ledger = new Ledger();
  await ledger.add(entry([hex(0x2f)]));
  const askedFar: string[] = [];
  await ledger.verify(
    [holder('far', hex(0xf0), [hex(0x2f)], askedFar), holder('near', hex(0x2e), [hex(0x2f)])],
    { signal },
  );
  expect(askedFar).toEqual([]);
});

test('a chunk that belongs to two uploads counts once', async () => {
  const ledger = new Ledger();
  await ledger.add(entry([hex(1), hex(2)]));
  await ledger.add(entry([hex(2), hex(3)]));
  expect(ledger.acknowledgedChunks()).toBe(3);
});

test('a node that does not answer fails the verification instead of counting as empty', async () => {
  const ledger = new Ledger();
  await ledger.add(entry([hex(1)]));
  const broken: ChunkHolder = {
    name: 'a',
    overlay: hex(1),
    hasChunk: () => Promise.reject(new Error('connection refused')),
  };
  await expect(ledger.verify([broken], { signal })).rejects.toThrow('connection refused');
});
