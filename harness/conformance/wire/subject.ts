import type { Clock } from '../../../formats/clock.ts';
import { parseRecord, RecordError } from '../../../node/p2p/address/record.ts';
import { isLoopback } from '../../../node/p2p/address/underlay.ts';
import { HANDSHAKE_DIALECTS, type SynAckMessage } from '../../../node/p2p/handshake/wire.ts';
import { type Generation, StreamError } from '../../../node/p2p/host.ts';
import { createSecure, type SecureChannel } from '../../../node/p2p/libp2p/channel.ts';
import { createTcp, type TcpConnection } from '../../../node/p2p/tcp-host.ts';
import { Get, Snapshot, STATUS } from '../../../node/protocols/status/wire.ts';
import { messageOf } from '../../base/errors.ts';
import { orLate } from '../../base/wait.ts';
import type { Opening } from '../grade.ts';
import { type Exchange, Mismatch, NotApplicable, type Row, type RowRun } from '../row.ts';
import { ANSWER_MS } from './conversation.ts';
import { type Address, CONNECT_MS, Counterpart, type CounterpartOptions } from './counterpart.ts';
import type { Funds, SwapPrice } from './funds.ts';
import { freshIdentity } from './identities.ts';
import { Transcript } from './transcript.ts';

/** A node on another machine accepts ten connections per second from one address. */
const PACE_MS = 250;
/** For a node that may have ended or hang to accept a connection; less once it is known to be gone. */
const ALIVE_MS = { first: 5_000, again: 1_000 } as const;

const UNREACHABLE = 'the node says that it cannot be reached from outside, and passes chunks on';

export interface WireOptions extends Address {
  readonly hostile: boolean;
  /** The oracle's report; absent: the chain is unknown. */
  readonly swapPrice?: (() => Promise<SwapPrice>) | undefined;
  readonly funds?: Funds;
}

/** A counterpart's introduction. */
export interface FreshOptions extends CounterpartOptions {
  readonly generation?: Generation;
}

export interface WireSubject {
  readonly options: WireOptions;
  readonly memory: Memory;
}

/** Runs beside the rows, judged by one. */
interface BackgroundCheck {
  readonly exchanges: readonly Exchange[];
  readonly done: Promise<void>;
}

interface Introduction {
  readonly generation: Generation;
  readonly answer: SynAckMessage;
}

/** Shared by rows. */
export class Memory {
  readonly clock: Clock;
  readonly #options: WireOptions;
  readonly #stopped = new AbortController();
  readonly #open = new Set<Counterpart>();
  #lastConnect = Number.NEGATIVE_INFINITY;
  #hasConnected = false;
  #isGone = false;
  #friend: Counterpart | undefined;
  #generations: Promise<readonly Generation[]> | undefined;
  /** In a handshake. */
  introduction: Introduction | undefined;
  seenAt: string | undefined;
  readonly background = new Map<string, BackgroundCheck>();
  readonly #kept = new Map<string, Promise<unknown>>();

  constructor(options: WireOptions, { clock, signal }: Opening) {
    this.clock = clock;
    this.#options = options;
    signal.addEventListener('abort', () => void this.close(), { once: true });
  }

  once<T>(name: string, find: () => Promise<T>): Promise<T> {
    const known = this.#kept.get(name) ?? find();
    this.#kept.set(name, known);
    return known as Promise<T>;
  }

  async connect(log: Transcript, options: CounterpartOptions = {}): Promise<Counterpart> {
    await this.#pace();
    const [clock, { signal }] = [this.clock, this.#stopped];
    const how = { seenAt: this.seenAt, ...options, clock, signal };
    const counterpart = await Counterpart.connect(this.#options, log, how);
    this.#hasConnected = true;
    this.#open.add(counterpart);
    void counterpart.closed.then(() => this.#open.delete(counterpart));
    return counterpart;
  }

  /** @throws Mismatch when a node that took connections has ended or hangs: no row need wait for it */
  async mustBeThere(): Promise<void> {
    if (!this.#hasConnected || this.#stopped.signal.aborted) return;
    await this.#pace();
    const { clock } = this;
    using late = clock.deadline(this.#isGone ? ALIVE_MS.again : ALIVE_MS.first, this.#stopped.signal);
    try {
      const unheard = new Transcript(() => undefined);
      await (await Counterpart.connect(this.#options, unheard, { clock, signal: late.signal })).leave();
      this.#isGone = false;
    } catch (error) {
      if (this.#stopped.signal.aborted) return;
      this.#isGone = true;
      throw new Mismatch(`the node takes no connections any more: ${messageOf(error)}`);
    }
  }

  async mustBeBack(): Promise<void> {
    if (this.#isGone) await this.mustBeThere();
  }

  async dial(): Promise<TcpConnection> {
    await this.#pace();
    using limit = this.clock.deadline(CONNECT_MS, this.#stopped.signal);
    return await createTcp().dial(this.#options.address, limit.signal);
  }

  /** Best first. */
  generations(): Promise<readonly Generation[]> {
    this.#generations ??= this.#askGenerations();
    return this.#generations;
  }

  async #askGenerations(): Promise<readonly Generation[]> {
    const spoken: Generation[] = [];
    for (const { generation, id } of HANDSHAKE_DIALECTS) {
      const stranger = await this.connect(new Transcript(() => undefined));
      if ((await stranger.tryOpen(id)) !== undefined) spoken.push(generation);
      await stranger.leave();
    }
    return spoken;
  }

  /** Rows share it while it is connected. */
  async friend(log: Transcript): Promise<Counterpart> {
    const known = this.#friend;
    if (known !== undefined && !known.isClosed) {
      known.recordIn(log);
      return known;
    }
    const friend = await this.introduced(log, {});
    this.#friend = friend;
    return friend;
  }

  async introduced(log: Transcript, { generation, ...options }: FreshOptions): Promise<Counterpart> {
    const [best] = generation === undefined ? await this.generations() : [generation];
    if (best === undefined) throw new Mismatch('the node speaks neither handshake 15.0.0 nor 14.0.0');
    const counterpart = await this.connect(log, options);
    try {
      this.introduction = { generation: best, answer: await counterpart.introduce(best) };
      await counterpart.settle();
    } catch (error) {
      await counterpart.leave();
      throw error;
    }
    return counterpart;
  }

  /** 20 bytes, from its handshake. */
  nodeEthereum(): Uint8Array {
    return recordOf(this.introduction, this.#options.networkId).ethereum;
  }

  async close(): Promise<void> {
    this.#stopped.abort();
    await Promise.all(Array.from(this.#open, (counterpart) => counterpart.leave()));
  }

  async #pace(): Promise<void> {
    if (isLoopback(this.#options.address)) return;
    const due = this.#lastConnect + PACE_MS - this.clock.monotonic();
    if (due > 0) await this.clock.sleep(due);
    this.#lastConnect = this.clock.monotonic();
  }
}

/** All that it opens closes with it. */
export class Desk {
  readonly options: WireOptions;
  readonly memory: Memory;
  readonly log: Transcript;
  readonly #opened: (() => Promise<void> | void)[] = [];

  constructor({ options, memory }: WireSubject, log: Transcript) {
    this.options = options;
    this.memory = memory;
    this.log = log;
  }

  get clock(): Clock {
    return this.memory.clock;
  }

  /** @throws Mismatch when too late, or the other side hangs up */
  async within<T>(work: Promise<T>): Promise<T> {
    const late = new Mismatch(`no answer within ${ANSWER_MS} ms`);
    try {
      const answer = await orLate(work, { clock: this.clock, ms: ANSWER_MS, late });
      if (answer === late) throw late;
      return answer as T;
    } catch (error) {
      if (error instanceof StreamError) throw new Mismatch(error.message);
      throw error;
    }
  }

  /** A light node: others never hear of it. */
  async friend(): Promise<Counterpart> {
    return prerequisite('introduction', this.memory.friend(this.log));
  }

  async fresh(options: FreshOptions = {}): Promise<Counterpart> {
    return this.keep(await prerequisite('introduction', this.memory.introduced(this.log, options)));
  }

  /** A peer that has not introduced itself. */
  async stranger(options: CounterpartOptions = {}): Promise<Counterpart> {
    return this.keep(await prerequisite('noise Ed25519', this.memory.connect(this.log, options)));
  }

  /** Closes it at the row's end. */
  keep(counterpart: Counterpart): Counterpart {
    this.#opened.push(() => counterpart.leave());
    return counterpart;
  }

  /** Waits for a check begun with the run. */
  async waited(name: string): Promise<void> {
    const wait = this.memory.background.get(name);
    if (wait === undefined) throw new Error(`nothing was begun as ${name}`);
    try {
      await wait.done;
    } finally {
      for (const exchange of wait.exchanges) this.log.add(exchange);
    }
  }

  async socket(): Promise<TcpConnection> {
    const connection = await this.memory.dial();
    this.#opened.push(() => connection.abort(new Error('the checker leaves')));
    return connection;
  }

  /** An encrypted channel without a multiplexer. */
  async channel(): Promise<SecureChannel & { readonly closed: Promise<void> }> {
    const connection = await this.socket();
    const closed = Promise.withResolvers<void>();
    connection.onClosed(() => closed.resolve());
    const { peerId } = this.options;
    const secure = createSecure(freshIdentity('Ed25519'));
    using limit = this.clock.deadline(CONNECT_MS);
    const channel = await secure(connection, 'dialler', { expected: peerId, signal: limit.signal });
    return { ...channel, closed: closed.promise };
  }

  async requireGeneration(generation: Generation): Promise<void> {
    if (!(await this.memory.generations()).includes(generation)) {
      throw new NotApplicable(`the node does not speak handshake ${generation}`);
    }
  }

  async isIn(mode: 'full' | 'light'): Promise<void> {
    await this.friend();
    const is = this.memory.introduction?.answer.ack?.fullNode === true ? 'full' : 'light';
    if (is !== mode) throw new NotApplicable(`the node is a ${is} node`);
  }

  /** A node that thinks itself unreachable passes on even its neighbourhood's chunks. */
  async keepsChunks(): Promise<void> {
    const isReachable = await this.memory.once('reachable', async () => {
      const conversation = await prerequisite('status', (await this.fresh()).converse(STATUS.id));
      conversation.send(Get, {}, 'Get');
      return (await prerequisite('status', conversation.receive(Snapshot, 'Snapshot'))).isReachable;
    });
    if (!isReachable) throw new NotApplicable(UNREACHABLE);
  }

  overlay(): Uint8Array {
    const overlay = this.memory.introduction?.answer.ack?.address?.overlay;
    if (overlay === undefined) throw new NotApplicable("needs what the row 'introduction' looks at");
    return overlay;
  }

  funds(): Funds {
    if (this.options.funds === undefined)
      throw new NotApplicable('needs --rpc and --key: an account with coins and tokens');
    return this.options.funds;
  }

  async clear(): Promise<void> {
    for (const close of this.#opened.splice(0)) await close();
  }
}

function recordOf(introduction: Introduction | undefined, networkId: bigint) {
  const { address, nonce } = introduction?.answer.ack ?? {};
  if (introduction === undefined || address === undefined || nonce === undefined) {
    throw new NotApplicable("needs what the row 'introduction' looks at");
  }
  const { generation } = introduction;
  const wire = generation === '15.0.0' ? address : { ...address, nonce };
  try {
    return parseRecord(wire, networkId, { generation });
  } catch (error) {
    if (!(error instanceof RecordError)) throw error;
    throw new NotApplicable(`needs what the row 'SynAck' looks at: ${error.message}`);
  }
}

export async function prerequisite<T>(row: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof NotApplicable) throw error;
    throw new NotApplicable(`needs what the row '${row}' looks at: ${messageOf(error)}`);
  }
}

/** @param checks by name */
export async function beginBackground(
  subject: WireSubject,
  checks: Readonly<Record<string, (desk: Desk) => Promise<void>>>,
): Promise<void> {
  const all: Promise<unknown>[] = [];
  for (const [name, check] of Object.entries(checks)) {
    const exchanges: Exchange[] = [];
    const log = new Transcript((exchange) => void exchanges.push(exchange));
    const desk = new Desk(subject, log);
    const work = async () => {
      try {
        await check(desk);
      } finally {
        log.flush();
        await desk.clear();
      }
    };
    const done = work();
    // Its row reports the outcome, if it runs.
    all.push(Promise.allSettled([done]));
    subject.memory.background.set(name, { exchanges, done });
  }
  await Promise.all(all);
}

export interface WireRow extends Omit<Row<WireSubject>, 'run'> {
  readonly hostile?: boolean;
  readonly mode?: 'full' | 'light';
  /** Begun with the run, by this name. */
  readonly background?: string;
  /** Ends a version in use: runs last. */
  readonly mayEndIt?: true | undefined;
  readonly check: (desk: Desk) => Promise<void>;
}

export type WireEntry = Omit<WireRow, 'group' | 'level'> & Partial<Pick<WireRow, 'group' | 'level'>>;

export function table(
  defaults: Pick<WireRow, 'group' | 'level' | 'mode' | 'hostile'>,
  entries: readonly WireEntry[],
): WireRow[] {
  return entries.map((entry) => ({ ...defaults, ...entry }));
}

export function rowOf({
  check,
  hostile,
  mode,
  background: _waits,
  mayEndIt: _mayEndIt,
  ...row
}: WireRow): Row<WireSubject> {
  return {
    ...row,
    async run(subject: WireSubject, { record, signal }: RowRun) {
      if (hostile === true && !subject.options.hostile) throw new NotApplicable('needs --hostile');
      const log = new Transcript(record);
      const desk = new Desk(subject, log);
      // A late row is judged while it waits.
      signal.addEventListener('abort', () => log.flush(), { once: true });
      try {
        await subject.memory.mustBeBack();
        if (mode !== undefined) await desk.isIn(mode);
        await check(desk);
      } catch (error) {
        if (!signal.aborted) await subject.memory.mustBeThere();
        throw error;
      } finally {
        log.flush();
        await desk.clear();
      }
    },
  };
}
