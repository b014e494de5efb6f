/**
 * The chain in this process: an EVM behind the texts of JSON-RPC that Anvil would get. Calls run one after the other, by the
 * given clock alone: equal calls at equal times give equal blocks.
 */
import { Lock } from '../../../node/env/turns/lock.ts';
import { rpcOver } from '../../rpc.ts';
import type { Engine, EngineOptions } from '../engine.ts';
import { type Call, Refusal } from './answers.ts';
import { entriesIn } from './journal.ts';
import { KnownAnswers } from './known.ts';
import { Machine } from './machine.ts';
import { run } from './methods.ts';

/** @throws LocalChainError ENGINE_MISSING; the signal's reason */
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
  const known = new KnownAnswers();
  const { promise: exited, resolve: end } = Promise.withResolvers<string>();

  async function computed({ method, params }: Call): Promise<object> {
    try {
      return { result: await run(machine, method, Array.isArray(params) ? params : []) };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { error: error.failure };
    }
  }

  async function answerTo(call: Call): Promise<string> {
    return told(
      call,
      await known.answerTo(call, async () => JSON.stringify(await work(() => computed(call)))),
    );
  }

  async function answers(calls: readonly Call[]): Promise<string> {
    const answered = [];
    for (const call of calls) answered.push(await answerTo(call));
    return `[${answered.join(',')}]`;
  }

  const upstream = {
    async ask(text: string, leaving: AbortSignal) {
      const asked = JSON.parse(text) as Call | readonly Call[];
      if (isBatch(asked)) return turns.run(() => answers(asked), leaving);
      const answered = upstream.known(asked);
      return answered === undefined ? turns.run(() => answerTo(asked), leaving) : told(asked, answered);
    },
    // Nothing changes the chain now, and nothing waits to.
    known: (call: Pick<Call, 'method' | 'params'>) => (turns.isFree ? known.answerOf(call) : undefined),
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

function told({ id }: Call, answered: string): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},${answered.slice(1)}`;
}

function isBatch(asked: Call | readonly Call[]): asked is readonly Call[] {
  return Array.isArray(asked);
}
