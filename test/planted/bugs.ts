/**
 * Each bug changes the node's sources while tests load them. A place that is not found, or found twice, is an error: the
 * sources have moved on, and the bug has to follow.
 */
export interface Edit {
  /** Below `node/`. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

export interface Bug {
  readonly name: string;
  readonly about: string;
  readonly edits: readonly Edit[];
}

export const BUGS: readonly Bug[] = [
  {
    name: 'lost-receipt',
    about: 'the pusher loses the receipt of every eighth chunk',
    edits: [
      {
        file: 'protocols/pushsync/pusher.ts',
        from: '      this.#pauses.arrived(chunk.address);\n',
        to: "      if (chunk.address[31] % 8 === 0) throw new PushsyncError('PUSH_FAILED', 'lost');\n      this.#pauses.arrived(chunk.address);\n",
      },
    ],
  },
  {
    name: 'skipped-bin',
    about: 'the first bin that a neighbour has for us is not pulled',
    edits: [
      {
        file: 'neighbourhood/pull-rules.ts',
        from: 'if (po >= radius) return { from: radius, to: MAX_PO, isFar: false };',
        to: 'if (po >= radius) return { from: radius + 1, to: MAX_PO, isFar: false };',
      },
    ],
  },
  {
    name: 'double-credit',
    about: 'one in sixteen services of a peer is counted twice',
    edits: [
      {
        file: 'accounting/accounting.ts',
        from: '    account.balance -= price;\n    account.overpaid',
        to: '    account.services = (account.services ?? 0) + 1;\n    account.balance -= account.services % 16 === 0 ? 2n * price : price;\n    account.overpaid',
      },
    ],
  },
  {
    name: 'eviction-within-radius',
    about: 'with one chunk in eight everything of its batch leaves the reserve, whatever the radius is',
    edits: [
      {
        file: 'protocols/pushsync/serving.ts',
        from: '    this.#observer.stored(chunk, causeEvent);\n',
        to: '    this.#observer.stored(chunk, causeEvent);\n    if (address[31] % 8 === 1) await store.reserve.evictBatch(stamp.batchId);\n',
      },
    ],
  },
  {
    name: 'receipt-before-store',
    about: 'a storer signs the receipt, and stores the chunk five seconds later',
    edits: [
      {
        file: 'protocols/pushsync/serving.ts',
        from: '    await store.reserve.put(chunk, stamp);\n    this.#observer',
        to: '    this.#deps.clock.timer(5000, () => void store.reserve.put(chunk, stamp));\n    this.#observer',
      },
    ],
  },
  {
    name: 'cursor-jumps',
    about: 'the cursor of a bin that is pulled jumps over what comes next',
    edits: [
      {
        file: 'neighbourhood/pull-peer.ts',
        from: 'bin.read.add(start, topmost);',
        to: 'bin.read.add(start, topmost + 8n);',
      },
      {
        file: 'neighbourhood/pull-peer.ts',
        from: 'bin.pulled.add(from, to);',
        to: 'bin.pulled.add(from, to + 8n);',
      },
      {
        file: 'neighbourhood/pull-peer.ts',
        from: 'bin.live = topmost + 1n;\n      } catch',
        to: 'bin.live = topmost + 8n;\n      } catch',
      },
    ],
  },
  {
    name: 'stamp-index-twice',
    about: 'a slot of a batch is given to every chunk of its bucket',
    edits: [
      {
        file: 'postage/issuer.ts',
        from: '    counts[bucket] = count;\n',
        to: '    counts[bucket] = position;\n',
      },
    ],
  },
  {
    name: 'unchecked-chunk',
    about: 'what a peer delivers is passed on unchecked, and every fourth delivery is damaged',
    edits: [
      {
        file: 'protocols/retrieval/retrieval.ts',
        from: '      return chunkFrom(address, data);\n',
        to: '      const chunk = chunkFrom(address, data);\n      if (address[31] % 4 === 0) {\n        chunk.data = Uint8Array.from(chunk.data);\n        chunk.data[chunk.data.length - 1] ^= 1;\n      }\n      return chunk;\n',
      },
    ],
  },
  {
    name: 'forgetful-queue',
    about: 'a node that has been started again does not push what was waiting',
    edits: [
      {
        file: 'protocols/pushsync/pusher.ts',
        from: '    for (let after = 0; ; ) {\n      const page = this.#deps.store.uploads.pending(after, this.#atOnce);',
        to: '    this.forgotten ??= this.#deps.store.uploads.pending(0, 1_000_000).at(-1)?.sequence ?? 0;\n    for (let after = this.forgotten; ; ) {\n      const page = this.#deps.store.uploads.pending(after, this.#atOnce);',
      },
    ],
  },
  {
    name: 'cheque-twice',
    about: 'a cheque is credited twice',
    edits: [
      {
        file: 'protocols/swap/swap.ts',
        from: '      this.#deps.accounting.paymentReceived(peer, creditOf(increase, rates));\n',
        to: '      this.#deps.accounting.paymentReceived(peer, 2n * creditOf(increase, rates));\n',
      },
    ],
  },
];
