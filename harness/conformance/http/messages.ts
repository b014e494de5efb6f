export type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';
/** `second`: another node. */
export type Place = 'main' | 'debug' | 'second';

export interface HttpRequest {
  readonly place?: Place;
  readonly method?: Method;
  /** Percent-encoded, with its query. */
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
  /** After the messages are sent. */
  readonly during?: () => Promise<unknown>;
  /** This many messages end the conversation; 0: the node closes it. */
  readonly expected: number;
}

export interface Transcript {
  readonly refused?: HttpAnswer;
  readonly received: readonly Uint8Array[];
  /** The node's code; absent: the grader closed. */
  readonly closed?: number;
  readonly closedReason?: string;
}
