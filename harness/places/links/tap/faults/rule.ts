/** Selects messages of a protocol between some nodes, and says what is done to them. */
export interface MessageRule {
  /** Names of nodes, or `ALL`: from one of the first to one of the second, and back. */
  readonly between: readonly [from: readonly string[], to: readonly string[]];
  /** Only from the first to the second. */
  readonly oneWay: boolean;
  readonly protocol: string;
  readonly message?: string | undefined;
  /** Such as `address starts 0110`. */
  readonly where?: string | undefined;
  /** Every how-many-th of these; default: each. */
  readonly every?: number | undefined;
  /** Share of these, 0 to 1; the seed determines which. */
  readonly share: number;
  readonly seed: string;
  /** How many at most. */
  readonly first?: number | undefined;
  readonly actions: MessageActions;
}

export interface MessageActions {
  /** `hang`: neither it nor what the same end says after it on the stream arrives; `reset`: its stream is reset instead. */
  readonly drop?: 'hang' | 'reset' | undefined;
  readonly delayMs?: readonly [number, number] | undefined;
  /** It arrives twice. */
  readonly duplicate?: true | undefined;
  /** It arrives after the next one of its end of the stream. */
  readonly reorder?: true | undefined;
  /** How much later what its end has said up to it is said again in a new stream. */
  readonly replayMs?: number | undefined;
  /** How much later its stream is reset. */
  readonly cutMs?: number | undefined;
  /** Field in which a bit is flipped. */
  readonly corrupt?: string | undefined;
  /** Its sender gets this in its receiver's name instead, and the end of the stream. */
  readonly answer?: MessageAnswer | undefined;
}

/** `error`: in the protocol's words; `empty`: without fields; or fields as in JSON, bytes in hex. */
export type MessageAnswer = 'error' | 'empty' | { readonly [field: string]: unknown };

/** Messages that a rule means, before `every`, `first` and `share` choose among them. */
export const MESSAGES_MET = 'messages met';
export const MESSAGE_COUNTERS = [
  'messages dropped',
  'messages delayed',
  'messages duplicated',
  'messages reordered',
  'messages corrupted',
  'messages replayed',
  'messages answered',
  'streams cut',
  MESSAGES_MET,
] as const;
export type MessageCounter = (typeof MESSAGE_COUNTERS)[number];
export type MessageEffect = Readonly<Record<MessageCounter, number>>;

export interface MessageControl {
  /** @param id anything unique @throws RangeError for a rule that no message can ever match */
  beginMessages(id: string, rule: MessageRule): Promise<void>;
  /** So far; known after its end, too. @throws when the id is unknown */
  messageEffect(id: string): Promise<MessageEffect>;
  /** Nothing happens when it has ended already. */
  endMessages(id: string): Promise<void>;
}
