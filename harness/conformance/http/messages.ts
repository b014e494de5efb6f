/** What goes to a node and what comes back. */

export type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';
/** Which interface is asked; `second` is another node of the network. */
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
  /** Names in lower case; several lines of one name are joined by `, `. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

export interface Conversation {
  readonly place?: Place;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as soon as the socket is open; a text goes out as a text message. */
  readonly messages?: readonly (Uint8Array | string)[];
  /** Done when the socket is open and the messages are out. */
  readonly during?: () => Promise<unknown>;
  /** This many messages end the conversation; 0: what the node does next, which is to close. */
  readonly expected: number;
}

export interface Transcript {
  /** The answer to an upgrade that was refused. */
  readonly refused?: HttpAnswer;
  readonly received: readonly Uint8Array[];
  /** Code with which the node ended the conversation; absent when the grader did. */
  readonly closed?: number;
  readonly closedReason?: string;
}
