/** What a link proxy stands before, as plain data: nodes come and go while it runs. */

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

/** Why a proxy could not listen. */
export interface Refusal {
  /** Of the system, such as `EADDRINUSE`. */
  readonly code: string;
  readonly message: string;
}

/** Tells a link proxy about nodes, here or elsewhere. */
export interface RouteControl {
  /**
   * It stands before these nodes, too. Those that it knows have changed.
   * @returns undefined: it does; otherwise nothing has changed
   */
  route(routes: readonly Route[]): Promise<Refusal | undefined>;
  /** It stands before these no longer, and their connections end. Nothing happens to those that it does not know. */
  unroute(nodes: readonly string[]): Promise<void>;
}
