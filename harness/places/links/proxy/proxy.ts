/** Nodes advertise the addresses of the proxy, which stands before their p2p ports. */

import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import type { CallAddress } from '../../../base/calls.ts';
import { messageOf } from '../../../base/errors.ts';
import { type LinkControl, type LinkEffect, type LinkRule, Rules } from '../rules.ts';
import type { TapBatch, TapControl } from '../tap/events.ts';
import type { MessageEffect, MessageRule } from '../tap/faults/rule.ts';
import type { Tap } from '../tap/tap.ts';
import { AddressDiallers } from './addresses.ts';
import { BypassConnections } from './bypass.ts';
import { Connection, SOCKET_OPTIONS } from './connection.ts';
import { type DiallerLookup, SocketDiallers } from './diallers.ts';
import type { Budget } from './flow.ts';
import type { Refusal, Route, RouteControl } from './routes.ts';

export interface ProxyOptions {
  readonly listen: string;
  readonly routes: readonly Route[];
  readonly seed: string;
  /** How to find the dialler: by this machine's sockets (default), or by its address, where every node has its own. */
  readonly diallers?: 'sockets' | 'addresses';
  readonly control?: CallAddress;
}

export type ProxyLine =
  | { readonly ready: true; readonly control: number }
  | ({ readonly ready: false } & Refusal);

interface Door {
  readonly port: number;
  readonly server: Server;
}

export class LinkProxy implements LinkControl, TapControl, RouteControl {
  readonly knowsDiallers: boolean;
  readonly #options: ProxyOptions;
  readonly #routes = new Map<string, Route>();
  readonly #doors = new Map<string, Door>();
  readonly #rules = new Rules();
  readonly #budget: Budget = { queued: 0 };
  readonly #connections = new Set<Connection>();
  readonly #diallers: DiallerLookup;
  /** Only sockets show connections that bypass the proxy. */
  readonly #bypass: BypassConnections | undefined;
  readonly #onRoutes: (routes: readonly Route[]) => void;
  #tap: Tap | undefined;
  #accepted = 0;

  /** @param onRoutes called when they have changed since the start */
  constructor(options: ProxyOptions, onRoutes: (routes: readonly Route[]) => void = () => undefined) {
    this.#options = options;
    this.#onRoutes = onRoutes;
    if (options.diallers === 'addresses') {
      this.knowsDiallers = true;
      this.#diallers = new AddressDiallers(this.#routes);
      return;
    }
    // Only Linux has the tables of sockets.
    this.knowsDiallers = process.platform === 'linux';
    const sockets = new SocketDiallers(this.#routes);
    this.#diallers = sockets;
    this.#bypass = new BypassConnections({ rules: this.#rules, diallers: sockets, routes: this.#routes });
  }

  /** @throws Error of the system, such as `EADDRINUSE` with its port */
  async start(): Promise<void> {
    await this.#admitAll(this.#options.routes);
  }

  async route(routes: readonly Route[]): Promise<Refusal | undefined> {
    try {
      await this.#admitAll(routes);
    } catch (error) {
      return refusalOf(error);
    }
    this.#onRoutes([...this.#routes.values()]);
    this.#bypass?.follow();
    return undefined;
  }

  unroute(nodes: readonly string[]): Promise<void> {
    for (const node of nodes) {
      this.#doors.get(node)?.server.close();
      this.#doors.delete(node);
      this.#routes.delete(node);
      this.#tap?.forget(node);
    }
    for (const connection of this.#connections) {
      if (nodes.includes(connection.target)) connection.reset();
    }
    this.#onRoutes([...this.#routes.values()]);
    return Promise.resolve();
  }

  async #admitAll(routes: readonly Route[]): Promise<void> {
    const keyed = routes.some(({ key }) => key !== undefined);
    if (keyed && this.#tap === undefined) {
      if (!this.knowsDiallers) throw new Error('a tap needs Linux, which tells who opens a connection');
      const { Tap } = await import('../tap/tap.ts');
      this.#tap = new Tap();
    }
    const opened = await this.#open(routes);
    for (const [node, door] of opened) {
      this.#doors.get(node)?.server.close();
      this.#doors.set(node, door);
    }
    for (const route of routes) {
      const { node, overlay, key } = route;
      this.#routes.set(node, route);
      if (key === undefined) this.#tap?.forget(node);
      else this.#tap?.know({ node, overlay, key });
    }
  }

  async #open(routes: readonly Route[]): Promise<ReadonlyMap<string, Door>> {
    const doors = new Map<string, Door>();
    const outcomes = await Promise.allSettled(
      routes.map(async ({ node, port }) => {
        if (this.#doors.get(node)?.port === port) return;
        const server = createServer({ ...SOCKET_OPTIONS, pauseOnConnect: true }, (socket) =>
          this.#accept(socket, node),
        );
        server.listen({ host: this.#options.listen, port });
        await once(server, 'listening');
        doors.set(node, { port, server });
      }),
    );
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failed === undefined) return doors;
    for (const { server } of doors.values()) server.close();
    throw failed.reason;
  }

  get size(): number {
    return this.#connections.size;
  }

  async begin(id: string, rule: LinkRule): Promise<void> {
    const begun = this.#rules.begin(id, rule);
    await Promise.all(Array.from(this.#connections, (connection) => this.#identify(connection)));
    this.#followAll();
    if (rule.conditions.reset !== true) return;
    for (const connection of this.#connections) connection.resetBy(begun);
  }

  effect(id: string): Promise<LinkEffect> {
    return Promise.resolve(this.#rules.effect(id));
  }

  end(id: string): Promise<void> {
    if (this.#rules.end(id) !== undefined) this.#followAll();
    return Promise.resolve();
  }

  async tapped(after: number, raw?: boolean): Promise<TapBatch> {
    return this.#expectTap().tapped(after, raw);
  }

  async beginMessages(id: string, rule: MessageRule): Promise<void> {
    await this.#expectTap().beginMessages(id, rule);
  }

  async messageEffect(id: string): Promise<MessageEffect> {
    return this.#expectTap().messageEffect(id);
  }

  async endMessages(id: string): Promise<void> {
    await this.#expectTap().endMessages(id);
  }

  #expectTap(): Tap {
    if (this.#tap === undefined) throw new Error('it has no tap');
    return this.#tap;
  }

  close(): void {
    for (const { server } of this.#doors.values()) server.close();
    for (const connection of this.#connections) connection.reset();
  }

  #accept(socket: Socket, node: string): void {
    const route = this.#routes.get(node);
    if (route === undefined) {
      socket.destroy();
      return;
    }
    const connection: Connection = new Connection(socket, {
      rules: this.#rules,
      budget: this.#budget,
      seed: `${this.#options.seed} ${node} ${this.#accepted++}`,
      target: node,
      host: route.host,
      port: route.nodePort,
      onClosed: () => this.#connections.delete(connection),
    });
    this.#connections.add(connection);
    void this.#admit(connection);
  }

  /** While no rule is in force, only a tap has to know the dialler. */
  async #admit(connection: Connection): Promise<void> {
    if (this.#tap !== undefined || this.#rules.active.length > 0) await this.#identify(connection);
    connection.relay = this.#tap?.relay(connection.target, connection.dialler ?? [], (way, bytes) =>
      connection.inject(way, bytes),
    );
    connection.follow();
  }

  async #identify(connection: Connection): Promise<void> {
    if (!this.knowsDiallers || connection.isIdentified) return;
    connection.dialler = await this.#diallers.of(connection);
    connection.isIdentified = true;
  }

  /** Connections of unknown diallers follow later: no rule of others may affect them. */
  #followAll(): void {
    for (const connection of this.#connections) {
      if (connection.isIdentified || !this.knowsDiallers) connection.follow();
    }
    this.#bypass?.follow();
  }
}

export function refusalOf(error: unknown): Refusal {
  const { code = 'FAILED' } = error as NodeJS.ErrnoException;
  return { code, message: messageOf(error) };
}
