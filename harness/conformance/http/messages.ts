/** What goes to a node and what comes back. */

export type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';
/** The interface asked; `second` is another node. */
export type Place = 'main' | 'debug' | 'second';

export interface HttpRequest {
  readonly place?: Place;
  readonly method?: Method;
  /** With its query, percent-encoded. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
}

export interface HttpAnswer {
  readonly status: number;
  /** Lower-case names; several lines are joined by `, `. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

export interface Conversation {
  readonly place?: Place;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent once the socket is open; text as text messages. */
  readonly messages?: readonly (Uint8Array | string)[];
  /** Done once the messages are out. */
  readonly during?: () => Promise<unknown>;
  /** This many messages end the conversation; 0: the node closes it. */
  readonly expected: number;
}

export interface Transcript {
  /** The answer to an upgrade that was refused. */
  readonly refused?: HttpAnswer;
  readonly received: readonly Uint8Array[];
  /** The node's closing code; absent if the grader closed. */
  readonly closed?: number;
  readonly closedReason?: string;
}
