/**
 * Bugs by two reviewers who had not read what the storm checks and what load it makes. Each has a storm that is cheap to run
 * again.
 */
import type { Bug } from './bugs.ts';
import { ROUND_TRIP } from './hunt.ts';

export interface BlindBug extends Bug {
  /** Options of the cheapest storm known to find it. */
  readonly storm: readonly string[];
}

/** Killed nodes have chunks that they have not pushed. */
const KILLS = [
  ROUND_TRIP,
  '--nodes=5',
  '--set=duration=10s',
  '--set=fault-every=1500ms',
  '--set=fault-for=2s',
  '--set=faults=kill,power-cut,partition',
  '--set=sizes=4096,60000,300000',
  '--set=pace=500ms',
] as const;
/** No pull begins anew. */
const calm = (nodes: number, duration: string): readonly string[] => [
  ROUND_TRIP,
  `--nodes=${nodes}`,
  `--set=duration=${duration}`,
  '--set=fault-every=2s',
  '--set=fault-for=500ms',
  '--set=faults=pause',
];
const SMALL = ['--set=sizes=4096,60000', '--set=pace=500ms'] as const;
/** Too small reserves for the first radius. */
const GROWING = ['--set=sizes=60000,300000', '--set=pace=300ms', '--set=reserve=150'] as const;
/** Nodes are killed while slow links deliver pages. */
const TEARING = [
  '--network=50ms,4Mbit/s',
  '--nodes=4',
  '--set=duration=10s',
  '--set=fault-every=1s',
  '--set=fault-for=2s',
  '--set=faults=kill',
  '--set=sizes=300000',
  '--set=pace=2s',
] as const;
/** Creditors are killed between two cheques. */
const PAYING = [
  ROUND_TRIP,
  '--nodes=4',
  '--set=duration=12s',
  '--set=fault-every=1500ms',
  '--set=fault-for=500ms',
  '--set=faults=kill',
  '--set=sizes=1000000',
  '--set=pace=1s',
] as const;

/** The neighbourhood has one node. */
const SLOW_DISKS = [
  '--network=20ms',
  '--nodes=3',
  '--set=duration=6s',
  '--set=fault-every=1s',
  '--set=fault-for=2s',
  '--set=faults=disk-slow,kill',
  '--set=sizes=4096,32KiB',
  '--set=pace=500ms',
] as const;

/** A killed node mostly lacks one of a bin. */
const FEW_CHUNKS = [
  ROUND_TRIP,
  '--nodes=4',
  '--set=duration=8s',
  '--set=fault-every=800ms',
  '--set=fault-for=1s',
  '--set=faults=kill,power-cut',
  '--set=sizes=4096',
  '--set=pace=1500ms',
  '--set=lanes=1',
] as const;

/** Nodes die before their neighbours have pulled a payload, and are away for the next one. */
const UPDATING = [
  ROUND_TRIP,
  '--nodes=4',
  '--set=duration=8s',
  '--set=fault-every=1s',
  '--set=fault-for=1s',
  '--set=faults=kill',
  '--set=sizes=4096',
] as const;

const LYING = [
  ROUND_TRIP,
  '--nodes=5',
  '--set=duration=10s',
  '--set=fault-every=1s',
  '--set=fault-for=8s',
  '--set=faults=dishonest',
  '--set=sizes=4096,60000',
  '--set=pace=500ms',
] as const;

const CUTTING = [
  ROUND_TRIP,
  '--nodes=5',
  '--set=duration=10s',
  '--set=fault-every=1s',
  '--set=fault-for=1s',
  '--set=faults=torn-pages',
  '--set=sizes=4096,60000',
  '--set=pace=500ms',
] as const;

export const BLIND_BUGS: readonly BlindBug[] = [
  {
    name: 'stale-depth',
    about: 'pushes, requests and receipts go by the storage radius that the node had when it was first asked',
    storm: [...calm(6, '6s'), ...GROWING],
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
    storm: TEARING,
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
    storm: [...calm(10, '3s'), ...SMALL],
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
    storm: PAYING,
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
    storm: KILLS,
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
    storm: KILLS,
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
    storm: KILLS,
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
    storm: [...calm(3, '4s'), '--set=sizes=4096', '--set=pace=1s'],
    edits: [
      {
        file: 'pss/gsoc.ts',
        from: '      const id = toHex(chunk.identity);\n',
        to: '      const id = toHex(chunk.address);\n',
      },
    ],
  },
  {
    name: 'block-reused',
    about: 'the first upload after a restart takes the numbers of chunks that still wait to be pushed',
    storm: KILLS,
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
    storm: KILLS,
    edits: [
      {
        file: 'neighbourhood/reserve-worker.ts',
        from: 'postage.awaited(batchId)) continue;\n',
        to: 'postage.awaited(batchId)) break;\n',
      },
    ],
  },
  {
    name: 'receipt-unawaited',
    about: 'a storer signs while its write is under way',
    storm: SLOW_DISKS,
    edits: [
      {
        file: 'protocols/pushsync/serving.ts',
        from: '    await store.reserve.put(chunk, stamp);\n    this.#observer',
        to: '    store.reserve.put(chunk, stamp).catch(() => undefined);\n    this.#observer',
      },
    ],
  },
  {
    name: 'lowest-value-kept',
    about: 'a batch that is worth less than the first one expires with the first one',
    storm: KILLS,
    edits: [
      {
        file: 'postage/batch-store.ts',
        from: '    if (this.#lowestValue === undefined || batch.value < this.#lowestValue) this.#lowestValue = batch.value;\n  }\n\n  #remove',
        to: '    this.#lowestValue ??= batch.value;\n  }\n\n  #remove',
      },
    ],
  },
  {
    name: 'released-twice',
    about: 'a reservation of credit that was used is given back as well',
    storm: PAYING,
    edits: [
      {
        file: 'accounting/accounting.ts',
        from: '        if (!open) return;\n        open = false;\n        if (account.peer !== peer) return;\n        account.reserved -= price;',
        to: '        if (account.peer !== peer) return;\n        account.reserved -= price;',
      },
    ],
  },
  {
    name: 'last-of-bin',
    about: 'the only chunk of a bin that came while a peer was away is not pulled',
    storm: FEW_CHUNKS,
    edits: [
      {
        file: 'neighbourhood/pull-peer.ts',
        from: "    if (bin.read.next() <= bin.cursor) this.#start(bin, 'historical');",
        to: "    if (bin.read.next() < bin.cursor) this.#start(bin, 'historical');",
      },
      {
        file: 'neighbourhood/pull-peer.ts',
        from: "kind === 'historical' ? start > bin.cursor :",
        to: "kind === 'historical' ? start >= bin.cursor :",
      },
    ],
  },
  {
    name: 'older-payload-wins',
    about:
      'of two payloads at a single-owner address the one that a peer delivers last is kept, also when it is older',
    storm: UPDATING,
    edits: [
      {
        file: 'store/reserve/payloads.ts',
        from: '    equalBytes(stored.batchId, incoming.batchId) && Buffer.compare(stored.timestamp, incoming.timestamp) > 0,\n',
        to: '    equalBytes(stored.batchId, incoming.batchId) && Buffer.compare(stored.timestamp, incoming.timestamp) > 1,\n',
      },
    ],
  },
  {
    name: 'unverified-forwarding',
    about: 'a forwarder passes on what a peer has delivered without a look at it',
    storm: LYING,
    edits: [
      {
        file: 'protocols/retrieval/retrieval.ts',
        from: '() => this.#request(attempt, address));',
        to: '() => this.#request(attempt, address, requester));',
      },
      {
        file: 'protocols/retrieval/retrieval.ts',
        from: 'async #request({ peer, credit }: Attempt, address: Uint8Array): Promise<Chunk> {',
        to: 'async #request({ peer, credit }: Attempt, address: Uint8Array, requester: unknown): Promise<Chunk> {',
      },
      {
        file: 'protocols/retrieval/retrieval.ts',
        from: 'const chunk = this.#verified(peer, address, delivery.data);',
        to: "const chunk = requester === undefined ? this.#verified(peer, address, delivery.data) : ({ address, data: delivery.data, kind: 'cac', identity: address } as const);",
      },
    ],
  },
  {
    name: 'torn-slot',
    about: 'a chunk whose pages are torn counts as a good one',
    storm: CUTTING,
    edits: [
      {
        file: 'store/chunk-table.ts',
        from: '  return isChunk(address, unchecked) ? unchecked : undefined;',
        to: '  return isChunk(address, unchecked) || true ? unchecked : undefined;',
      },
    ],
  },
  {
    name: 'pulled-unheard',
    about: 'chunks that come by pull syncing are not offered to subscribers',
    storm: [...calm(10, '2s'), ...SMALL],
    edits: [
      {
        file: 'protocols/pullsync/intake.ts',
        from: '      this.#deps.onDelivered(chunk);\n',
        to: '',
      },
    ],
  },
];
