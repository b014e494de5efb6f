import type { Clock } from '../../formats/clock.ts';
import { requestForeign } from '../base/direct.ts';
import { HarnessError, messageOf } from '../base/errors.ts';
import { readLimitedText } from '../base/read-limited.ts';
import type { Disposed, Driver, Handle, Observed, Stats } from './driver.ts';

/** Clusters observe members several times a second; remote endpoints are asked less often. */
const PROBE_PAUSE_MS = 1500;
const PROBE_TIMEOUT_MS = 4000;
const BLOCK_ANSWER_MAX = 65_536;
/** A restart or a short network outage is not reported; silence for this long is. */
const SILENCE_MS = 6000;

interface AttachedHandle {
  readonly api?: string;
  readonly rpc?: string;
}

export class AttachedDriver implements Driver {
  readonly name = 'attached';
  readonly can = {};
  readonly #endpoints = new Map<string, Endpoint>();
  readonly #closed = new AbortController();
  readonly #clock: Clock;
  readonly place = () => notOurs('be placed');
  readonly placeChain = () => notOurs('be placed');
  readonly create = async () => notOurs('be created');
  readonly start = async () => notOurs('be started');
  readonly stop = async () => notOurs('be stopped');
  readonly logs = () => notOurs('show its log');

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  observe(handle: Handle): Promise<Observed> {
    const { api, rpc } = handle as AttachedHandle;
    const url = api ?? rpc ?? '';
    let endpoint = this.#endpoints.get(url);
    if (endpoint === undefined) {
      const ask = api === undefined ? askChain : askNode;
      endpoint = new Endpoint((signal) => ask(url, signal), this.#clock, this.#closed.signal);
      this.#endpoints.set(url, endpoint);
    }
    return endpoint.observe();
  }

  async prepare(): Promise<void> {}

  async stats(): Promise<Stats> {
    return {};
  }

  async gatherLogs(): Promise<void> {}

  async dispose(): Promise<Disposed> {
    return { stopped: [], forced: [] };
  }

  disposeNow(): void {}

  async close(): Promise<void> {
    this.#closed.abort();
  }
}

function notOurs(action: string): never {
  throw new HarnessError('NODE_STATE', `a node that svcnet has not started cannot ${action}`);
}

class Endpoint {
  readonly #ask: (signal: AbortSignal) => Promise<void>;
  readonly #clock: Clock;
  readonly #closed: AbortSignal;
  #probing: Promise<void> | undefined;
  #probedAt = Number.NEGATIVE_INFINITY;
  #answeredAt: number | undefined;
  #failure: string | undefined;

  constructor(ask: (signal: AbortSignal) => Promise<void>, clock: Clock, closed: AbortSignal) {
    this.#ask = ask;
    this.#clock = clock;
    this.#closed = closed;
  }

  async observe(): Promise<Observed> {
    const isFirst = this.#probedAt === Number.NEGATIVE_INFINITY;
    if (this.#clock.monotonic() - this.#probedAt >= PROBE_PAUSE_MS) this.#probing ??= this.#probe();
    if (isFirst || this.#answeredAt === undefined) await this.#probing;
    if (this.#failure === undefined) return { state: 'running' };
    const silentMs = this.#answeredAt === undefined ? SILENCE_MS : this.#clock.monotonic() - this.#answeredAt;
    return silentMs < SILENCE_MS ? { state: 'running' } : { state: 'silent', silence: this.#failure };
  }

  async #probe(): Promise<void> {
    using deadline = this.#clock.deadline(PROBE_TIMEOUT_MS, this.#closed, true);
    const { signal } = deadline;
    try {
      await this.#ask(signal);
      this.#answeredAt = this.#clock.monotonic();
      this.#failure = undefined;
    } catch (error) {
      this.#failure = signal.aborted ? `no answer within ${PROBE_TIMEOUT_MS / 1000} s` : messageOf(error);
    } finally {
      this.#probedAt = this.#clock.monotonic();
      this.#probing = undefined;
    }
  }
}

async function askNode(api: string, signal: AbortSignal): Promise<void> {
  const { statusCode, body } = await requestForeign(`${api}/health`, { signal });
  await body.dump();
  if (statusCode !== 200) throw new Error(`GET /health: ${statusCode}`);
}

async function askChain(rpc: string, signal: AbortSignal): Promise<void> {
  const question = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'eth_blockNumber', params: [] });
  const headers = { 'content-type': 'application/json' };
  const { statusCode, body } = await requestForeign(rpc, {
    method: 'POST',
    headers,
    body: question,
    signal,
  });
  const { result } = JSON.parse(await readLimitedText(body, BLOCK_ANSWER_MAX)) as {
    result?: unknown;
  };
  if (typeof result !== 'string') throw new Error(`eth_blockNumber: ${statusCode}`);
}
