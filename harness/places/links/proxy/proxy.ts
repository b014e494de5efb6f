/**
 * Stands before every node's p2p port: nodes advertise its addresses, so it can delay, hold or break their traffic.
 */

import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import type { CallAddress } from '../../../base/calls.ts';
import { type LinkControl, type LinkEffect, type LinkRule, Rules } from '../rules.ts';
import type { TapBatch, TapControl } from '../tap/events.ts';
import type { MessageEffect, MessageRule } from '../tap/faults/rule.ts';
import type { Tap } from '../tap/tap.ts';
import { AddressDiallers } from './addresses.ts';
import { BypassConnections } from './bypass.ts';
import { Connection, SOCKET_OPTIONS } from './connection.ts';
import { type DiallerLookup, SocketDiallers } from './diallers.ts';
import type { Budget } from './flow.ts';

export interface Route {
  readonly node: string;
  /** Hex. */
  readonly overlay: string;
  /** API of a node that may bypass the proxy. */
  readonly passerApi?: string;
  /** Port that others dial. */
  readonly port: number;
  /** Where the proxy reaches the node: IPv4 address or name, and port. */
  readonly host: string;
  readonly nodePort: number;
  /** The node's private libp2p key, PKCS #8 in PEM; absent: its traffic is not read. */
  readonly key?: string;
}

export interface ProxyOptions {
  /** Address that it listens on. */
  readonly listen: string;
  readonly routes: readonly Route[];
  readonly seed: string;
  /**
   * How to find the dialler: by this machine's sockets (default), or by its address, where every node's host
   * name resolves to an address of its own.
   */
  readonly diallers?: 'sockets' | 'addresses';
  /** Where it takes commands; default: a free loopback port. */
  readonly control?: CallAddress;
}

export type ProxyLine =
  | { readonly ready: true; readonly control: number }
  | { readonly ready: false; readonly code: string; readonly message: string };

export class LinkProxy implements LinkControl, TapControl {
  readonly knowsDiallers: boolean;
  readonly #options: ProxyOptions;
  readonly #rules = new Rules();
  readonly #budget: Budget = { queued: 0 };
  readonly #connections = new Set<Connection>();
  readonly #diallers: DiallerLookup;
  /** Only sockets show connections that bypass the proxy. */
  readonly #bypass: BypassConnections | undefined;
  readonly #servers: Server[] = [];
  #tap: Tap | undefined;
  #accepted = 0;

  constructor(options: ProxyOptions) {
    this.#options = options;
    const { routes } = options;
    if (options.diallers === 'addresses') {
      this.knowsDiallers = true;
      this.#diallers = new AddressDiallers(routes);
      return;
    }
    // Only Linux has the tables of sockets.
    this.knowsDiallers = process.platform === 'linux';
    const sockets = new SocketDiallers(routes.map(({ node, nodePort }) => ({ node, port: nodePort })));
    this.#diallers = sockets;
    this.#bypass = new BypassConnections({
      rules: this.#rules,
      diallers: sockets,
      bypassing: routes.flatMap(({ node, passerApi: api }) => (api === undefined ? [] : { node, api })),
      overlayOf: (name) => routes.find(({ node }) => node === name)?.overlay,
    });
  }

  /** @throws Error of the system, such as `EADDRINUSE` with its port */
  async start(): Promise<void> {
    const { listen, routes } = this.#options;
    const tapped = routes.flatMap(({ node, overlay, key }) =>
      key === undefined ? [] : [{ node, overlay, key }],
    );
    if (tapped.length > 0) {
      if (!this.knowsDiallers) throw new Error('a tap needs Linux, which tells who opens a connection');
      // Only here: it loads much of a node.
      const { Tap } = await import('../tap/tap.ts');
      this.#tap = new Tap(tapped);
    }
    await Promise.all(
      routes.map(async (route) => {
        const server = createServer({ ...SOCKET_OPTIONS, pauseOnConnect: true }, (socket) =>
          this.#accept(socket, route),
        );
        this.#servers.push(server);
        server.listen({ host: listen, port: route.port });
        await once(server, 'listening');
      }),
    );
  }

  /** Connections that pass through it now. */
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
    for (const server of this.#servers) server.close();
    for (const connection of this.#connections) connection.reset();
  }

  #accept(socket: Socket, { node, host, nodePort }: Route): void {
    const connection: Connection = new Connection(socket, {
      rules: this.#rules,
      budget: this.#budget,
      seed: `${this.#options.seed} ${node} ${this.#accepted++}`,
      target: node,
      host,
      port: nodePort,
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
