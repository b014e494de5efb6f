/** Requests that a node takes, as examples in its OpenAPI document. */
import { makeCac } from '../../formats/chunk/cac.ts';
import { signSoc, socParts } from '../../formats/chunk/soc.ts';
import { toHex } from '../../formats/crypto/hex.ts';
import { createSigner } from '../../formats/crypto/signer.ts';
import type { Cluster } from '../../harness/cluster/cluster.ts';
import type { ClusterNode } from '../../harness/cluster/nodes/cluster-node.ts';
import { updateId } from '../../node/feeds/feed.ts';

interface Operation {
  readonly parameters: readonly { readonly name: string; example?: unknown }[];
  readonly requestBody?: { readonly content: Record<string, { example?: unknown }> };
  readonly responses: Readonly<Record<string, { readonly description: string }>>;
}

export interface Document {
  readonly paths: Record<string, Record<string, Operation>>;
}

interface Examples {
  /** By the name of a parameter. */
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly of: readonly {
    readonly operation: RegExp;
    readonly parameters?: Readonly<Record<string, unknown>>;
    readonly body?: unknown;
  }[];
}

/** The only one that the node sends coins to. */
export const WITHDRAWAL_ADDRESS = `0x${'d2'.repeat(20)}`;
/** The point of secp256k1 whose private key is 1. */
const PUBLIC_KEY = '0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798';
const OWNER = createSigner(new Uint8Array(32).fill(1));
const TOPIC = new Uint8Array(32).fill(2);
const FILE_NAME = 'example.txt';
const AMOUNT = 10_000_000_000n;
const DEPTH = 17;
const STAKE = 10n ** 17n;

export async function examplesOf({ nodes }: Cluster): Promise<Examples> {
  const [node, peer] = nodes as readonly [ClusterNode, ClusterNode];
  const { reference, tag = 1 } = await node.bytes.upload('an example');
  const file = await node.files.upload('an example', { name: FILE_NAME, contentType: 'text/plain' });
  const list = await node.grantees.create([PUBLIC_KEY]);
  const update = { topic: TOPIC, index: 0n, wrapped: wrapped('an update') };
  await node.feeds.update(OWNER, update);
  const other = await node.stamps.buy({ amount: AMOUNT, depth: DEPTH });
  const txHash = await node.stake.deposit(STAKE);
  const id = updateId(TOPIC, 0n);
  const { signature } = socParts(signSoc(id, update.wrapped, OWNER).data);
  const prefix = `${node.dialect}-`;
  return {
    parameters: {
      reference,
      address: reference,
      batch_id: node.batch,
      [`${prefix}postage-batch-id`]: node.batch,
      'peer-id': peer.overlay,
      uid: tag,
      exp: Buffer.from('.*').toString('base64'),
      targets: 'ab',
      owner: toHex(OWNER.address),
      topic: toHex(TOPIC),
      id: toHex(id),
      sig: toHex(signature),
      path: FILE_NAME,
      amount: '1',
      coin: 'nativetoken',
      txHash,
    },
    of: [
      { operation: / \/(svc|bzz)\/\{/, parameters: { reference: file.reference } },
      { operation: / \/(pingpong|balances|consumed|settlements)\//, parameters: { address: peer.overlay } },
      { operation: /^POST \/chunks/, body: update.wrapped },
      { operation: /^POST \/soc\//, body: update.wrapped },
      { operation: /^POST \/grantee/, body: { grantees: [PUBLIC_KEY] } },
      { operation: /^GET \/grantee\//, parameters: { reference: list.reference } },
      {
        operation: /^PATCH \/grantee\//,
        parameters: { reference: list.reference, [`${prefix}act-history-address`]: list.history },
        body: { add: [PUBLIC_KEY] },
      },
      { operation: /^PATCH \/tags\//, body: { address: reference } },
      { operation: /^PATCH \/stamps\/\{/, body: { label: 'example' } },
      { operation: /^POST \/stamps\//, parameters: { amount: String(AMOUNT), depth: DEPTH } },
      { operation: /^PATCH \/stamps\/dilute\//, parameters: { batch_id: other.batchID, depth: DEPTH + 1 } },
      { operation: /^POST \/stake\//, parameters: { amount: String(STAKE) } },
      { operation: /^POST \/wallet\/withdraw\//, parameters: { address: WITHDRAWAL_ADDRESS } },
    ],
  };
}

export function give(document: Document, { parameters, of }: Examples): void {
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const meant = of.filter((one) => one.operation.test(`${method.toUpperCase()} ${path}`));
      const values = Object.assign({}, parameters, ...meant.map((one) => one.parameters));
      for (const parameter of operation.parameters) {
        const example = values[parameter.name];
        if (example !== undefined) parameter.example = example;
      }
      const body = meant.find((one) => one.body !== undefined)?.body;
      const example = body instanceof Uint8Array ? Buffer.from(body).toString('latin1') : body;
      if (example === undefined) continue;
      for (const content of Object.values(operation.requestBody?.content ?? {})) content.example = example;
    }
  }
}

/** Span and payload of a chunk, in ASCII. */
function wrapped(text: string): Uint8Array {
  const payload = Buffer.from(text);
  return makeCac(BigInt(payload.length), payload).data;
}
