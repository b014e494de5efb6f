/**
 * A connection of two nodes whose encryption ends here: noise as the dialled node towards the dialler, and as the dialler
 * towards the node. Each message of noise leaves as one in the same direction, with the same plaintext, so all above it
 * (flow control, half-closes, resets, ids of streams, pings) stays that of the two nodes.
 *
 *   dialler → here   e                       here → node   e
 *   dialler ← here   e, ee, s, es, payload   here ← node   e, ee, s, es, payload
 *   dialler → here   s, se, payload          here → node   s, se, payload
 *
 * Each end's payload is known before the other is told, so what it says beside its identity, such as its multiplexers,
 * reaches the other.
 *
 * A dialler may prefer TLS, which a node takes only from one that has its certificate: here that proposal becomes one that
 * every node refuses, and the dialler proposes noise. What is neither is passed on as it is.
 */
import { IdentityError } from '../../../../node/p2p/address/identity-key.ts';
import {
  type CipherState,
  NoiseError,
  NoiseInitiator,
  NoiseResponder,
  TAG_SIZE,
} from '../../../../node/p2p/noise/noise.ts';
import { NOISE_ID } from '../../../../node/p2p/noise/noise-stream.ts';
import type { Direction } from './faults/diversion.ts';
import type { Keys, Speaker } from './keys.ts';
import { Arrived, encodeLine, MULTISTREAM, NO_LINE } from './lines.ts';

const HEADER = encodeLine(MULTISTREAM);
const NOT_SPOKEN = '/not-noise/1.0.0';
/** No line begins with it: a handshake's first message has two bytes of length in front. */
const NOISE_START = 0;
/** The length of a message has two bytes. */
const PLAINTEXT_MAX = 65_535 - TAG_SIZE;

export interface RelayDeps {
  readonly keys: Keys;
  readonly target: string;
  readonly view: RelayView;
}

export interface RelayView {
  /** @param dialler name of a node, or the peer id of another one */
  secured(dialler: string): void;
  fromDialler(plaintext: Buffer): Buffer;
  fromNode(plaintext: Buffer): Buffer;
  /** Bytes that wait to go that way, beside those that were returned. */
  held(direction: Direction): number;
  failed(error: Error): void;
  mistaken(): void;
  closed(): void;
}

interface Ciphers {
  readonly send: CipherState;
  readonly receive: CipherState;
}

interface End {
  readonly arrived: Arrived;
  hasBegun: boolean;
  isAgreed: boolean;
}

export class NoiseRelay {
  readonly #deps: RelayDeps;
  readonly #target: Speaker;
  readonly #dialler: End = { arrived: new Arrived(), hasBegun: false, isAgreed: false };
  readonly #node: End = { arrived: new Arrived(), hasBegun: false, isAgreed: false };
  readonly #responder: NoiseResponder;
  readonly #initiator: NoiseInitiator;
  #opening: Buffer | undefined;
  /** The dialler knows who the node is. */
  #isAnswered = false;
  #ciphers: { readonly near: Ciphers; readonly far: Ciphers } | undefined;
  #proposed = '';
  /** It is no connection with noise. */
  #isForeign = false;

  constructor(deps: RelayDeps) {
    this.#deps = deps;
    this.#target = deps.keys.ofNode(deps.target);
    this.#responder = new NoiseResponder(deps.keys.staticKey);
    this.#initiator = new NoiseInitiator(deps.keys.staticKey);
  }

  /**
   * @param bytes from the dialler @returns what the node gets for them
   * @throws NoiseError, IdentityError, StreamError: the connection has to end
   */
  up(bytes: Buffer): Buffer {
    return this.#pass(this.#dialler, bytes, {
      agree: (out) => this.#proposals(out),
      message: (message, out) => this.#fromDialler(message, out),
    });
  }

  down(bytes: Buffer): Buffer {
    return this.#pass(this.#node, bytes, {
      agree: (out) => this.#answers(out),
      message: (message, out) => this.#fromNode(message, out),
    });
  }

  say(direction: Direction, plaintext: Buffer): Buffer {
    const out: Uint8Array[] = [];
    const ciphers = direction === 'up' ? this.#ciphers?.far : this.#ciphers?.near;
    if (ciphers !== undefined) seal(plaintext, ciphers.send, out);
    return Buffer.concat(out);
  }

  held(direction: Direction): number {
    return this.#deps.view.held(direction);
  }

  closed(): void {
    this.#deps.view.closed();
  }

  #pass(
    { arrived, isAgreed }: End,
    bytes: Buffer,
    take: { agree(out: Uint8Array[]): boolean; message(message: Buffer, out: Uint8Array[]): void },
  ): Buffer {
    if (this.#isForeign && arrived.length === 0) return bytes;
    const out: Uint8Array[] = [];
    arrived.push(bytes);
    try {
      if (isAgreed || take.agree(out)) {
        for (let next = arrived.message(); next !== undefined; next = arrived.message())
          take.message(next, out);
      }
    } catch (error) {
      this.#deps.view.failed(error as Error);
      throw error;
    }
    if (this.#isForeign) out.push(arrived.rest());
    return out.length === 1 ? (out[0] as Buffer) : Buffer.concat(out);
  }

  #proposals(out: Uint8Array[]): boolean {
    const { arrived } = this.#dialler;
    while (arrived.first !== NOISE_START || this.#proposed !== NOISE_ID) {
      const line = this.#line(this.#dialler);
      if (line === undefined) return false;
      this.#proposed = line;
      out.push(encodeLine(line === NOISE_ID || line === MULTISTREAM ? line : NOT_SPOKEN));
    }
    this.#dialler.isAgreed = true;
    return true;
  }

  #answers(out: Uint8Array[]): boolean {
    const end = this.#node;
    for (let line = this.#line(end); line !== undefined; line = this.#line(end)) {
      out.push(encodeLine(line));
      if (line !== NOISE_ID) continue;
      this.#node.isAgreed = true;
      return true;
    }
    return false;
  }

  #line(end: End): string | undefined {
    // Bytes of another protocol may look like the beginning of a long line.
    this.#isForeign ||= !end.hasBegun && !end.arrived.beginsAs(HEADER);
    if (this.#isForeign) return undefined;
    const line = end.arrived.line();
    this.#isForeign = line === NO_LINE;
    if (typeof line !== 'string') return undefined;
    end.hasBegun = true;
    return line;
  }

  #fromDialler(message: Buffer, out: Uint8Array[]): void {
    const { keys, view } = this.#deps;
    if (this.#ciphers !== undefined) {
      const plaintext = this.#ciphers.near.receive.decrypt(message);
      seal(view.fromDialler(asBuffer(plaintext)), this.#ciphers.far.send, out);
    } else if (this.#opening === undefined) {
      this.#opening = message;
      push(this.#initiator.start(), out);
    } else if (this.#isAnswered) {
      const { staticKey, payload } = this.#responder.finish(message);
      const { peerId, extensions } = keys.identified(staticKey, payload);
      const dialler = keys.ofPeer(peerId);
      push(this.#initiator.finish(dialler.payload(extensions)), out);
      this.#ciphers = { near: this.#responder.ciphers(), far: this.#initiator.ciphers() };
      view.secured(dialler.node ?? peerId);
    } else throw new NoiseError('the dialler goes on before it is answered');
  }

  #fromNode(message: Buffer, out: Uint8Array[]): void {
    const { keys, view } = this.#deps;
    if (this.#ciphers !== undefined) {
      const plaintext = this.#ciphers.far.receive.decrypt(message);
      return seal(view.fromNode(asBuffer(plaintext)), this.#ciphers.near.send, out);
    }
    if (this.#opening === undefined || this.#isAnswered) {
      throw new NoiseError('the node goes on before it is answered');
    }
    const { staticKey, payload } = this.#initiator.receive(message);
    const { peerId, extensions } = keys.identified(staticKey, payload);
    if (peerId !== this.#target.peerId) {
      view.mistaken();
      throw new IdentityError(`${this.#deps.target} is ${peerId}, expected ${this.#target.peerId}`);
    }
    this.#isAnswered = true;
    push(this.#responder.answer(this.#opening, this.#target.payload(extensions)), out);
  }
}

function push(message: Uint8Array, out: Uint8Array[]): void {
  out.push(sizeOf(message.length), message);
}

/** Makes one message of noise, unless the text has become longer. */
function seal(plaintext: Buffer, cipher: CipherState, out: Uint8Array[]): void {
  for (let at = 0; at < plaintext.length; at += PLAINTEXT_MAX) {
    const part = plaintext.subarray(at, at + PLAINTEXT_MAX);
    out.push(sizeOf(part.length + TAG_SIZE), ...cipher.encrypt(part));
  }
}

function sizeOf(length: number): Buffer {
  const size = Buffer.allocUnsafe(2);
  size.writeUInt16BE(length);
  return size;
}

function asBuffer(bytes: Uint8Array): Buffer {
  if (Buffer.isBuffer(bytes)) return bytes;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}
