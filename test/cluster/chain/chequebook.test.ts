import {
  getAddress,
  getCreate2Address,
  id,
  keccak256,
  TypedDataEncoder,
  type Wallet,
  ZeroAddress,
} from 'ethers';
import { describe, expect, test } from 'vitest';
import vectors from '../../vectors/contracts.json' with { type: 'json' };
import { type Contract, deployer, player, second, stranger, TOKENS, third, useNetwork } from './network.ts';

const { chequebookDeployment: deployment, cheques, cashoutAuthorisation: authorisation, eip712 } = vectors;
const FIXED_GAS = { deploy: 175_000, transfer: 90_000, withdraw: 95_000, cash: 300_000 };
const DEPOSIT = 1_000_000n;
const TIMEOUT_S = 60n;

/** Its address is that of the vectors. */
const net = useNetwork(async (network) => {
  const args = [player.address, 0, deployment.salt];
  await network.send(network.factory, 'deploySimpleSwap', args, { from: player, gas: FIXED_GAS.deploy });
  const funding = [deployment.address, DEPOSIT];
  await network.send(network.token, 'transfer', funding, { from: player, gas: FIXED_GAS.transfer });
});

const book = () => net.current.chequebook(deployment.address);
const view = (method: string, ...args: unknown[]) => net.current.view(book(), method, args);
const refusal = (method: string, args: unknown[], from = player) =>
  net.current.refusal(book(), method, args, { from });
const balanceOf = (address: string) => net.current.view(net.current.token, 'balanceOf', [address]);

const domain = (chainId = 31_337) => ({ name: 'Chequebook', version: '1.0', chainId });
const uint = 'uint256';
const TYPES = {
  cheque: {
    Cheque: [
      { name: 'chequebook', type: 'address' },
      { name: 'beneficiary', type: 'address' },
      { name: 'cumulativePayout', type: uint },
    ],
  },
  cashout: {
    Cashout: [
      { name: 'chequebook', type: 'address' },
      { name: 'sender', type: 'address' },
      { name: 'requestPayout', type: uint },
      { name: 'recipient', type: 'address' },
      { name: 'callerPayout', type: uint },
    ],
  },
  timeout: {
    CustomDecreaseTimeout: [
      { name: 'chequebook', type: 'address' },
      { name: 'beneficiary', type: 'address' },
      { name: 'decreaseTimeout', type: uint },
    ],
  },
};

const cheque = (
  payout: bigint,
  { signer = player, beneficiary = second.address, chequebook = deployment.address } = {},
) => signer.signTypedData(domain(), TYPES.cheque, { chequebook, beneficiary, cumulativePayout: payout });

async function cash(payout: bigint, { recipient = third.address } = {}) {
  const args = [recipient, payout, await cheque(payout)];
  return net.current.send(book(), 'cashChequeBeneficiary', args, { from: second, gas: FIXED_GAS.cash });
}

const cashed = (
  total: bigint,
  cumulative: bigint,
  { recipient = third.address, caller = second.address, callerPayout = 0n } = {},
) => `ChequeCashed(${second.address},${recipient},${caller},${total},${cumulative},${callerPayout})`;
const paid = (to: string, amount: bigint) => `Transfer(${deployment.address},${to},${amount})`;

describe('SimpleSwapFactory', () => {
  const factory = () => net.current.factory;
  const salt = id('another salt');

  test('deploys a minimal proxy of its master at the expected address', async () => {
    expect(factory().address.toLowerCase()).toBe(deployment.factory);
    expect(await net.current.view(factory(), 'master')).toBe(getAddress(deployment.master));
    expect(await net.current.view(factory(), 'ERC20Address')).toBe(net.current.token.address);
    const code = String(await net.current.rpc.call('eth_getCode', deployment.address, 'latest'));
    expect(code).toBe(deployment.code);
    expect(keccak256(code)).toBe(deployment.codeHash);
    const expected = getCreate2Address(
      deployment.factory,
      deployment.create2Salt,
      keccak256(deployment.initCode),
    );
    expect(expected).toBe(deployment.address);
    expect(await net.current.view(factory(), 'deployedContracts', [deployment.address])).toBe(true);
    expect(await net.current.view(factory(), 'deployedContracts', [player.address])).toBe(false);
  });

  test('announces the chequebook and initialises it', async () => {
    const args = [second.address, TIMEOUT_S, salt];
    const address = await net.current.view(factory(), 'deploySimpleSwap', args, { from: third });
    const { events } = await net.current.send(factory(), 'deploySimpleSwap', args, { from: third });
    expect(events).toEqual([`SimpleSwapDeployed(${String(address)})`]);
    const other = net.current.chequebook(String(address));
    expect(await net.current.view(other, 'issuer')).toBe(second.address);
    expect(await net.current.view(other, 'token')).toBe(net.current.token.address);
    expect(await net.current.view(other, 'defaultHardDepositTimeout')).toBe(TIMEOUT_S);
  });

  test('deploys only once per sender and salt', async () => {
    const args = [second.address, 0, deployment.salt];
    const refused = await net.current.refusal(factory(), 'deploySimpleSwap', args, { from: player });
    expect(refused).toBe('ERC1167: create2 failed');
    await net.current.send(factory(), 'deploySimpleSwap', args, { from: second });
  });

  test('refuses the zero address as issuer', async () => {
    expect(await net.current.refusal(factory(), 'deploySimpleSwap', [ZeroAddress, 0, salt])).toBe(
      'invalid issuer',
    );
  });

  test('leaves no uninitialised contract to take over', async () => {
    const init = [stranger.address, net.current.token.address, 0];
    expect(await refusal('init', init)).toBe('already initialized');
    const master = net.current.chequebook(deployment.master);
    expect(await net.current.refusal(master, 'init', init)).toBe('already initialized');
    expect(await net.current.refusal(master, 'init', [ZeroAddress, ZeroAddress, 0])).toBe('invalid issuer');
  });
});

describe('the signed data', () => {
  test('has the specified types', async () => {
    for (const name of [
      'EIP712DOMAIN_TYPEHASH',
      'CHEQUE_TYPEHASH',
      'CASHOUT_TYPEHASH',
      'CUSTOMDECREASETIMEOUT_TYPEHASH',
    ] as const) {
      expect(id(eip712.typeStrings[name])).toBe(eip712.typeHashes[name]);
      expect(await view(name)).toBe(eip712.typeHashes[name]);
    }
  });

  async function chequebookAt(address: string, issuer: string): Promise<Contract> {
    await net.current.rpc.call('anvil_setCode', address, deployment.code);
    const contract = net.current.chequebook(address);
    await net.current.send(contract, 'init', [issuer, net.current.token.address, 0]);
    await net.current.chain.fund(address, { tokens: 10n ** 30n });
    return contract;
  }

  test.each(cheques)('of a cheque on chain $chainId is valid there and on no other chain', async (row) => {
    const chequebook =
      row.chequebook === deployment.address ? book() : await chequebookAt(row.chequebook, row.issuer);
    await net.current.chain.fund(chequebook.address, { tokens: 10n ** 30n });
    const message = {
      chequebook: row.chequebook,
      beneficiary: row.beneficiary,
      cumulativePayout: row.cumulativePayout,
    };
    expect(TypedDataEncoder.hash(domain(row.chainId), TYPES.cheque, message)).toBe(row.digest);
    const args = [row.beneficiary, row.cumulativePayout, row.signature];
    const from = row.beneficiary;
    await net.current.rpc.call('anvil_setChainId', row.chainId);
    await net.current.view(chequebook, 'cashChequeBeneficiary', args, { from });
    await net.current.rpc.call('anvil_setChainId', 4_711);
    const refused = await net.current.refusal(chequebook, 'cashChequeBeneficiary', args, { from });
    await net.current.rpc.call('anvil_setChainId', 31_337);
    expect(refused).toBe('invalid issuer signature');
  });

  test('of an authorisation lets a third party cash for its share', async () => {
    const chequebook = await chequebookAt(authorisation.chequebook, third.address);
    const beneficiary = authorisation.recipient;
    const issuerSig = await cheque(500n, {
      signer: third,
      beneficiary,
      chequebook: authorisation.chequebook,
    });
    const args = [
      beneficiary,
      authorisation.recipient,
      authorisation.requestPayout,
      authorisation.beneficiarySignature,
      authorisation.callerPayout,
      issuerSig,
    ];
    const { events } = await net.current.send(chequebook, 'cashCheque', args, { from: player });
    expect(events).toEqual([
      `Transfer(${authorisation.chequebook},${player.address},10)`,
      `Transfer(${authorisation.chequebook},${authorisation.recipient},490)`,
      `ChequeCashed(${beneficiary},${authorisation.recipient},${player.address},500,500,10)`,
    ]);
  });
});

describe('cashing', () => {
  test('pays the increase of the cumulative payout to the recipient', async () => {
    expect((await cash(400_000n)).events).toEqual([
      paid(third.address, 400_000n),
      cashed(400_000n, 400_000n),
    ]);
    expect((await cash(500_000n)).events).toEqual([
      paid(third.address, 100_000n),
      cashed(100_000n, 500_000n),
    ]);
    expect(await view('paidOut', second.address)).toBe(500_000n);
    expect(await view('totalPaidOut')).toBe(500_000n);
    expect(await view('balance')).toBe(DEPOSIT - 500_000n);
    expect(await view('bounced')).toBe(false);
  });

  test('to an account without tokens stays within the gas limit of nodes', async () => {
    const { gasUsed } = await cash(400_000n, { recipient: stranger.address });
    expect(gasUsed).toBeLessThan(FIXED_GAS.cash);
    expect(await balanceOf(stranger.address)).toBe(400_000n);
  });

  test('the same cheque again pays nothing and still succeeds', async () => {
    await cash(400_000n);
    expect((await cash(400_000n)).events).toEqual([paid(third.address, 0n), cashed(0n, 400_000n)]);
  });

  test('an older cheque is refused', async () => {
    await cash(400_000n);
    const older = [third.address, 399_999n, await cheque(399_999n)];
    expect(await refusal('cashChequeBeneficiary', older, second)).toBe('SafeMath: subtraction overflow');
  });

  test('beyond the balance bounces, is marked for ever, and can be completed later', async () => {
    const { events } = await cash(DEPOSIT + 300n);
    expect(events).toEqual([
      'ChequeBounced()',
      paid(third.address, DEPOSIT),
      cashed(DEPOSIT, DEPOSIT + 300n),
    ]);
    expect(await view('bounced')).toBe(true);
    await net.current.send(net.current.token, 'transfer', [deployment.address, 1_000n], { from: player });
    expect((await cash(DEPOSIT + 300n)).events).toEqual([
      paid(third.address, 300n),
      cashed(300n, DEPOSIT + 300n),
    ]);
    expect(await view('bounced')).toBe(true);
  });

  test('needs the signature of the issuer on exactly this cheque', async () => {
    const invalid = 'invalid issuer signature';
    const attempt = async (payout: bigint, signature: string, from: Wallet = second) =>
      refusal('cashChequeBeneficiary', [third.address, payout, signature], from);
    expect(await attempt(5n, await cheque(4n))).toBe(invalid);
    expect(await attempt(5n, await cheque(5n), third)).toBe(invalid);
    expect(await attempt(5n, await cheque(5n, { signer: third }))).toBe(invalid);
    expect(await attempt(5n, await cheque(5n, { chequebook: third.address }))).toBe(invalid);
  });

  test('reports malformed signatures by kind', async () => {
    const good = await cheque(5n);
    const attempt = (signature: string) =>
      refusal('cashChequeBeneficiary', [third.address, 5n, signature], second);
    expect(await attempt(good.slice(0, -2))).toBe('ECDSA: invalid signature length');
    expect(await attempt('0x')).toBe('ECDSA: invalid signature length');
    expect(await attempt(`${good.slice(0, -2)}1d`)).toBe("ECDSA: invalid signature 'v' value");
    expect(await attempt(`${good.slice(0, -2)}00`)).toBe("ECDSA: invalid signature 'v' value");
    const highS = `${good.slice(0, 66)}${'f'.repeat(64)}${good.slice(-2)}`;
    expect(await attempt(highS)).toBe("ECDSA: invalid signature 's' value");
    const nobody = `0x${'00'.repeat(64)}1b`;
    expect(await attempt(nobody)).toBe('ECDSA: invalid signature');
  });

  test('by the issuer needs no signature', async () => {
    const { events } = await net.current.send(book(), 'cashChequeBeneficiary', [third.address, 5n, '0x'], {
      from: player,
    });
    expect(events.at(-1)).toBe(`ChequeCashed(${player.address},${third.address},${player.address},5,5,0)`);
  });

  const authorise = (payout: bigint, callerPayout: bigint, signer = second) =>
    signer.signTypedData(domain(), TYPES.cashout, {
      chequebook: deployment.address,
      sender: stranger.address,
      requestPayout: payout,
      recipient: third.address,
      callerPayout,
    });

  test('by a third party pays it what the beneficiary authorised', async () => {
    const args = [second.address, third.address, 100n, await authorise(100n, 30n), 30n, await cheque(100n)];
    const { events } = await net.current.send(book(), 'cashCheque', args, {
      from: stranger,
      gas: FIXED_GAS.cash,
    });
    expect(events).toEqual([
      paid(stranger.address, 30n),
      paid(third.address, 70n),
      cashed(100n, 100n, { caller: stranger.address, callerPayout: 30n }),
    ]);
  });

  test('by a third party needs the signature of the beneficiary on exactly this payout', async () => {
    const attempt = (args: unknown[], from = stranger) => refusal('cashCheque', args, from);
    const issuerSig = await cheque(100n);
    const invalid = 'invalid beneficiary signature';
    const authorised = await authorise(100n, 30n);
    expect(await attempt([second.address, third.address, 100n, authorised, 31n, issuerSig])).toBe(invalid);
    expect(await attempt([second.address, stranger.address, 100n, authorised, 30n, issuerSig])).toBe(invalid);
    expect(await attempt([second.address, third.address, 101n, authorised, 30n, issuerSig])).toBe(invalid);
    expect(await attempt([second.address, third.address, 100n, authorised, 30n, issuerSig], third)).toBe(
      invalid,
    );
    const byOther = await authorise(100n, 30n, third);
    expect(await attempt([second.address, third.address, 100n, byOther, 30n, issuerSig])).toBe(invalid);
    expect(await attempt([second.address, third.address, 100n, authorised, 30n, await cheque(99n)])).toBe(
      'invalid issuer signature',
    );
  });

  test('by a third party is refused when its share is not covered', async () => {
    const authorised = await authorise(100n, 101n);
    const args = [second.address, third.address, 100n, authorised, 101n, await cheque(100n)];
    expect(await refusal('cashCheque', args, stranger)).toBe('SimpleSwap: cannot pay caller');
  });
});

describe('withdrawing', () => {
  test('returns what is not reserved by hard deposits, within the gas limit of nodes', async () => {
    await net.current.send(book(), 'increaseHardDeposit', [second.address, 400n], { from: player });
    const free = DEPOSIT - 400n;
    expect(await view('liquidBalance')).toBe(free);
    expect(await refusal('withdraw', [free + 1n])).toBe('liquidBalance not sufficient');
    const { events } = await net.current.send(book(), 'withdraw', [free], {
      from: player,
      gas: FIXED_GAS.withdraw,
    });
    expect(events).toEqual([paid(player.address, free)]);
    expect(await balanceOf(player.address)).toBe(TOKENS - 400n);
  });

  test('is reserved to the issuer', async () => {
    expect(await refusal('withdraw', [1n], second)).toBe('not issuer');
  });
});

describe('hard deposits', () => {
  const increase = (amount: bigint) =>
    net.current.send(book(), 'increaseHardDeposit', [second.address, amount], { from: player });
  const prepare = (amount: bigint) =>
    net.current.send(book(), 'prepareDecreaseHardDeposit', [second.address, amount], { from: player });
  const timestamp = async () => {
    const block = await net.current.rpc.call('eth_getBlockByNumber', 'latest', false);
    return BigInt(Object(block).timestamp);
  };

  test('reserve part of the balance for one beneficiary', async () => {
    expect((await increase(600n)).events).toEqual([`HardDepositAmountChanged(${second.address},600)`]);
    expect((await increase(100n)).events).toEqual([`HardDepositAmountChanged(${second.address},700)`]);
    expect(await view('totalHardDeposit')).toBe(700n);
    expect(await view('hardDeposits', second.address)).toEqual([700n, 0n, 0n, 0n]);
    expect(await view('liquidBalanceFor', second.address)).toBe(DEPOSIT);
    expect(await view('liquidBalanceFor', third.address)).toBe(DEPOSIT - 700n);
    expect(await refusal('increaseHardDeposit', [third.address, DEPOSIT])).toBe(
      'hard deposit exceeds balance',
    );
  });

  test('are used before the rest, and are protected from the cheques of others', async () => {
    await increase(DEPOSIT - 100n);
    const toThird = await cheque(500n, { beneficiary: third.address });
    const other = await net.current.send(book(), 'cashChequeBeneficiary', [third.address, 500n, toThird], {
      from: third,
    });
    expect(other.events[0]).toBe('ChequeBounced()');
    expect(await view('paidOut', third.address)).toBe(100n);
    const { gasUsed } = await cash(300n);
    expect(gasUsed).toBeLessThan(FIXED_GAS.cash);
    expect(await view('totalHardDeposit')).toBe(DEPOSIT - 400n);
    expect(await view('hardDeposits', second.address)).toEqual([DEPOSIT - 400n, 0n, 0n, 0n]);
  });

  test('can be lowered after the agreed time', async () => {
    await increase(700n);
    const agreed = {
      chequebook: deployment.address,
      beneficiary: second.address,
      decreaseTimeout: TIMEOUT_S,
    };
    const signature = await second.signTypedData(domain(), TYPES.timeout, agreed);
    const args = [second.address, TIMEOUT_S, signature];
    const changed = await net.current.send(book(), 'setCustomHardDepositTimeout', args, { from: player });
    expect(changed.events).toEqual([`HardDepositTimeoutChanged(${second.address},${TIMEOUT_S})`]);

    expect((await prepare(200n)).events).toEqual([`HardDepositDecreasePrepared(${second.address},200)`]);
    const dueAt = (await timestamp()) + TIMEOUT_S;
    expect(await view('hardDeposits', second.address)).toEqual([700n, 200n, TIMEOUT_S, dueAt]);
    expect(await refusal('decreaseHardDeposit', [second.address])).toBe('deposit not yet timed out');
    await net.current.rpc.call('evm_increaseTime', Number(TIMEOUT_S));
    const { events } = await net.current.send(book(), 'decreaseHardDeposit', [second.address], {
      from: stranger,
    });
    await net.current.rpc.call('evm_setTime', Math.floor(Date.now() / 1000));
    expect(events).toEqual([`HardDepositAmountChanged(${second.address},500)`]);
    expect(await view('totalHardDeposit')).toBe(500n);
    expect(await refusal('decreaseHardDeposit', [second.address])).toBe('deposit not yet timed out');
  });

  test('that were raised again or used up in the meantime are not lowered', async () => {
    await increase(700n);
    await prepare(600n);
    await increase(1n);
    expect(await refusal('decreaseHardDeposit', [second.address])).toBe('deposit not yet timed out');
    await prepare(600n);
    await cash(200n);
    expect(await refusal('decreaseHardDeposit', [second.address])).toBe('SafeMath: subtraction overflow');
  });

  test('can be changed only by the issuer', async () => {
    const notIssuer = 'SimpleSwap: not issuer';
    expect(await refusal('increaseHardDeposit', [second.address, 1n], second)).toBe(notIssuer);
    expect(await refusal('prepareDecreaseHardDeposit', [second.address, 1n], second)).toBe(notIssuer);
    expect(await refusal('setCustomHardDepositTimeout', [second.address, 1n, '0x'], second)).toBe(
      'not issuer',
    );
    expect(await refusal('prepareDecreaseHardDeposit', [second.address, 1n])).toBe(
      'hard deposit not sufficient',
    );
    expect(await refusal('decreaseHardDeposit', [second.address], deployer)).toBe(
      'deposit not yet timed out',
    );
  });

  test('have a timeout that the beneficiary agrees to', async () => {
    const agreed = { chequebook: deployment.address, beneficiary: second.address, decreaseTimeout: 5n };
    const signature = await second.signTypedData(domain(), TYPES.timeout, agreed);
    const attempt = (seconds: bigint) =>
      refusal('setCustomHardDepositTimeout', [second.address, seconds, signature]);
    expect(await attempt(6n)).toBe('invalid beneficiary signature');
  });
});
