/**
 * A cluster's networks: one for all containers and, with a link proxy, one for each node that would dial past
 * it. Such a node reaches only the proxy and the chain there: engines pass nothing from one network to
 * another.
 */

import { LINK_PROXY } from '../driver.ts';
import { type Engine, unless } from './engine/engine.ts';
import { succeedOnce } from './engine/succeed-once.ts';
import { labelsOf, networkName, type Owner, ownedBy, partName } from './names.ts';

export class Networks {
  readonly #engine: Engine;
  readonly #owner: Owner;
  /** Makes the network of all. @returns its name */
  readonly shared = succeedOnce(() => this.#create(networkName(this.#owner)));

  constructor(engine: Engine, owner: Owner) {
    this.#engine = engine;
    this.#owner = owner;
  }

  /** Creates a node's network with the chain on it. @returns its name */
  async ownOf(part: string): Promise<string> {
    const name = await this.#create(partName(this.#owner, part));
    await this.#connect('chain', [name]);
    return name;
  }

  /** Before the proxy starts, after all nodes were created. */
  async connectProxy(): Promise<void> {
    const filters = ownedBy(this.#owner.token);
    const all = await this.#engine.ask((docker) => docker.networks(filters));
    const shared = networkName(this.#owner);
    await this.#connect(
      LINK_PROXY,
      all.map(({ Name }) => Name).filter((name) => name !== shared),
    );
  }

  /** A part that is already connected is no failure: a repeated start connects again. */
  async #connect(part: string, networks: readonly string[]): Promise<void> {
    const container = partName(this.#owner, part);
    await this.#engine.ask((docker) =>
      Promise.all(networks.map((name) => unless([403], docker.connectNetwork(name, container, [part])))),
    );
  }

  async #create(name: string): Promise<string> {
    await this.#engine.ask((docker) => unless([409], docker.createNetwork(name, labelsOf(this.#owner))));
    return name;
  }
}
