/** Our stack, and a peer that can misbehave. By default it answers like a good peer with an empty store, or one chunk. */

import { randomBytes } from 'node:crypto';
import type { Chunk } from '../../../formats/chunk/chunk.ts';
import { type Clock, unixSeconds } from '../../../formats/clock.ts';
import { overlayAddress } from '../../../formats/crypto/overlay.ts';
import { createSigner, type Signer } from '../../../formats/crypto/signer.ts';
import type { Logger } from '../../../node/env/logger.ts';
import type { OwnIdentity } from '../../../node/p2p/address/identity-key.ts';
import { decodeMultiaddress } from '../../../node/p2p/address/multiaddress.ts';
import { mintRecord, NO_CHEQUEBOOK, NO_TIME } from '../../../node/p2p/address/record.ts';
import { encodeUnderlays, withoutPeerId, withPeerId } from '../../../node/p2p/address/underlay.ts';
import type { MessageOf, MessageTable } from '../../../node/p2p/codec/message.ts';
import { ackMessage } from '../../../node/p2p/handshake/rules.ts';
import { Ack, HANDSHAKE_DIALECTS, Syn, SynAck } from '../../../node/p2p/handshake/wire.ts';
import { type AddressRecord, type Generation, StreamError } from '../../../node/p2p/host.ts';
import { createSecure } from '../../../node/p2p/libp2p/channel.ts';
import { IDENTIFY_ID, IDENTIFY_MESSAGES_MAX, Identify } from '../../../node/p2p/libp2p/identify.ts';
import { Libp2pLink } from '../../../node/p2p/libp2p/link.ts';
import { createTcp } from '../../../node/p2p/tcp-host.ts';
import type { RawStream } from '../../../node/p2p/transport.ts';
import { encodeAmount } from '../../../node/protocols/amounts.ts';
import { AnnouncePaymentThreshold, PRICING } from '../../../node/protocols/pricing/wire.ts';
import { orLate } from '../../base/wait.ts';
import { Mismatch, must } from '../row.ts';
import { Answers, type Unsolicited } from './answers.ts';
import { ANSWER_MS, Conversation } from './conversation.ts';
import { freshIdentity } from './identities.ts';
import { Transcript } from './transcript.ts';

/** To dial and secure. */
export const CONNECT_MS = 15_000;
const WELCOME = '';
/** The node announces right after the handshake. */
const PRICING_MS = 3_000;
const LIGHT_FACTOR = 10n;
/** On the public network. */
const USUAL_THRESHOLD = 13_500_000n;
/** Real nodes expect two words. */
const AGENT = 'svcnet-conformance/1.0.0 node/24';

/** The node's address and the identity it must prove. */
export interface Address {
  /** Without identity. */
  readonly address: string;
  readonly peerId: string;
  readonly networkId: bigint;
}

export interface CounterpartOptions {
  readonly identity?: OwnIdentity;
  readonly signer?: Signer;
  readonly fullNode?: boolean;
  /** 32 bytes. */
  readonly nonce?: Uint8Array;
  /** As the node sees it; loopback until told. */
  readonly seenAt?: string | undefined;
  /** Delivered on request. @param overlay its own */
  readonly chunk?: (overlay: Uint8Array) => Chunk;
}

interface Timed {
  readonly clock: Clock;
}

export type Alteration = (ack: MessageOf<typeof Ack>) => MessageOf<typeof Ack>;

const silent: Logger = {
  error: () => undefined,
  warn: () => undefined,
  info: () => undefined,
  debug: () => undefined,
  isLevelEnabled: () => false,
  child: () => silent,
};

export class Counterpart {
  readonly identity: OwnIdentity;
  readonly signer: Signer;
  readonly fullNode: boolean;
  readonly nonce: Uint8Array;
  readonly overlay: Uint8Array;
  readonly closed: Promise<void>;
  isClosed = false;
  readonly unsolicited: Unsolicited;
  readonly #clock: Clock;
  readonly #target: Address;
  readonly #answers: Answers;
  readonly #seenAt: string;
  #log: Transcript;
  #link: Libp2pLink | undefined;
  #ended: () => void;
  #granted = USUAL_THRESHOLD;

  private constructor(target: Address, log: Transcript, options: CounterpartOptions & Timed) {
    this.#clock = options.clock;
    this.#target = target;
    this.#log = log;
    this.identity = options.identity ?? freshIdentity('Ed25519');
    this.signer = options.signer ?? createSigner(new Uint8Array(randomBytes(32)));
    this.fullNode = options.fullNode ?? false;
    this.nonce = options.nonce ?? new Uint8Array(randomBytes(32));
    this.#seenAt = options.seenAt ?? '/ip4/127.0.0.1/tcp/1634';
    this.overlay = overlayAddress(this.signer.address, target.networkId, this.nonce);
    const ended = Promise.withResolvers<void>();
    this.closed = ended.promise;
    this.#ended = ended.resolve;
    this.#answers = new Answers({
      clock: options.clock,
      log: () => this.#log,
      chunk: options.chunk?.(this.overlay),
      introduce: (conversation, id) => this.#answerHandshake(conversation, id),
    });
    this.unsolicited = this.#answers.unsolicited;
  }

  /** Does not exist, for gossip. */
  static unconnected(networkId: bigint, clock: Clock): Counterpart {
    const nowhere = { address: '/ip4/127.0.0.1/tcp/1', peerId: '', networkId };
    return new Counterpart(nowhere, new Transcript(() => undefined), {
      clock,
      seenAt: '/ip4/127.0.0.1/tcp/1',
    });
  }

  static async connect(
    target: Address,
    log: Transcript,
    options: CounterpartOptions & Timed & { readonly signal: AbortSignal },
  ): Promise<Counterpart> {
    const counterpart = new Counterpart(target, log, options);
    await counterpart.#connect(options.signal);
    return counterpart;
  }

  async #connect(stopped: AbortSignal): Promise<void> {
    const { address, peerId } = this.#target;
    const clock = this.#clock;
    using deadline = clock.deadline(CONNECT_MS, stopped);
    const { signal } = deadline;
    this.#log.sent(`connect to ${address} as ${this.identity.peerId}`);
    const connection = await createTcp().dial(address, signal);
    try {
      const channel = await createSecure(this.identity)(connection, 'dialler', { expected: peerId, signal });
      this.#link = new Libp2pLink(
        channel,
        { remoteAddress: connection.remoteAddress, direction: 'outbound' },
        {
          clock,
          log: silent,
          defer: (flush) => void clock.turn().then(flush),
          identity: () => ({
            publicKey: this.identity.publicKey,
            agentVersion: AGENT,
            addresses: [this.#seenAt],
            protocolIds: this.#answers.protocolIds(),
          }),
          events: {
            supports: (id) => this.#answers.supports(id),
            protocolIds: () => this.#answers.protocolIds(),
            opened: () => undefined,
            closed: () => undefined,
            accepted: (_link, id, raw) => this.#answers.accept(id, this.#conversation(raw)),
          },
          ended: () => {
            this.isClosed = true;
            this.#log.received('the connection ends');
            this.#ended();
          },
        },
      );
      this.#link.start();
    } catch (error) {
      connection.abort(error as Error);
      throw error;
    }
  }

  recordIn(log: Transcript): void {
    this.#log = log;
  }

  get self(): CounterpartOptions {
    const { identity, signer, fullNode, nonce } = this;
    return { identity, signer, fullNode, nonce };
  }

  get link(): Libp2pLink {
    if (this.#link === undefined) throw new Error('not connected');
    return this.#link;
  }

  #conversation(raw: RawStream): Conversation {
    return new Conversation(raw, this.#log, { isGone: () => this.isClosed, clock: this.#clock });
  }

  /** @returns undefined: the node does not speak it */
  async tryOpen(protocolId: string): Promise<Conversation | undefined> {
    this.#log.sent(`open ${protocolId}`, protocolId);
    using limit = this.#clock.deadline(ANSWER_MS);
    try {
      const { stream } = await this.link.negotiate([protocolId], limit.signal);
      return this.#conversation(stream);
    } catch (cause) {
      if (cause instanceof StreamError && cause.code === 'PROTOCOL_UNSUPPORTED') {
        this.#log.received('na');
        return undefined;
      }
      const { message } = cause as Error;
      throw new Mismatch(`${protocolId}: no stream could be opened: ${message}`);
    }
  }

  async open(protocolId: string): Promise<Conversation> {
    const conversation = await this.tryOpen(protocolId);
    must(conversation !== undefined, `the node does not speak ${protocolId}`);
    return conversation;
  }

  async converse(protocolId: string): Promise<Conversation> {
    const conversation = await this.open(protocolId);
    await conversation.exchangeHeaders();
    return conversation;
  }

  /** Both sides end the stream after it. @throws Mismatch */
  async ask<Asked extends MessageTable, Answered extends MessageTable>(
    protocolId: string,
    request: readonly [table: Asked, message: Partial<MessageOf<Asked>>, name: string],
    answer: readonly [table: Answered, name: string, withinMs?: number],
  ): Promise<MessageOf<Answered>> {
    const conversation = await this.converse(protocolId);
    conversation.send(...request);
    const message = await conversation.receive(...answer);
    conversation.end();
    await conversation.expectEnd();
    return message;
  }

  openAtOnce(protocolId: string): Conversation {
    this.#log.sent(`open ${protocolId}, without waiting for the answer`, protocolId);
    return this.#conversation(this.link.open(protocolId));
  }

  get now(): bigint {
    return unixSeconds(this.#clock);
  }

  /** Our record, truthful where possible. */
  record(generation: Generation, timestamp = this.now): AddressRecord {
    return this.recordAt([withPeerId(this.#seenAt, this.identity.peerId)], generation, timestamp);
  }

  recordAt(underlays: readonly string[], generation: Generation, timestamp: bigint): AddressRecord {
    const statement = {
      underlay: encodeUnderlays(underlays),
      nonce: this.nonce,
      timestamp: generation === '15.0.0' ? timestamp : NO_TIME,
      chequebook: NO_CHEQUEBOOK,
    };
    return mintRecord(statement, { signer: this.signer, networkId: this.#target.networkId });
  }

  ack(generation: Generation, record = this.record(generation)): MessageOf<typeof Ack> {
    const { networkId } = this.#target;
    return ackMessage({ record, networkId, fullNode: this.fullNode, welcomeMessage: WELCOME });
  }

  observed(): Uint8Array {
    return encodeUnderlays([`${this.#target.address}/p2p/${this.#target.peerId}`]);
  }

  /** Up to the node's answer. @throws Mismatch */
  async greet(generation: Generation, observedUnderlay = this.observed()) {
    const conversation = await this.open(handshakeId(generation));
    conversation.send(Syn, { observedUnderlay }, 'Syn');
    const answer = await conversation.receive(SynAck, 'SynAck');
    return { conversation, answer };
  }

  /** @throws Mismatch when refused */
  async introduce(generation: Generation, alter: Alteration = (ack) => ack) {
    const { conversation, answer } = await this.greet(generation);
    conversation.send(Ack, alter(this.ack(generation)), 'Ack');
    conversation.end();
    await conversation.expectEnd();
    return answer;
  }

  /** After the handshake each peer tells how much the other may owe. @throws Mismatch */
  async settle(): Promise<void> {
    const announced = await this.unsolicited.pricing.within(PRICING_MS);
    this.#granted = granted(announced?.threshold ?? 0n, this.fullNode);
    await this.announceAgain();
  }

  /** A full node's share, enough for any node. */
  announceAgain(): Promise<Conversation> {
    return this.announce(this.#granted);
  }

  async announce(threshold: bigint): Promise<Conversation> {
    const conversation = await this.converse(PRICING.id);
    conversation.send(
      AnnouncePaymentThreshold,
      { paymentThreshold: encodeAmount(threshold) },
      'AnnouncePaymentThreshold',
    );
    conversation.end();
    return conversation;
  }

  async #answerHandshake(conversation: Conversation, protocolId: string): Promise<void> {
    const generation = HANDSHAKE_DIALECTS.find(({ id }) => id === protocolId)?.generation ?? '15.0.0';
    await conversation.receive(Syn, 'Syn');
    conversation.send(
      SynAck,
      { syn: { observedUnderlay: this.observed() }, ack: this.ack(generation) },
      'SynAck',
    );
    await conversation.receive(Ack, 'Ack');
    conversation.end();
  }

  /** Told to anyone. @throws Mismatch */
  async identify() {
    const conversation = await this.open(IDENTIFY_ID);
    const identity = await conversation.receiveParts(Identify, 'Identify', IDENTIFY_MESSAGES_MAX);
    const observed =
      identity.observedAddr.length === 0 ? this.#seenAt : decodeMultiaddress(identity.observedAddr);
    return { ...identity, observed: withoutPeerId(observed) };
  }

  async endsWithin(ms: number): Promise<boolean> {
    await orLate(this.closed, { clock: this.#clock, ms, late: undefined });
    await this.#clock.turn();
    return this.isClosed;
  }

  /** @param after what was done, for the message @throws Mismatch unless it ends */
  async mustEnd(after = ''): Promise<void> {
    must(await this.endsWithin(ANSWER_MS), `${after}the connection was still open after ${ANSWER_MS} ms`);
  }

  async leave(): Promise<void> {
    if (!this.isClosed) this.#log.sent('close the connection');
    await this.#link?.shutDown(new StreamError('STREAM_RESET', 'the checker leaves'));
  }
}

function granted(threshold: bigint, fullNode: boolean): bigint {
  const toFull = fullNode ? threshold : threshold * LIGHT_FACTOR;
  return toFull > USUAL_THRESHOLD ? toFull : USUAL_THRESHOLD;
}

export function handshakeId(generation: Generation): string {
  const dialect = HANDSHAKE_DIALECTS.find((one) => one.generation === generation);
  return (dialect ?? HANDSHAKE_DIALECTS[0]).id;
}
