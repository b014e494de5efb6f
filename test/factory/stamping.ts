import { MerkleTree, PrivateKey, Stamper } from '@ethersphere/bee-js';
import { Contract, hexlify, JsonRpcProvider, randomBytes, Wallet } from 'ethers';
import { describe, expect, test } from 'vitest';
import { PRESET_ACCOUNT_KEYS } from '../../harness/cluster/plan/presets/presets.ts';
import { eventually } from '../cluster/node/kit.ts';
import { batchOf, payee, queen, reader, started, svcnet } from './kit.ts';

const DEPTH = 17;
const AMOUNT = 1_000_000_000n;
const BUCKET_DEPTH = 16;
/** The provider's own interval is four blocks. */
const POLL_MS = 200;

export function stampingTests(): void {
  describe('stamps of the client', () => {
    test('can be envelopes made by a node', async () => {
      const chunk = queen.makeContentAddressedChunk('in an envelope');
      const envelope = await queen.createEnvelope(batchOf(0), chunk.address);
      expect([envelope.issuer, envelope.index, envelope.signature].map(({ length }) => length)).toEqual([
        20, 8, 65,
      ]);
      const { reference } = await payee.uploadChunk(envelope, chunk);
      expect(Buffer.from(await reader.downloadChunk(reference)).equals(chunk.data)).toBe(true);
    });

    test('can be made with the key of a node, for a batch that it has bought', async () => {
      const batch = await queen.createPostageBatch(AMOUNT, DEPTH, { waitForUsable: true });
      await uploadStamped(
        Stamper.fromBlank(PRESET_ACCOUNT_KEYS[0], batch, DEPTH),
        'stamped with the key of a node',
      );
    });

    test('can be made with a key that no node has, for a batch bought on the chain', async () => {
      const key = hexlify(randomBytes(32));
      const batch = await buyFor(new PrivateKey(key).publicKey().address().toChecksum());
      await eventually('no node knows the batch', async () => {
        const known = await payee.getGlobalPostageBatches();
        return known.some(({ batchID }) => batchID.toHex() === batch) ? undefined : `${known.length} others`;
      });
      await uploadStamped(Stamper.fromBlank(key, batch, DEPTH), 'stamped with a key of the client');
    });
  });
}

/** Through the node without batches; read from another one. */
async function uploadStamped(stamper: Stamper, text: string): Promise<void> {
  const tree = new MerkleTree(async (chunk) => {
    await payee.uploadChunk(stamper.stamp(chunk), chunk.build());
  });
  await tree.append(Buffer.from(text));
  const root = await tree.finalize();
  expect(stamper.getState().reduce((sum, used) => sum + used)).toBe(1);
  expect((await reader.downloadData(root.hash())).toUtf8()).toBe(text);
}

/** From a spare account. @returns id of the batch */
async function buyFor(owner: string): Promise<string> {
  const { contracts, rpc } = started().chain;
  const { token: tokenAt = '', postageStamp = '' } = contracts;
  const { stdout } = await svcnet('keys', '--json');
  const { accounts } = JSON.parse(stdout) as { accounts: { of: string; privateKey: string }[] };
  const spare = accounts.find(({ of }) => of === 'user');
  if (spare === undefined) throw new Error('there is no spare account');
  const provider = new JsonRpcProvider(rpc, undefined, { cacheTimeout: -1, pollingInterval: POLL_MS });
  try {
    const wallet = new Wallet(spare.privateKey, provider);
    const token = new Contract(tokenAt, ['function approve(address spender, uint256 amount)'], wallet);
    const postage = new Contract(postageStamp, POSTAGE, wallet);
    await send(token, 'approve', postageStamp, AMOUNT * 2n ** BigInt(DEPTH));
    const nonce = hexlify(randomBytes(32));
    const logs = await send(postage, 'createBatch', owner, AMOUNT, DEPTH, BUCKET_DEPTH, nonce, false);
    const created = logs
      .map((log) => postage.interface.parseLog(log))
      .find((event) => event?.name === 'BatchCreated');
    return String(created?.args[0]).slice(2);
  } finally {
    provider.destroy();
  }
}

const POSTAGE = [
  'function createBatch(address owner, uint256 amount, uint8 depth, uint8 bucketDepth, bytes32 nonce, bool immutable)',
  'event BatchCreated(bytes32 indexed batchId, uint256 totalAmount, uint256 normalisedBalance, address owner, uint8 depth, uint8 bucketDepth, bool immutableFlag)',
];

interface Receipt {
  readonly logs: readonly { readonly topics: readonly string[]; readonly data: string }[];
}

async function send(contract: Contract, method: string, ...values: unknown[]): Promise<Receipt['logs']> {
  const sent = (await contract.getFunction(method)(...values)) as { wait(): Promise<Receipt> };
  return (await sent.wait()).logs;
}
