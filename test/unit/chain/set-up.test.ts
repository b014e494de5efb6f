import { afterEach, expect, test } from 'vitest';
import { createAccount } from '../../../chain/account.ts';
import { DEPLOYER_KEY } from '../../../chain/deployer-key.ts';
import { chequebookAddress, chequebookSalt } from '../../../chain/deployment/chequebooks.ts';
import { batchId } from '../../../chain/deployment/deploy.ts';
import { type LocalChain, startLocalChain } from '../../../chain/local-chain.ts';
import { parseSetup } from '../../../chain/options.ts';
import { createRpcClient } from '../../../chain/rpc.ts';
import { encodeCall, selectorOf } from '../../../formats/ethereum/abi.ts';

const accountsOf = (count: number) =>
  Array.from(
    { length: count },
    (_, index) => createAccount(`0x${(11 + index).toString().repeat(32)}`).address,
  );
const [first = '', ...later] = accountsOf(41);

const setupOf = (addresses: readonly string[], from: number) => ({
  accounts: addresses.map((address) => ({ address, native: 10n ** 18n, tokens: 7n })),
  batches: addresses.map((owner, index) => ({
    owner,
    amount: 10n ** 9n,
    depth: 17,
    immutable: true,
    nonce: nonceOf(from + index),
  })),
  chequebooks: addresses.map((issuer, index) => ({ issuer, deposit: 5n, place: from + index })),
});

function nonceOf(place: number): string {
  return `0x${(place + 1).toString(16).padStart(64, '0')}`;
}

const chains: LocalChain[] = [];
afterEach(async () => {
  for (const chain of chains.splice(0)) await chain.stop();
});

async function start(addresses: readonly string[], blockTimeMs = 0) {
  const chain = await startLocalChain({
    engine: 'in-process',
    networkId: 4020n,
    blockTimeMs,
    ...setupOf(addresses, 0),
  });
  chains.push(chain);
  return chain;
}

async function foundOf(chain: LocalChain, owner: string, place: number) {
  const rpc = createRpcClient(chain.rpc);
  const call = async (to: string, signature: string, ...values: string[]) =>
    BigInt(
      String(
        await rpc.call('eth_call', { to, data: encodeCall(selectorOf(signature), ...values) }, 'latest'),
      ),
    );
  const { token, postageStamp, chequebookFactory: factory } = chain.contracts;
  const sender = createAccount(DEPLOYER_KEY).address;
  const chequebook = chequebookAddress({ factory, sender, salt: chequebookSalt(place) });
  try {
    return {
      native: BigInt(String(await rpc.call('eth_getBalance', owner, 'latest'))),
      tokens: await call(token, 'balanceOf(address)', owner),
      isOwner:
        (await call(postageStamp, 'batchOwner(bytes32)', batchId(sender, nonceOf(place)))) === BigInt(owner),
      isIssuer: (await call(chequebook, 'issuer()')) === BigInt(owner),
      deposit: await call(chequebook, 'balance()'),
    };
  } finally {
    rpc.close();
  }
}

test('accounts that join have the batches and chequebooks that a larger start would have given them', async () => {
  const grown = await start([first]);
  const before = await grown.head();
  await grown.setUp(setupOf(later, 1));
  const large = await start([first, ...later]);
  for (const place of [1, later.length]) {
    const owner = later[place - 1] ?? '';
    const found = await foundOf(grown, owner, place);
    expect(found).toEqual({ native: 10n ** 18n, tokens: 7n, isOwner: true, isIssuer: true, deposit: 5n });
    expect(found).toEqual(await foundOf(large, owner, place));
  }
  expect((await grown.head()) - before).toBeLessThan(5);
});

test('accounts that join at once do not wait for the next block', async () => {
  const chain = await start([first], 3_600_000);
  await chain.setUp(setupOf(later, 1), { atOnce: true });
  expect(await foundOf(chain, later[0] ?? '', 1)).toMatchObject({ isOwner: true, isIssuer: true });
});

test('who has joined cannot join again', async () => {
  const chain = await start([first]);
  await chain.setUp(setupOf(later.slice(0, 1), 1));
  await expect(chain.setUp(setupOf(later.slice(0, 1), 1))).rejects.toMatchObject({ code: 'REFUSED' });
});

test('a mistake in what accounts have is named', () => {
  const [account] = accountsOf(1);
  expect(() => parseSetup(JSON.stringify({ accounts: [{ address: account, native: 1 }] }))).toThrow(
    'accounts.0.tokens is missing, expected a whole number',
  );
});
