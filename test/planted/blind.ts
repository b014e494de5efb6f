/** Ten more bugs, written by a reviewer of the node who had not read what the storm checks and what load it makes. */
import type { Bug } from './bugs.ts';

export const BLIND_BUGS: readonly Bug[] = [
  {
    name: 'stale-depth',
    about: 'pushes, requests and receipts go by the storage radius that the node had when it was first asked',
    edits: [
      {
        file: 'topology/kademlia.ts',
        from: '    return this.#options.storageRadius();\n',
        to: '    this.depth ??= this.#options.storageRadius();\n    return this.depth;\n',
      },
    ],
  },
  {
    name: 'torn-page',
    about: 'a page whose delivery breaks off counts as pulled whole',
    edits: [
      {
        file: 'protocols/pullsync/pullsync.ts',
        from: '          for (let rest = claims.size; rest > 0; rest--) page.take(await stream.read(Delivery, signal));\n',
        to: '          for (let rest = claims.size; rest > 0; rest--) {\n            const delivery = await stream.read(Delivery, signal).catch(() => undefined);\n            if (delivery === undefined) break;\n            page.take(delivery);\n          }\n',
      },
    ],
  },
  {
    name: 'bin-off-by-one',
    about: 'the first chunk that a bin of a peer gets after the two have met is not pulled',
    edits: [
      {
        file: 'neighbourhood/pull-peer.ts',
        from: '      live: cursor + 1n,\n',
        to: '      live: cursor + 2n,\n',
      },
    ],
  },
  {
    name: 'cheque-late-on-disk',
    about: 'a received cheque is on the disk when the next one comes, so after a crash the last counts again',
    edits: [
      {
        file: 'swap/cheque-store.ts',
        from: '{ put: key, value: encodeCheque(cheque) }',
        to: '{ put: key, value: encodeCheque(this.lastReceived(cheque.chequebook) ?? cheque) }',
      },
    ],
  },
  {
    name: 'refresh-as-asked',
    about: 'the debtor books what it asked to be forgiven, not what the creditor accepted',
    edits: [
      {
        file: 'accounting/settling.ts',
        from: '    account.balance += answer.accepted;\n',
        to: '    account.balance += attempted;\n',
      },
    ],
  },
  {
    name: 'counter-unsaved',
    about: 'the counter of a bucket is written only when it is the fullest, so a restart issues slots again',
    edits: [
      {
        file: 'postage/issuer.ts',
        from: '    changes.push({ put: this.#countKey(bucket), value: this.#countValue(bucket) });\n    if (position',
        to: '    if (count > this.#utilization)\n      changes.push({ put: this.#countKey(bucket), value: this.#countValue(bucket) });\n    if (position',
      },
    ],
  },
  {
    name: 'reference-uncounted',
    about: 'a chunk that comes with a stamp and is stored already gets no second reference',
    edits: [
      {
        file: 'store/chunk-table.ts',
        from: '    if (held !== undefined) this.#backend.slots.write(record.slot, encodeHeld(held));\n',
        to: '    if (held !== undefined) {\n      this.#backend.slots.write(record.slot, encodeHeld(held));\n      return;\n    }\n',
      },
    ],
  },
  {
    name: 'gsoc-by-address',
    about:
      'of the messages at one address, the first reaches its subscribers and the others count as its copies',
    edits: [
      {
        file: 'gsoc/gsoc.ts',
        from: '      const id = toHex(chunk.identity);\n',
        to: '      const id = toHex(chunk.address);\n',
      },
    ],
  },
  {
    name: 'block-reused',
    about: 'the first upload after a restart takes the numbers of chunks that still wait to be pushed',
    edits: [
      {
        file: 'store/uploads/push-queue.ts',
        from: '  const blocks = used.flatMap((key) => (key === undefined ? [] : [decodeNumber(key) + 1]));\n  if (push !== undefined) blocks.push(blockOf(decodeNumber(push)) + 1);\n',
        to: '  const blocks = used.flatMap((key) => (key === undefined ? [] : [decodeNumber(key)]));\n  if (push !== undefined) blocks.push(blockOf(decodeNumber(push)));\n',
      },
    ],
  },
  {
    name: 'expired-stays',
    about: 'the search for expired batches ends at the first batch that still exists',
    edits: [
      {
        file: 'neighbourhood/reserve-worker.ts',
        from: 'postage.awaited(batchId)) continue;\n',
        to: 'postage.awaited(batchId)) break;\n',
      },
    ],
  },
];
