/** The node's state: `http-api-completion.md` 5.10. Technical routes answer while it starts. */
import { toHex } from '../../../formats/crypto/hex.ts';
import { emit, emitRead } from '../dialect.ts';
import { ApiError, orElse } from '../errors.ts';
import { type Call, route } from '../route/route.ts';
import type { HeaderTable, ParamTable } from '../values/params.ts';

const WELCOME_BODY_MAX = 512;
/** The handshake's limit, bytes. */
const WELCOME_MAX = 140;

const HEALTH_WORDS = { starting: 'ok', ready: 'ok', failed: 'nok' } as const;

type AnyCall = Pick<Call<ParamTable, ParamTable, HeaderTable>, 'services' | 'dialect'>;

export const NODE_ROUTES = [
  route({
    method: 'GET',
    path: '/addresses',
    port: 'both',
    summary: 'addresses and public keys of the node',
    gates: [],
    success: [200],
    response: 'Addresses',
    handle({ services: { node, host }, dialect }) {
      const ethereum = dialect.chainAddress(node.ethereum);
      return {
        status: 200,
        json: {
          overlay: toHex(host.overlay),
          underlay: host.underlays(),
          ethereum,
          chain_address: ethereum,
          publicKey: toHex(node.publicKey),
          pssPublicKey: toHex(node.pssPublicKey),
        },
      };
    },
  }),
  ...(['GET', 'HEAD'] as const).map((method) =>
    route({
      method,
      path: '/health',
      port: 'both',
      forProbes: true,
      summary: 'whether the node is well, and its versions',
      gates: [],
      success: [200],
      response: 'Health',
      handle: (call) => ({ status: 200, json: health(call) }),
    }),
  ),
  ...(['GET', 'HEAD'] as const).map((method) =>
    route({
      method,
      path: '/readiness',
      port: 'both',
      forProbes: true,
      summary: 'whether the node has started completely; 400 while it has not',
      gates: [],
      success: [200],
      others: { 400: { says: 'the node has not started completely', response: 'Readiness' } },
      response: 'Readiness',
      handle(call) {
        const ready = call.services.readiness.state() === 'ready';
        const status = ready ? 'ready' : 'notReady';
        return { status: ready ? 200 : 400, json: { status, ...versions(call) } };
      },
    }),
  ),
  route({
    method: 'GET',
    path: '/node',
    port: 'both',
    summary: 'mode and enabled features',
    gates: [],
    success: [200],
    response: 'NodeInfo',
    handle: ({ services: { node }, dialect }) => ({
      status: 200,
      json: {
        ...emit(dialect.fields.mode, node.mode),
        chequebookEnabled: node.chequebookEnabled,
        swapEnabled: node.swapEnabled,
      },
    }),
  }),
  route({
    method: 'GET',
    path: '/chainstate',
    port: 'both',
    summary: 'chain head, last applied postage block, price',
    gates: [],
    success: [200],
    refusals: ['VALIDITY_UNAVAILABLE'],
    response: 'ChainState',
    failure: 'BLOCK_NUMBER_UNAVAILABLE',
    async handle({ services: { chain, postage }, dialect, signal }) {
      const chainTip = await chain.blockNumber(signal);
      const { block, totalAmount, currentPrice } = postage.batches.chainState();
      const validity = await orElse('VALIDITY_UNAVAILABLE', () =>
        emitRead(dialect.fields.minimumValidity, () => postage.minimumValidityBlocks(signal)),
      );
      return {
        status: 200,
        json: {
          chainTip,
          block,
          totalAmount: String(totalAmount),
          currentPrice: String(currentPrice),
          ...validity,
        },
      };
    },
  }),
  route({
    method: 'GET',
    path: '/reservestate',
    port: 'both',
    summary: 'radius and commitment of the reserve',
    gates: ['started'],
    success: [200],
    response: 'ReserveState',
    failure: 'COMMITMENT_FAILED',
    handle: ({ services: { node, postage, status } }) => ({
      status: 200,
      json: {
        radius: postage.batches.radius(),
        storageRadius: status.local().storageRadius,
        commitment: postage.batches.commitment(),
        reserveCapacityDoubling: node.capacityDoubling,
      },
    }),
  }),
  route({
    method: 'GET',
    path: '/welcome-message',
    port: 'both',
    summary: 'greeting shown to new peers',
    gates: ['started'],
    success: [200],
    response: 'WelcomeMessage',
    handle: ({ services: { host } }) => ({ status: 200, json: { welcomeMessage: host.welcomeMessage() } }),
  }),
  route({
    method: 'POST',
    path: '/welcome-message',
    port: 'both',
    summary: 'set the greeting shown to new peers',
    gates: ['started'],
    body: { content: 'json', schema: 'WelcomeMessage', required: true },
    bodyLimit: WELCOME_BODY_MAX,
    success: [200],
    refusals: ['WELCOME_BODY_INVALID', 'WELCOME_TOO_LONG', 'DISK_FULL'],
    response: 'WelcomeAnswer',
    serverErrors: ['WELCOME_TOO_LONG'],
    async handle(call) {
      const text = welcomeOf(await call.body.read());
      if (Buffer.byteLength(text) > WELCOME_MAX) throw new ApiError('WELCOME_TOO_LONG');
      await orElse('WELCOME_TOO_LONG', () => call.services.host.setWelcomeMessage(text));
      const healthPart = call.dialect.welcomeWithHealth ? health(call) : {};
      return { status: 200, json: { ...healthPart, code: 200, message: 'OK' } };
    },
  }),
];

function health(call: AnyCall): Record<string, unknown> {
  const { fields, versions: known } = call.dialect;
  const { readiness, store } = call.services;
  return {
    // The node answers, but stores nothing.
    status: store.disk.isFull() ? 'nok' : HEALTH_WORDS[readiness.state()],
    ...versions(call),
    ...emit(fields.debugApiVersion, known.debug),
  };
}

function versions({ services: { node }, dialect }: AnyCall): Record<string, string> {
  const { product, main } = dialect.versions;
  return { version: product(node.version), apiVersion: main };
}

/** @throws ApiError with the parser's words unless the body is an object with that member */
function welcomeOf(body: Uint8Array): string {
  let parsed: unknown;
  try {
    parsed = JSON.parse(Buffer.from(body).toString('utf8'));
  } catch (error) {
    throw new ApiError('WELCOME_BODY_INVALID', { cause: error });
  }
  const text = (parsed as { welcomeMessage?: unknown } | null)?.welcomeMessage ?? '';
  if (typeof parsed !== 'object' || typeof text !== 'string') {
    throw new ApiError('WELCOME_BODY_INVALID', { text: 'welcomeMessage is not a string' });
  }
  return text;
}
