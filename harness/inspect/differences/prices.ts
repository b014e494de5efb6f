/** What nodes charge and pay for a chunk, by its proximity, and what time forgives. */
import { ClientError } from '../../client/errors.ts';
import type { Cluster } from '../../cluster/cluster.ts';
import { Mismatch } from '../../conformance/row.ts';
import { termsOf } from '../../conformance/wire/prices.ts';
import { DRIVER_FACTS } from '../../places/facts.ts';
import type { Fact } from './canonical.ts';

const DIGITS_SHOWN = 8;

/**
 * Uses the network: chunks are stored, and stamps of the nodes' batches.
 * @returns none if the driver's nodes may share a process, where no outside peer reaches them: all networks of a comparison
 * have them or none
 */
export async function priceFacts(
  { nodes, chain, clock, driver }: Pick<Cluster, 'nodes' | 'chain' | 'clock' | 'driver'>,
  signal: AbortSignal,
): Promise<Fact[]> {
  const networkId = BigInt(chain.networkId);
  if (DRIVER_FACTS[driver].shared) return [];
  const priced = nodes.filter(({ running, mode }) => running && mode === 'full');
  const facts = priced.map(async ({ name, overlay, p2p, client }): Promise<Fact[]> => {
    const stamp = (address: string) => client.chunks.stamp(address, { signal });
    const read = (address: string) => client.chunks.download(address, { signal });
    const balance = async (peer: string) =>
      (await client.balances(signal)).find((row) => row.peer === peer)?.balance ?? 0n;
    try {
      const terms = await termsOf({ overlay, p2p, networkId, stamp, read, balance }, { clock, signal });
      return [
        fact(`${name} lends a light peer`, units(terms.threshold)),
        ...terms.prices.map(({ service, chunk, proximity, booked }) =>
          fact(
            service === 'payment'
              ? `${name} pays a peer for a chunk at proximity ${proximity}`
              : `${service} from a light peer to ${name}, chunk ${chunk.slice(0, DIGITS_SHOWN)} at proximity ${proximity}`,
            units(booked),
          ),
        ),
        ...(['light', 'full'] as const).map((mode) => {
          const { rate, more } = terms.forgiven[mode];
          return fact(
            `${name} forgives a ${mode} peer per second`,
            `${more ? 'at least ' : ''}${units(rate)}`,
          );
        }),
      ];
    } catch (error) {
      if (!(error instanceof Mismatch || error instanceof ClientError)) throw error;
      return [fact(`${name} serves peers that it has not met`, `no: ${error.message}`)];
    }
  });
  return (await Promise.all(facts)).flat();
}

function fact(what: string, seen: string): Fact {
  return { kind: 'money', what, seen };
}

function units(amount: bigint | undefined): string {
  return amount === undefined ? 'nothing' : `${amount} accounting units`;
}
