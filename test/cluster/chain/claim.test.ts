import { concat, keccak256, toBeHex } from 'ethers';
import { describe, expect, test } from 'vitest';
import vectors from '../../vectors/contracts.json' with { type: 'json' };
import { player, second, stranger, useNetwork } from './network.ts';
import { commitAll, preparePlayer, revealAll, slotOf, stakeAll } from './round.ts';
import { claimProofs, type Element, type Proof, reserveCommitment, vectorSample } from './sample.ts';

const { redistributionScenario: scenario, roles } = vectors;
const { setup } = scenario;
const { blocks } = setup;

const seedSlot = slotOf('seed');
const net = useNetwork(preparePlayer);
const game = () => net.current.redistribution;

interface Play {
  commitment?: string;
  depth?: number;
  stakeNonce?: string;
  /** Written into the contract after the reveal. */
  seed?: string;
}

async function play(options: Play = {}) {
  const { seed = scenario.seed, ...part } = options;
  const parts = [{ from: player, ...part }];
  const [overlay] = await stakeAll(net.current, parts);
  const [committed] = await commitAll(net.current, parts);
  const [revealed] = await revealAll(net.current, parts);
  if (seed !== 'as it comes') {
    await net.current.rpc.call('anvil_setStorageAt', game().address, seedSlot(), seed);
  }
  await net.current.before(blocks.claim);
  return { overlay, committed, revealed };
}

const proofs = (elements: readonly Element[] = vectorSample) =>
  claimProofs(elements, scenario.seed, scenario.anchor1);
const refusal = (claim: readonly Proof[]) => net.current.refusal(game(), 'claim', claim, { from: player });

test('the round of the vectors is claimed and paid', async () => {
  const { overlay, committed, revealed } = await play();
  expect(overlay).toBe(scenario.overlay);
  expect(committed?.block).toBe(blocks.commit);
  expect(committed?.events).toEqual([`Committed(${scenario.round},${scenario.overlay},0)`]);
  const stake = '99999999999984000';
  expect(revealed?.events).toEqual([
    `CurrentRevealAnchor(${scenario.round},${scenario.anchor1})`,
    `Revealed(${scenario.round},${scenario.overlay},${stake},${stake},${scenario.reserveCommitment},0)`,
  ]);
  expect(await net.current.view(game(), 'isWinner', [scenario.overlay])).toBe(true);
  expect(await net.current.view(game(), 'isWinner', [scenario.anchor1])).toBe(false);
  expect(await net.current.view(game(), 'currentRoundAnchor')).toBe(scenario.seed);

  expect(reserveCommitment(vectorSample)).toBe(scenario.reserveCommitment);
  const callData = game().abi.encodeFunctionData('claim', proofs());
  expect(keccak256(callData)).toBe(scenario.claimCalldataKeccak256);
  const claim = await net.current.send(game(), 'claim', proofs(), { from: player });
  expect(claim.block).toBe(blocks.claim);
  expect(claim.events).toEqual(scenario.claimEvents);
  expect(await net.current.view(game(), 'currentClaimRound')).toBe(BigInt(scenario.round));
  expect(await net.current.view(game(), 'winner')).toEqual([
    scenario.overlay,
    player.address,
    0n,
    BigInt(stake),
    BigInt(stake),
    scenario.reserveCommitment,
  ]);
  expect(await refusal(proofs())).toBe('AlreadyClaimed()');
  expect(await net.current.refusal(game(), 'isWinner', [scenario.overlay])).toBe('AlreadyClaimed()');
});

test('anyone may send the claim, and the winner is paid', async () => {
  await play();
  const { events } = await net.current.send(game(), 'claim', proofs(), { from: stranger });
  expect(events).toEqual(scenario.claimEvents);
});

test('a seed is the hash of the previous one and the randomness of the block of the first reveal', async () => {
  const { update } = vectors.seeds;
  const next = (seed: string, randomness: string) => keccak256(concat([seed, randomness]));
  expect(next(update.seed, update.prevrandao)).toBe(update.newSeed);

  await play({ seed: 'as it comes' });
  const block = await net.current.rpc.call('eth_getBlockByNumber', toBeHex(blocks.reveal), false);
  const expected = next(toBeHex(0, 32), String(Object(block).mixHash));
  expect(await net.current.view(game(), 'currentSeed')).toBe(expected);
});

describe('a claim with one wrong field', () => {
  const flip = (hex: string): string => `${hex.slice(0, -1)}${hex.endsWith('0') ? '1' : '0'}`;
  const transformed = (n: number) =>
    scenario.claimEvents.filter((e) => e.startsWith('transformed'))[n]?.slice(-67, -1);
  const elements = [
    { name: 'proof 1', place: 0, computed: transformed(1) },
    { name: 'proof 2', place: 1, computed: transformed(2) },
    { name: 'the last proof', place: 2, computed: transformed(0) },
  ];
  const batch = setup.batch.id;

  type Change = [field: string, change: (proof: Proof) => void, error: RegExp | string];
  const at = (list: string[], index: number): void => {
    list[index] = flip(list[index] ?? '');
  };
  const range = [0, 1, 2, 3, 4, 5, 6];
  const changes: Change[] = [
    ...range.map(
      (i): Change => [
        `proofSegments[${i}]`,
        (p) => at(p.proofSegments, i),
        'InclusionProofFailed(1,computed)',
      ],
    ),
    ['proveSegment', (p) => (p.proveSegment = flip(p.proveSegment)), 'InclusionProofFailed(1,computed)'],
    ['proofSegments2[0]', (p) => at(p.proofSegments2, 0), 'InclusionProofFailed(2,computed)'],
    ...range
      .slice(1)
      .map(
        (i): Change => [
          `proofSegments2[${i}]`,
          (p) => at(p.proofSegments2, i),
          'InclusionProofFailed(3,computed)',
        ],
      ),
    ['proveSegment2', (p) => (p.proveSegment2 = flip(p.proveSegment2)), /^InclusionProofFailed\(3,0x/],
    ['chunkSpan', (p) => (p.chunkSpan += 1n), /^InclusionProofFailed\(3,0x/],
    ['proofSegments3[0]', (p) => at(p.proofSegments3, 0), /^InclusionProofFailed\(2,0x/],
    ...range
      .slice(1)
      .map(
        (i): Change => [
          `proofSegments3[${i}]`,
          (p) => at(p.proofSegments3, i),
          /^InclusionProofFailed\(4,0x/,
        ],
      ),
    ['a missing proof segment', (p) => p.proofSegments.pop(), 'Panic(0x32)'],
    ['postageId', (p) => (p.postageProof.postageId = flip(batch)), `BatchDoesNotExist(${flip(batch)})`],
    ['the index beyond the bucket', (p) => (p.postageProof.index |= 4n), `IndexOutsideSet(${batch})`],
    ['the index of another bucket', (p) => (p.postageProof.index += 1n << 32n), `BucketDiffers(${batch})`],
    ['the index of another slot', (p) => (p.postageProof.index |= 1n), `SigRecoveryFailed(${batch})`],
    ['timeStamp', (p) => (p.postageProof.timeStamp += 1n), `SigRecoveryFailed(${batch})`],
    [
      'the stamp’s signature',
      (p) => (p.postageProof.signature = `0x11${p.postageProof.signature.slice(4)}`),
      `SigRecoveryFailed(${batch})`,
    ],
    [
      'the stamp’s recovery number',
      (p) => (p.postageProof.signature = `${p.postageProof.signature.slice(0, -2)}00`),
      `SigRecoveryFailed(${batch})`,
    ],
    [
      'a short stamp signature',
      (p) => (p.postageProof.signature = p.postageProof.signature.slice(0, -2)),
      'InvalidSignatureLength()',
    ],
  ];

  test('reports the specified error', async () => {
    await play();
    const correct = proofs();
    for (const { name, place, computed } of elements) {
      for (const [field, change, error] of changes) {
        const claim = structuredClone(correct);
        const proof = claim[place];
        if (proof === undefined) throw new Error(`no proof ${place}`);
        change(proof);
        const expected =
          typeof error === 'string' ? error.replace('computed', `${computed}`) : expect.stringMatching(error);
        expect(await refusal(claim), `${field} of ${name}`).toEqual(expected);
      }
    }
  });

  test('reports a wrong owner of a single-owner chunk', async () => {
    await play();
    const element = vectorSample[15];
    const { identifier = '', chunkAddr = '' } = element?.soc ?? {};
    const signed = async (id: string, signer = player) =>
      signer.signMessage(Buffer.from(keccak256(concat([id, chunkAddr])).slice(2), 'hex'));
    const withSoc = async (fields: Partial<Proof['socProof'][number]>) => {
      const claim = proofs();
      const [, , last] = claim;
      last.socProof = [
        { signer: player.address, signature: '', identifier, chunkAddr, ...element?.soc, ...fields },
      ];
      return refusal(claim);
    };
    const unverified = `SocVerificationFailed(${chunkAddr})`;
    const notMatching = `SocCalcNotMatching(${chunkAddr})`;
    expect(await withSoc({ signer: second.address })).toBe(unverified);
    expect(await withSoc({ identifier: flip(identifier) })).toBe(unverified);
    expect(await withSoc({ signature: await signed(identifier, second) })).toBe(unverified);
    expect(await withSoc({ signature: '0x11' })).toBe('InvalidSignatureLength()');
    expect(await withSoc({ signer: second.address, signature: await signed(identifier, second) })).toBe(
      notMatching,
    );
    expect(await withSoc({ identifier: flip(identifier), signature: await signed(flip(identifier)) })).toBe(
      notMatching,
    );
    expect(await withSoc({ chunkAddr: flip(chunkAddr) })).toMatch(/^InclusionProofFailed\(3,/);
    // It recovers to the zero address, which is no owner either.
    const zero = { signer: '0x0000000000000000000000000000000000000000', signature: `0x${'00'.repeat(65)}` };
    expect(await withSoc(zero)).toBe(unverified);
    const missing = proofs();
    missing[2].socProof = [];
    expect(await refusal(missing)).toMatch(/^InclusionProofFailed\(3,/);
  });

  test('reports proofs in the wrong order', async () => {
    await play();
    const [proof1, proof2, last] = proofs();
    expect(await refusal([proof2, proof1, last])).toMatch(/^InclusionProofFailed\(1,/);
    expect(await refusal([last, proof2, proof1])).toMatch(/^InclusionProofFailed\(1,/);
  });
});

describe('a sample', () => {
  const swapped = (a: number, b: number): Element[] =>
    vectorSample.map((element, i) => vectorSample[i === a ? b : i === b ? a : i] ?? element);

  test('is refused when the drawn elements are not in order', async () => {
    const elements = swapped(scenario.indexes.x1, scenario.indexes.x2);
    await play({ commitment: reserveCommitment(elements) });
    expect(await refusal(proofs(elements))).toBe('RandomElementCheckFailed()');
  });

  test('is refused when its last element is not the greatest', async () => {
    const elements = swapped(scenario.indexes.x1, scenario.indexes.last);
    await play({ commitment: reserveCommitment(elements) });
    expect(await refusal(proofs(elements))).toBe('LastElementCheckFailed()');
  });

  test('is refused when its last element is too great for a full reserve', async () => {
    const last = vectorSample[15]?.transformedAddress ?? '';
    await net.current.send(game(), 'setSampleMaxValue', [BigInt(last)]);
    await play();
    expect(await refusal(proofs())).toBe(`ReserveCheckFailed(${last})`);
    await net.current.chain.mine();
    await net.current.send(game(), 'setSampleMaxValue', [BigInt(last) + 1n]);
    await net.current.send(game(), 'claim', proofs());
  });

  test('is refused with chunks outside the neighbourhood', async () => {
    // It shares its first bit with the anchor (0), so that depth 1 can be revealed.
    const stakeNonce = nearNonce();
    const { x1, x2, last } = scenario.indexes;
    const near = vectorSample.filter(({ chunkAddress }) => BigInt(chunkAddress) >> 255n === 0n);
    const far = vectorSample.find(({ chunkAddress }) => BigInt(chunkAddress) >> 255n === 1n);
    if (far === undefined) throw new Error('all chunks are near');
    const snapshot = () => net.current.rpc.call('evm_snapshot');
    for (const [place, number] of [
      [last, 3],
      [x1, 2],
      [x2, 1],
    ] as const) {
      const elements = vectorSample.map((element, i) =>
        i === place ? far : (near[i % near.length] ?? element),
      );
      const start = await snapshot();
      await play({ commitment: reserveCommitment(elements), depth: 1, stakeNonce });
      expect(await refusal(proofs(elements))).toBe(`OutOfDepthClaim(${number})`);
      await net.current.rpc.call('evm_revert', start);
    }
  });
});

function nearNonce(): string {
  for (let n = 1; ; n++) {
    const nonce = toBeHex(n, 32);
    const overlay = keccak256(concat([player.address, '0xb40f000000000000', nonce]));
    if (BigInt(overlay) >> 255n === BigInt(scenario.anchor1) >> 255n) return nonce;
  }
}

describe('a claim with a missing role', () => {
  const revoke = (contract: 'postageStamp' | 'stakeRegistry' | 'priceOracle', role: string, of: string) =>
    net.current.send(net.current[contract], 'revokeRole', [role, of]);

  test('without access to the pot succeeds and reports that nothing was paid', async () => {
    await revoke('postageStamp', roles.REDISTRIBUTOR_ROLE, game().address);
    await play();
    const { events } = await net.current.send(game(), 'claim', proofs());
    expect(events.slice(-3)).toEqual([
      `WithdrawFailed(${player.address})`,
      scenario.claimEvents.at(-2),
      `ChunkCount(${2 ** 18})`,
    ]);
  });

  test('without access of the price oracle to PostageStamp succeeds and reports that the price was not adjusted', async () => {
    await revoke('postageStamp', roles.PRICE_ORACLE_ROLE, net.current.priceOracle.address);
    await play();
    const { events } = await net.current.send(game(), 'claim', proofs());
    expect(events.slice(3, 5)).toEqual(['StampPriceUpdateFailed(24072)', 'PriceAdjustmentSkipped(1)']);
  });

  test('without the role of price updater fails, unless the oracle is paused', async () => {
    await revoke('priceOracle', roles.PRICE_UPDATER_ROLE, game().address);
    await net.current.send(net.current.priceOracle, 'pause');
    await play();
    const start = await net.current.rpc.call('evm_snapshot');
    const { events } = await net.current.send(game(), 'claim', proofs());
    expect(events).toContain('PriceAdjustmentSkipped(1)');
    await net.current.rpc.call('evm_revert', start);
    await net.current.send(net.current.priceOracle, 'unPause');
    expect(await refusal(proofs())).toBe('CallerNotPriceUpdater()');
  });
});

test('claims are paused together with the game', async () => {
  await play();
  await net.current.send(game(), 'pause');
  expect(await refusal(proofs())).toBe('Pausable: paused');
});
