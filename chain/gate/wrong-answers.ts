/** `number`: far ahead. `logs`: none. `balance`: nothing. `other`: another request's answer. */
export const WRONG_ANSWERS = ['number', 'logs', 'balance', 'other'] as const;

/** Wrong answers of the endpoint: other values, an old head, a fork. */
export type WrongAnswer =
  | { readonly kind: 'wrong'; readonly what: (typeof WRONG_ANSWERS)[number] }
  /** It is this many blocks behind. */
  | { readonly kind: 'lag'; readonly blocks: number }
  /** It sees no new blocks. */
  | { readonly kind: 'frozen' };

interface Call {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: readonly unknown[];
}

interface Answer {
  readonly id?: unknown;
  readonly result?: unknown;
}

const AHEAD = 100_000;
const HEAD_METHODS = ['eth_blockNumber', 'eth_getBlockByNumber'];
const BALANCE_METHOD = 'eth_getBalance';

type Upstream = (body: string) => Promise<string>;

export class WrongEndpoint {
  readonly fault: WrongAnswer;
  #frozenAt: number | undefined;
  #earlier: Answer | undefined;

  constructor(fault: WrongAnswer) {
    this.fault = fault;
  }

  async answer(body: string, upstream: Upstream): Promise<{ readonly text: string; readonly wrong: number }> {
    const asked = JSON.parse(body) as Call | readonly Call[];
    const calls = isList(asked) ? asked : [asked];
    let wrong = 0;
    const answers: Answer[] = [];
    for (const call of calls) {
      const told = await this.#told(call, upstream);
      const truth = told === undefined ? await ask(call, upstream) : undefined;
      const answer = told ?? this.#changed(call, truth as Answer);
      if (answer !== truth) wrong++;
      answers.push(answer);
    }
    return { text: JSON.stringify(isList(asked) ? answers : answers[0]), wrong };
  }

  async #told(call: Call, upstream: Upstream): Promise<Answer | undefined> {
    const { fault } = this;
    if (fault.kind === 'wrong' || !HEAD_METHODS.includes(call.method ?? '') || !asksForHead(call))
      return undefined;
    const head = Number((await ask({ method: 'eth_blockNumber' }, upstream)).result);
    this.#frozenAt ??= head;
    const number = fault.kind === 'frozen' ? this.#frozenAt : Math.max(0, head - fault.blocks);
    if (number === head) return undefined;
    if (call.method === 'eth_blockNumber') return { ...answerTo(call), result: hex(number) };
    return ask({ ...call, params: [hex(number), ...(call.params ?? []).slice(1)] }, upstream);
  }

  #changed(call: Call, truth: Answer): Answer {
    if (this.fault.kind !== 'wrong' || truth.result === undefined) return truth;
    switch (this.fault.what) {
      case 'number':
        return ahead(call, truth);
      case 'logs':
        return isList(truth.result) && call.method === 'eth_getLogs' && truth.result.length > 0
          ? { ...truth, result: [] }
          : truth;
      case 'balance':
        return call.method === BALANCE_METHOD && truth.result !== '0x0' ? { ...truth, result: '0x0' } : truth;
      case 'other': {
        const earlier = this.#earlier;
        this.#earlier = truth;
        return earlier ?? truth;
      }
    }
  }
}

function ahead(call: Call, truth: Answer): Answer {
  if (!HEAD_METHODS.includes(call.method ?? '') || !asksForHead(call)) return truth;
  if (typeof truth.result === 'string') return { ...truth, result: hex(Number(truth.result) + AHEAD) };
  const block = truth.result as { readonly number?: string } | null;
  if (block?.number === undefined) return truth;
  return { ...truth, result: { ...block, number: hex(Number(block.number) + AHEAD) } };
}

function asksForHead({ method, params = [] }: Call): boolean {
  return method === 'eth_blockNumber' || params[0] === 'latest';
}

async function ask(call: Call, upstream: Upstream): Promise<Answer> {
  return JSON.parse(await upstream(JSON.stringify({ ...answerTo(call), ...call }))) as Answer;
}

function answerTo({ id = 0 }: Call): { readonly jsonrpc: string; readonly id: unknown } {
  return { jsonrpc: '2.0', id };
}

function hex(number: number): string {
  return `0x${number.toString(16)}`;
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}
