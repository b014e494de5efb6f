import { decodeRevert } from '../../../formats/ethereum/revert.ts';

const REVERTED = 3;
const NOT_SUPPORTED = -32_004;
const METHOD_NOT_FOUND = -32_601;

export interface Call {
  readonly id: unknown;
  readonly method: string;
  readonly params?: unknown;
}

export interface RpcFailure {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

export class Refusal extends Error {
  readonly failure: RpcFailure;

  constructor(failure: RpcFailure) {
    super(failure.message);
    this.name = 'Refusal';
    this.failure = failure;
  }
}

export function refusalOf({ code, message, data }: RpcFailure): Refusal {
  if (isObject(data) && isObject(data['reason']) && typeof data['reason']['Revert'] === 'string') {
    const { reason, data: bytes } = decodeRevert(data['reason']['Revert'], 'no reason');
    return new Refusal({ code: REVERTED, message: `execution reverted: ${reason}`, data: bytes });
  }
  return new Refusal({ code: code === NOT_SUPPORTED ? METHOD_NOT_FOUND : code, message });
}

export function unavailable(method: string, why: string): Refusal {
  return new Refusal({ code: METHOD_NOT_FOUND, message: `${method} is not available: ${why}` });
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
