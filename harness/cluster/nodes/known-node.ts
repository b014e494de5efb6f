import type { Clock } from '../../../formats/clock.ts';
import { DIALECTS, type DialectName } from '../../client/dialect.ts';
import { NodeClient } from '../../client/node-client.ts';
import type { Uploaded } from '../../client/types.ts';
import type { FlavourInput } from '../../flavours/declared/input.ts';
import type { Flavour, FlavourName, NodeMode } from '../../flavours/flavour.ts';
import { flavourOf } from '../../flavours/table.ts';
import type { NodeRecord } from '../state/state.ts';

interface KnownNodeDeps {
  readonly clock: Clock;
  readonly batch: () => string | undefined;
  readonly onUploaded: (uploaded: Uploaded) => void;
}

/** The part of a node that follows from its record: it changes when the node gets another program. */
export class KnownNode {
  /** Its number among all nodes that the cluster has ever had, from 0; in an attached network, its place. */
  readonly index: number;
  readonly name: string;
  /** 64 hex digits. */
  readonly overlay: string;
  /** 40 hex digits. */
  readonly ethereum: string;
  /** Key of its account, 64 hex digits; undefined: unknown. */
  readonly privateKey: string | undefined;
  /** Name of its container, if it has one. */
  readonly container: string | undefined;
  /** As the node sees it; empty if svcnet did not start it. */
  readonly dataDir: string;
  /** Path of the log file, or the command that prints it. */
  readonly log: string;
  /** Names of the only peers it may have; undefined: any. */
  readonly peers: readonly string[] | undefined;
  readonly #deps: KnownNodeDeps;
  #record: NodeRecord;
  #client: NodeClient;

  constructor(index: number, record: NodeRecord, deps: KnownNodeDeps) {
    this.index = index;
    this.name = record.name;
    this.overlay = record.overlay;
    this.ethereum = record.ethereum;
    this.privateKey = record.privateKey;
    this.container = record.container;
    this.dataDir = record.dataDir;
    this.log = record.log;
    this.peers = record.peers;
    this.#deps = deps;
    this.#record = record;
    this.#client = clientOf(record, deps);
  }

  /** Implementation of the node. */
  get flavour(): FlavourName {
    return this.#record.flavour;
  }
  /** What its flavour file says. */
  get declared(): FlavourInput | undefined {
    return this.#record.declared;
  }
  get mode(): NodeMode {
    return this.#record.mode;
  }
  /** Names and values of its API. */
  get dialect(): DialectName {
    return this.#record.dialect;
  }
  /** Path of its program, for flavours that need one. */
  get binary(): string | undefined {
    return this.#record.binary;
  }
  /** Image of its container, unless it is this package's own. */
  get image(): string | undefined {
    return this.#record.image;
  }
  /** URL. */
  get api(): string {
    return this.#record.api;
  }
  /** URL. */
  get debug(): string {
    return this.#record.debug;
  }
  /** Multiaddress with peer id; empty when it reports none. */
  get p2p(): string {
    return this.#record.p2p;
  }
  /** The multiaddress that other nodes dial. */
  get underlay(): string {
    return this.#record.underlay ?? this.#record.p2p;
  }
  /** @internal */
  get program(): Flavour {
    return flavourOf(this.#record);
  }
  get client(): NodeClient {
    return this.#client;
  }
  get bytes(): NodeClient['bytes'] {
    return this.client.bytes;
  }
  get chunks(): NodeClient['chunks'] {
    return this.client.chunks;
  }
  get files(): NodeClient['files'] {
    return this.client.files;
  }
  get soc(): NodeClient['soc'] {
    return this.client.soc;
  }
  get feeds(): NodeClient['feeds'] {
    return this.client.feeds;
  }
  get messages(): NodeClient['messages'] {
    return this.client.messages;
  }
  get grantees(): NodeClient['grantees'] {
    return this.client.grantees;
  }
  get stamps(): NodeClient['stamps'] {
    return this.client.stamps;
  }
  get tags(): NodeClient['tags'] {
    return this.client.tags;
  }
  get pins(): NodeClient['pins'] {
    return this.client.pins;
  }
  get stewardship(): NodeClient['stewardship'] {
    return this.client.stewardship;
  }
  get chequebook(): NodeClient['chequebook'] {
    return this.client.chequebook;
  }
  get wallet(): NodeClient['wallet'] {
    return this.client.wallet;
  }
  get stake(): NodeClient['stake'] {
    return this.client.stake;
  }
  get redistribution(): NodeClient['redistribution'] {
    return this.client.redistribution;
  }
  get transactions(): NodeClient['transactions'] {
    return this.client.transactions;
  }

  /** Gives it another program or addresses; name, keys and data stay. @param record as it is on disk now @internal */
  become(record: NodeRecord): void {
    const { api, debug, dialect } = this.#record;
    const isSame = record.api === api && record.debug === debug && record.dialect === dialect;
    this.#record = record;
    if (!isSame) this.#client = clientOf(record, this.#deps);
  }
}

function clientOf(record: NodeRecord, { clock, batch, onUploaded }: KnownNodeDeps): NodeClient {
  const { name, api, debug, token, tokenFile, foreign, dialect } = record;
  return new NodeClient({
    node: name,
    api,
    debug,
    token,
    tokenFile,
    foreign,
    clock,
    dialect: DIALECTS[dialect],
    defaultBatch: batch,
    onUploaded,
  });
}
