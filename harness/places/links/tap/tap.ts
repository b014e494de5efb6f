import { MACHINE_CLOCK } from '../../../base/machine/clock.ts';
import { ConnectionView } from './connection-view.ts';
import type { Direction } from './faults/diversion.ts';
import { Keys, type NodeKey } from './keys.ts';
import { TapRecord } from './record.ts';
import { NoiseRelay } from './relay.ts';

export type TappedNode = NodeKey & {
  /** Hex. */
  readonly overlay: string;
};

export class Tap extends TapRecord {
  readonly #keys = new Keys();
  /** Others still speak of nodes that have left. */
  readonly #names = new Map<string, string>();
  /** Nodes that are not who their key says: what is said to them passes unseen. */
  readonly #mistaken = new Set<string>();
  #connections = 0;

  know({ node, overlay, key }: TappedNode): void {
    this.#keys.add({ node, key });
    this.#names.set(overlay, node);
    this.#mistaken.delete(node);
  }

  forget(node: string): void {
    this.#keys.delete(node);
    this.#mistaken.delete(node);
  }

  /**
   * @param diallers nodes whose process dials; none for a stranger
   * @param inject sends what is due at another time than when something has come
   * @returns undefined: the connection has to pass as it is, such as that of a stranger or a node without a key
   */
  relay(
    target: string,
    diallers: readonly string[],
    inject: (direction: Direction, bytes: Buffer) => void,
  ): NoiseRelay | undefined {
    if (diallers.length === 0 || this.#mistaken.has(target)) return undefined;
    if (![target, ...diallers].every((node) => this.#keys.has(node))) return undefined;
    const view = new ConnectionView({
      id: `c${this.#connections++}`,
      target,
      names: { ofOverlay: (hex) => this.#names.get(hex) ?? hex },
      now: () => MACHINE_CLOCK.now(),
      emit: (event, raw) => this.ring.add(event, raw),
      onMistaken: () => void this.#mistaken.add(target),
      diversion: {
        rules: this.rules,
        clock: MACHINE_CLOCK,
        inject: (direction, plaintext) => inject(direction, relay.say(direction, plaintext)),
      },
    });
    const relay = new NoiseRelay({ keys: this.#keys, target, view });
    return relay;
  }
}
