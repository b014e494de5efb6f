import { type Call, callsOf, mayRewrite, whyNot, whyTooMany, withBoundedGas } from './methods.ts';

/** As every client of ours begins its requests. */
const START = '{"jsonrpc":"2.0","id":';
/** As JSON has it: without leading zeros. */
const ID = /^(?:0|[1-9]\d{0,14})$/;
const CALLS_MAX = 1000;
/** Characters. Longer texts, as of transactions, are seldom asked again. */
const TEXT_MAX = 10_000;
const NAMES: readonly string[] = ['method', 'params'];

interface Question {
  /** As text. */
  readonly id: string;
  readonly call: Call;
}

/** Single calls without the token that pass as they are: nodes ask the same of each head, and only the id differs. */
export class JudgedCalls {
  /** By what follows the id. */
  readonly #calls = new Map<string, Call | undefined>();

  /** Undefined: not such a call. */
  find(text: string): Question | undefined {
    if (text.length > TEXT_MAX || !text.startsWith(START)) return undefined;
    const end = text.indexOf(',', START.length);
    const id = text.slice(START.length, end);
    if (end === -1 || !ID.test(id)) return undefined;
    const rest = text.slice(end + 1);
    const known = this.#calls.get(rest);
    const call = known ?? (this.#calls.has(rest) ? undefined : this.#judge(rest));
    return call === undefined ? undefined : { id, call };
  }

  #judge(rest: string): Call | undefined {
    if (this.#calls.size >= CALLS_MAX) this.#calls.clear();
    const call = callIn(`{${rest}`);
    const passes =
      call !== undefined &&
      whyNot(call, false) === undefined &&
      whyTooMany([call]) === undefined &&
      !mayRewrite(call);
    const judged = passes ? withBoundedGas(call) : undefined;
    this.#calls.set(rest, judged);
    return judged;
  }
}

export function withId(id: string, answered: string): string {
  return `${START}${id},${answered.slice(1)}`;
}

function callIn(text: string): Call | undefined {
  try {
    const read = JSON.parse(text) as Readonly<Record<string, unknown>>;
    // Another id would count.
    if (!Object.keys(read).every((name) => NAMES.includes(name))) return undefined;
    return callsOf({ jsonrpc: '2.0', id: null, ...read })?.[0];
  } catch {
    return undefined;
  }
}
