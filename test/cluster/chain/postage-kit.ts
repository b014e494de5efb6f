import { MaxUint256, zeroPadValue } from 'ethers';
import { batchId } from '../../../chain/deployment/deploy.ts';
import vectors from '../../vectors/contracts.json' with { type: 'json' };
import { deployer, type Network, player, second, useNetwork } from './network.ts';

export const PRICE = 24_000n;

export const AMOUNT = 10_000_000n;

export const { roles, postageScenario: scenario } = vectors;

let net: { readonly current: Network };

export function usePostage(): { readonly current: Network } {
  net = useNetwork(async (network) => {
    for (const owner of [deployer, player, second]) {
      await network.send(network.token, 'approve', [network.postageStamp.address, MaxUint256], {
        from: owner,
      });
    }
  });
  return net;
}

export const nonceOf = (n: number) => zeroPadValue(`0x${n.toString(16).padStart(2, '0')}`, 32);

export const stamp = () => net.current.postageStamp;

export const creation = (
  overrides: {
    owner?: string;
    amount?: bigint;
    depth?: number;
    bucketDepth?: number;
    nonce?: number;
    immutable?: boolean;
  } = {},
) => {
  const {
    owner = player.address,
    amount = AMOUNT,
    depth = 17,
    bucketDepth = 16,
    nonce = 1,
    immutable = false,
  } = overrides;
  return [owner, amount, depth, bucketDepth, nonceOf(nonce), immutable];
};

export async function create(overrides: Parameters<typeof creation>[0] = {}) {
  const receipt = await net.current.send(stamp(), 'createBatch', creation(overrides), { from: player });
  return { id: batchId(player.address, nonceOf(overrides.nonce ?? 1)), receipt };
}

export const view = (method: string, ...args: unknown[]) => net.current.view(stamp(), method, args);

export const refusal = (method: string, args: unknown[], from = player) =>
  net.current.refusal(stamp(), method, args, { from });

export const counts = async () => ({
  validChunkCount: String(await view('validChunkCount')),
  pot: String(await view('pot')),
  lastExpiryBalance: String(await view('lastExpiryBalance')),
});

export const paidNext = () => net.current.view(stamp(), 'currentTotalOutPayment', [], { at: 'pending' });
