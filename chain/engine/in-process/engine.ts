/**
 * The chain in this process: an EVM behind the texts of JSON-RPC that Anvil would get. Calls run one after the
 * other, in the order in which they came, and no other clock is read than the given one: equal calls at equal times
 * give equal blocks.
 */
import { Lock } from '../../../node/env/turns/lock.ts';
import { rpcOver } from '../../rpc.ts';
import type { Engine, EngineOptions } from '../engine.ts';
import { type Call, Refusal } from './answers.ts';
import { entriesIn } from './journal.ts';
import { Machine } from './machine.ts';
import { run } from './methods.ts';

/** @throws LocalChainError ENGINE_MISSING; the signal's reason when aborted */
export async function startInProcess({
  chainId,
  clock,
  work,
  state,
  signal,
}: EngineOptions): Promise<Engine> {
  signal?.throwIfAborted();
  const machine = await work(() =>
    Machine.open({ chainId, clock }, state === undefined ? [] : entriesIn(state)),
  );
  const turns = new Lock();
  const { promise: exited, resolve: end } = Promise.withResolvers<string>();

  async function answerTo({ id, method, params }: Call): Promise<object> {
    try {
      return { jsonrpc: '2.0', id, result: await run(machine, method, Array.isArray(params) ? params : []) };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { jsonrpc: '2.0', id, error: error.failure };
    }
  }

  async function answers(calls: readonly Call[]): Promise<readonly object[]> {
    const answered = [];
    for (const call of calls) answered.push(await answerTo(call));
    return answered;
  }

  const upstream = {
    ask: (text: string, leaving: AbortSignal) =>
      turns.run(async () => {
        const asked = JSON.parse(text) as Call | readonly Call[];
        const answered = await work<object>(() => (isBatch(asked) ? answers(asked) : answerTo(asked)));
        return JSON.stringify(answered);
      }, leaving),
    close: () => undefined,
  };
  return {
    pid: undefined,
    upstream,
    rpc: rpcOver(upstream, clock),
    exited,
    stop: async () => end('stopped'),
  };
}

function isBatch(asked: Call | readonly Call[]): asked is readonly Call[] {
  return Array.isArray(asked);
}
