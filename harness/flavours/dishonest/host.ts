/** A dishonest node's host changes what the honest node above hears and says, after negotiation and encryption. */
import { toHex } from '../../../formats/crypto/hex.ts';
import type { MessageOf, MessageTable } from '../../../node/p2p/codec/message.ts';
import { type Host, type MessageStream, type ProtocolHandler, StreamError } from '../../../node/p2p/host.ts';
import type { HostDeps, HostOptions } from '../../../node/p2p/host-options.ts';
import { Offer } from '../../../node/protocols/pullsync/wire.ts';
import { Delivery } from '../../../node/protocols/pushsync/wire.ts';
import type { Behaviour, Stage, Written } from './behaviour.ts';
import type { BehaviourName } from './names.ts';
import { BEHAVIOURS } from './table.ts';

const HEARD_MAX = 1_000;

export interface Dishonesty {
  readonly behaviours: readonly BehaviourName[];
  readonly newHost: Stage['newHost'];
  readonly chain: Stage['chain'];
  readonly count: (behaviour: BehaviourName, what: string, by?: number) => void;
}

export function dishonestHost(options: HostOptions, deps: HostDeps, dishonesty: Dishonesty): Host {
  const { newHost, chain, behaviours, count } = dishonesty;
  const host = newHost(options, deps);
  const stopping = new AbortController();
  const heard = new Set<string>();
  const { clock, random } = deps;
  const ground = { host, options, deps, clock, random, newHost, chain, heard, signal: stopping.signal };
  const roles = behaviours.map((name) => {
    const stage: Stage = { ...ground, count: (what, by) => count(name, what, by) };
    return new Role(name, BEHAVIOURS[name], stage);
  });
  const listen = (table: MessageTable, message: unknown) => {
    for (const address of addressesIn(table, message)) heard.add(toHex(address));
    for (const old of heard) {
      if (heard.size <= HEARD_MAX) break;
      heard.delete(old);
    }
  };
  const tampered = (stream: MessageStream, protocol: string) =>
    new TamperedStream(stream, { protocol, roles, listen });
  const changed: Pick<Host, 'handle' | 'open' | 'start' | 'stop'> = {
    handle(protocol, handler, answer) {
      const other = roles.map((role) => role.serves[protocol.id]).find((found) => found !== undefined);
      if (other !== undefined) {
        host.handle(protocol, other);
        return;
      }
      const honest: ProtocolHandler = (stream, signal) => handler(tampered(stream, protocol.id), signal);
      host.handle(protocol, honest, answer);
    },
    async open(peer, protocol, how) {
      if (roles.some((role) => role.withholds(protocol))) {
        throw new StreamError('STREAM_RESET', 'the node withholds this');
      }
      return tampered(await host.open(peer, protocol, how), protocol);
    },
    async start() {
      await host.start();
      for (const role of roles) role.begin();
    },
    async stop() {
      stopping.abort(new Error('the node stops'));
      await host.stop();
    },
  };
  // The honest host's methods must be bound to it.
  return new Proxy(host, {
    get(target, name) {
      if (Object.hasOwn(changed, name)) return changed[name as keyof typeof changed];
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

class Role {
  readonly serves: Readonly<Record<string, ProtocolHandler>>;
  readonly alter: ReturnType<NonNullable<Behaviour['alters']>> | undefined;
  readonly #name: BehaviourName;
  readonly #behaviour: Behaviour;
  readonly #stage: Stage;
  readonly #withholds: ((protocol: string) => boolean) | undefined;

  constructor(name: BehaviourName, behaviour: Behaviour, stage: Stage) {
    this.#name = name;
    this.#behaviour = behaviour;
    this.#stage = stage;
    this.serves = behaviour.serves?.(stage) ?? {};
    this.alter = behaviour.alters?.(stage);
    this.#withholds = behaviour.withholds?.(stage);
  }

  withholds(protocol: string): boolean {
    return this.#withholds?.(protocol) ?? false;
  }

  begin(): void {
    const { deps, signal } = this.#stage;
    this.#behaviour.acts?.(this.#stage).catch((err: unknown) => {
      if (!signal.aborted)
        deps.log.error({ err, behaviour: this.#name }, 'dishonest behaviour ended with an error');
    });
  }
}

interface Tampering {
  readonly protocol: string;
  readonly roles: readonly Role[];
  readonly listen: (table: MessageTable, message: unknown) => void;
}

class TamperedStream implements MessageStream {
  readonly #stream: MessageStream;
  readonly #tampering: Tampering;

  constructor(stream: MessageStream, tampering: Tampering) {
    this.#stream = stream;
    this.#tampering = tampering;
  }

  get peer(): MessageStream['peer'] {
    return this.#stream.peer;
  }

  get headers(): MessageStream['headers'] {
    return this.#stream.headers;
  }

  async read<T extends MessageTable>(table: T, signal?: AbortSignal): Promise<MessageOf<T>> {
    const message = await (signal === undefined
      ? this.#stream.read(table)
      : this.#stream.read(table, signal));
    this.#tampering.listen(table, message);
    return message;
  }

  async write<T extends MessageTable>(table: T, message: Partial<MessageOf<T>>): Promise<void> {
    let altered = message as Written['message'];
    for (const { alter } of this.#tampering.roles) {
      if (alter === undefined) continue;
      altered = await alter({ peer: this.peer, protocol: this.#tampering.protocol, table, message: altered });
    }
    await this.#stream.write(table, altered as Partial<MessageOf<T>>);
  }

  close(): Promise<void> {
    return this.#stream.close();
  }

  reset(reason: Error): void {
    this.#stream.reset(reason);
  }
}

function addressesIn(table: MessageTable, message: unknown): readonly Uint8Array[] {
  if (table === Delivery) return [(message as MessageOf<typeof Delivery>).address];
  if (table === Offer) return (message as MessageOf<typeof Offer>).chunks.map(({ address }) => address);
  return [];
}
