/** With the nodes' libp2p keys the tap speaks for each of them. */
import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import type { OwnIdentity } from '../../../../node/p2p/address/identity-key.ts';
import { decodeMessage, encodeMessage } from '../../../../node/p2p/codec/codec.ts';
import { type DhKey, generateDhKey } from '../../../../node/p2p/noise/noise.ts';
import { noiseIdentity, StaticKeyProofs } from '../../../../node/p2p/noise/noise-stream.ts';
import { identityOf } from './identity.ts';

/** The extensions stay bytes: whatever a node says in them is passed on as it is. */
const Payload = {
  identityKey: [1, 'bytes'],
  identitySig: [2, 'bytes'],
  extensions: [4, 'bytes'],
} as const;

/** A node as the tap speaks for it. */
export interface Speaker {
  readonly node: string | undefined;
  readonly peerId: string;
  /** Its proof of the static key, with the extensions that the node itself has sent. */
  payload(extensions: Uint8Array): Uint8Array;
}

export interface NodeKey {
  readonly node: string;
  readonly key: string;
}

export class Keys {
  /** One for all nodes: who dials is not known yet when a handshake begins with it. */
  readonly staticKey = generateDhKey();
  readonly #byNode = new Map<string, Speaker>();
  readonly #byPeer = new Map<string, Speaker>();
  readonly #proofs = new StaticKeyProofs();
  #stranger: Speaker | undefined;

  add({ node, key }: NodeKey): void {
    this.delete(node);
    const speaker = speakerOf(node, identityOf(createPrivateKey(key)), this.staticKey);
    this.#byNode.set(node, speaker);
    this.#byPeer.set(speaker.peerId, speaker);
  }

  delete(node: string): void {
    const speaker = this.#byNode.get(node);
    if (speaker === undefined) return;
    this.#byNode.delete(node);
    this.#byPeer.delete(speaker.peerId);
  }

  has(node: string): boolean {
    return this.#byNode.has(node);
  }

  /** @throws RangeError for a node without a key */
  ofNode(node: string): Speaker {
    const speaker = this.#byNode.get(node);
    if (speaker === undefined) throw new RangeError(`no key of ${node}`);
    return speaker;
  }

  /** Nodes probe each other under an identity that says nothing and whose key nobody has: another one does as well. */
  ofPeer(peerId: string): Speaker {
    return (
      this.#byPeer.get(peerId) ??
      (this.#stranger ??= speakerOf(
        undefined,
        identityOf(generateKeyPairSync('ed25519').privateKey),
        this.staticKey,
      ))
    );
  }

  /** Who a payload of the handshake is from, and its extensions. @throws IdentityError, StreamError */
  identified(staticKey: Uint8Array, payload: Uint8Array): { peerId: string; extensions: Uint8Array } {
    const { identityKey, identitySig, extensions } = decodeMessage(Payload, payload);
    return { peerId: this.#proofs.verified(staticKey, identityKey, identitySig), extensions };
  }
}

function speakerOf(node: string | undefined, own: OwnIdentity, staticKey: DhKey): Speaker {
  const { payload } = noiseIdentity(own, staticKey, { muxers: [], proofs: new StaticKeyProofs() });
  const proof = decodeMessage(Payload, payload);
  return {
    node,
    peerId: own.peerId,
    payload: (extensions) => encodeMessage(Payload, { ...proof, extensions }),
  };
}
