export interface Route {
  readonly node: string;
  /** Hex. */
  readonly overlay: string;
  readonly passerApi?: string;
  readonly port: number;
  /** Where the proxy reaches the node: IPv4 address or name. */
  readonly host: string;
  readonly nodePort: number;
  /** The node's private libp2p key, PKCS #8 in PEM; absent: its traffic is not read. */
  readonly key?: string;
}

export interface Refusal {
  readonly code: string;
  readonly message: string;
}

export interface RouteControl {
  /** The proxy stands before these nodes, too. Those that it knows have changed. @returns undefined unless refused */
  route(routes: readonly Route[]): Promise<Refusal | undefined>;
  /** Ends these nodes' connections; ignores unknown nodes. */
  unroute(nodes: readonly string[]): Promise<void>;
}
