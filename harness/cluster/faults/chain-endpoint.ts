import { z } from 'zod';
import type { RpcFault } from '../../../chain/gate/faults.ts';
import { WRONG_ANSWERS } from '../../../chain/gate/wrong-answers.ts';
import { HarnessError } from '../../base/errors.ts';
import { formatMs } from '../../base/format.ts';
import type { Chain } from '../../chain/chain.ts';
import type { FaultKind } from './fault.ts';
import { delay, type FaultField, nodeName } from './fields.ts';
import { PERCENT, whole } from './machines/fields.ts';

const SLOW_MS = 1_000;
/** The chain keeps the state of no more blocks than this. */
const LAG_MAX = 60;

const somebody = { node: nodeName.optional() };
const WHOSE: FaultField = { field: 'node', flag: '[node]', about: 'node that sees it (default: all nodes)' };

interface EndpointRow<R extends { node?: string | undefined }> {
  readonly name: string;
  readonly about: string;
  readonly schema: z.ZodType<R>;
  readonly fields?: readonly FaultField[];
  readonly what: (request: R) => string;
  readonly fault: (request: R) => RpcFault;
  readonly counts: string;
}

function endpointKind<R extends { node?: string | undefined }>(row: EndpointRow<R>): FaultKind<R> {
  const { name, about, schema, fields = [], what, fault, counts } = row;
  return {
    name,
    layer: 'chain',
    about,
    schema,
    fields: [WHOSE, ...fields],
    text: (request) => `${what(request)} for ${request.node ?? 'all nodes'}`,
    targets: ({ node }) => (node === undefined ? ['chain'] : [node]),
    async begin({ chain }, request, { hold, key: id }) {
      const { node = '' } = request;
      await metBy(chain, id);
      hold({ id, node });
      await chain.setRpcFault(fault(request), request.node, id);
      return { id, node };
    },
    effect: async ({ chain }, { id }) => ({ [counts]: await metBy(chain, String(id)) }),
    end: ({ chain }, { id, node }) =>
      chain.setRpcFault({ kind: 'none' }, node === '' ? undefined : String(node), String(id)),
  };
}

async function metBy(chain: Chain, id: string): Promise<number> {
  const met = await chain.rpcCallsMet();
  if (met !== undefined) return met[id] ?? 0;
  throw new HarnessError('FAULT_REFUSED', "the nodes of this cluster reach the chain's endpoint directly", {
    hint: 'Start it with svcnet up --machine-faults, or with chain: { gate: true } in the cluster file.',
  });
}

const anyone = z.strictObject(somebody);
const errors = z.strictObject({ ...somebody, percent: whole(1, 100, 'percent').default(50) });
const slow = z.strictObject({ ...somebody, by: delay.default(SLOW_MS) });
const wrong = z.strictObject({
  ...somebody,
  what: z.enum(WRONG_ANSWERS, { error: `one of ${WRONG_ANSWERS.join(', ')}` }),
});
const lag = z.strictObject({ ...somebody, blocks: whole(1, LAG_MAX, 'blocks').default(10) });

export const RPC_DOWN = endpointKind<z.infer<typeof anyone>>({
  name: 'rpc-down',
  about: "break connections to the chain's endpoint",
  schema: anyone,
  what: () => "breaks connections to the chain's endpoint",
  fault: () => ({ kind: 'down' }),
  counts: 'requests cut off',
});

export const RPC_ERRORS = endpointKind<z.infer<typeof errors>>({
  name: 'rpc-errors',
  about: "make the chain's endpoint refuse a share of the calls, as one with a rate limit does",
  schema: errors,
  fields: [PERCENT],
  what: ({ percent }) => `refuses ${percent} % of the calls to the chain`,
  fault: ({ percent }) => ({ kind: 'error', percent }),
  counts: 'requests refused',
});

export const RPC_SLOW = endpointKind<z.infer<typeof slow>>({
  name: 'rpc-slow',
  about: "delay the answers of the chain's endpoint",
  schema: slow,
  fields: [{ field: 'by', flag: '--by <duration>', about: 'delay of each answer (default: 1s)' }],
  what: ({ by }) => `delays answers of the chain by ${formatMs(by)}`,
  fault: ({ by }) => ({ kind: 'slow', ms: Math.round(by) }),
  counts: 'answers delayed',
});

const WRONG_TEXT = {
  number: 'names a block far ahead as the newest one',
  logs: 'leaves all events out of the answers of the chain',
  balance: 'says that accounts have nothing',
  other: 'answers each call with what belongs to another one',
} as const satisfies Record<(typeof WRONG_ANSWERS)[number], string>;

export const RPC_WRONG = endpointKind<z.infer<typeof wrong>>({
  name: 'rpc-wrong',
  about:
    "make the chain's endpoint answer wrongly: a block number far ahead, no events, no balance, or answers to other calls",
  schema: wrong,
  fields: [{ field: 'what', flag: '--what <answer>', about: `one of ${WRONG_ANSWERS.join(', ')}` }],
  what: ({ what }) => WRONG_TEXT[what],
  fault: ({ what }) => ({ kind: 'wrong', what }),
  counts: 'wrong answers',
});

export const RPC_LAG = endpointKind<z.infer<typeof lag>>({
  name: 'rpc-lag',
  about: "keep the head of the chain's endpoint some blocks behind the chain",
  schema: lag,
  fields: [{ field: 'blocks', flag: '--blocks <count>', about: 'number of blocks (default: 10)' }],
  what: ({ blocks }) => `keeps the endpoint ${blocks} blocks behind the chain`,
  fault: ({ blocks }) => ({ kind: 'lag', blocks }),
  counts: 'answers of the past',
});

export const RPC_FROZEN = endpointKind<z.infer<typeof anyone>>({
  name: 'rpc-frozen',
  about: "freeze the head that the chain's endpoint shows, while the chain grows",
  schema: anyone,
  what: () => 'stops the head of the endpoint',
  fault: () => ({ kind: 'frozen' }),
  counts: 'answers of the past',
});
