import { seededRandom } from '../../../../formats/random.ts';
import type { Surroundings } from '../../embedded/host.ts';
import { OddFrames, type Relay } from './frames.ts';
import type { KnobName } from './knobs.ts';
import { type NodeSurroundings, type OddValues, oddOptions, oddSurroundings, oddValues } from './node.ts';

interface OdditiesDeps {
  readonly defer: (work: () => void) => void;
  readonly nameOf: (peerId: string) => string | undefined;
}

export class Oddities implements Pick<Surroundings, 'relay'> {
  readonly #names: readonly KnobName[];
  readonly #seed: string;
  readonly #deps: OdditiesDeps;
  readonly #values = new Map<string, OddValues>();

  constructor(names: readonly KnobName[] | undefined, seed: string, deps: OdditiesDeps) {
    this.#names = names ?? [];
    this.#seed = seed;
    this.#deps = deps;
  }

  /** @param given options of the node @returns more of them, in the form of option files */
  options(node: string, given: Readonly<Record<string, unknown>>): Record<string, unknown> {
    return oddOptions(this.#of(node), given);
  }

  surroundings(node: string, start: string, given: NodeSurroundings): NodeSurroundings {
    return oddSurroundings(given, this.#of(node), seededRandom(this.#seed, 'odd', node, start));
  }

  readonly windowOf = (peerId: string): number | undefined => this.#at(peerId).window;

  readonly relay = (before: Relay | undefined): Relay | undefined => {
    if (!this.#names.includes('frame-pieces')) return before;
    const piecesOf = (peerId: string) => this.#at(peerId)['frame-pieces'];
    return new OddFrames({ seed: this.#seed, before, defer: this.#deps.defer, piecesOf });
  };

  #at(peerId: string): OddValues {
    return this.#of(this.#deps.nameOf(peerId) ?? '');
  }

  #of(node: string): OddValues {
    let values = this.#values.get(node);
    if (values === undefined) {
      values = oddValues(this.#names, this.#seed, node);
      this.#values.set(node, values);
    }
    return values;
  }
}
