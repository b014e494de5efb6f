import { Interface, keccak256 } from 'ethers';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fromHex, toHex } from '../../../formats/crypto/hex.ts';
import { selectorOf } from '../../../formats/ethereum/abi.ts';
import { ERROR_OF_SELECTOR } from '../../../formats/ethereum/revert.ts';
import {
  encodeClaim,
  encodeCommit,
  encodeManageStake,
  encodeReveal,
  GAME_FUNCTIONS,
  type InclusionProof,
  MIGRATE_STAKE,
  STAKE_FUNCTIONS,
  stakeOf,
  WITHDRAW_STAKE,
  withdrawableStake,
} from '../../../node/onchain/incentive-contracts.ts';
import signatures from '../../vectors/abi-signatures.json' with { type: 'json' };
import contracts from '../../vectors/contracts.json' with { type: 'json' };

const { StakeRegistry, Redistribution } = signatures;
const abi = new Interface(
  [...Object.values(STAKE_FUNCTIONS), ...Object.values(GAME_FUNCTIONS)].map((f) => `function ${f}`),
);
const hex = (bytes: Uint8Array) => `0x${toHex(bytes)}`;

describe('selectors', () => {
  test.each([
    ...Object.values(STAKE_FUNCTIONS).map((signature) => [signature, StakeRegistry] as const),
    ...Object.values(GAME_FUNCTIONS).map((signature) => [signature, Redistribution] as const),
  ])('%s is that of the contract', (signature, { functions }) => {
    expect(selectorOf(signature)).toBe(functions.find((row) => row.signature === signature)?.selector);
  });

  test('every custom error of the two contracts is known by its selector', () => {
    for (const { signature, selector } of [...StakeRegistry.errors, ...Redistribution.errors]) {
      expect(ERROR_OF_SELECTOR.get(selector)).toBe(signature);
    }
  });
});

describe('call data', () => {
  const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
  const word = bytes(32);

  test('of stake, commit and reveal is that of a full ABI library', () => {
    fc.assert(
      fc.property(
        word,
        word,
        fc.nat(255),
        fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
        (a, b, n, amount) => {
          expect(encodeManageStake(a, amount, n)).toBe(abi.encodeFunctionData('manageStake', [a, amount, n]));
          expect(encodeCommit(a, n)).toBe(abi.encodeFunctionData('commit', [a, n]));
          expect(encodeReveal(n, a, b)).toBe(abi.encodeFunctionData('reveal', [n, a, b]));
        },
      ),
    );
    expect(WITHDRAW_STAKE).toBe(abi.encodeFunctionData('withdrawFromStake'));
    expect(MIGRATE_STAKE).toBe(abi.encodeFunctionData('migrateStake'));
  });

  test('of a claim is that of a full ABI library, whatever the proofs are', () => {
    const words = fc.array(word, { maxLength: 8 });
    const number = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
    const anyBytes = fc.uint8Array({ maxLength: 70 });
    const proof: fc.Arbitrary<InclusionProof> = fc.record({
      proofSegments: words,
      proveSegment: word,
      proofSegments2: words,
      proveSegment2: word,
      chunkSpan: number,
      proofSegments3: words,
      postageProof: fc.record({ signature: anyBytes, postageId: word, index: number, timeStamp: number }),
      socProof: fc.array(
        fc.record({ signer: bytes(20), signature: anyBytes, identifier: word, chunkAddr: word }),
        { maxLength: 2 },
      ),
    });
    const plain = (p: InclusionProof) => [
      p.proofSegments.map(hex),
      hex(p.proveSegment),
      p.proofSegments2.map(hex),
      hex(p.proveSegment2),
      p.chunkSpan,
      p.proofSegments3.map(hex),
      [
        hex(p.postageProof.signature),
        hex(p.postageProof.postageId),
        p.postageProof.index,
        p.postageProof.timeStamp,
      ],
      p.socProof.map((s) => [hex(s.signer), hex(s.signature), hex(s.identifier), hex(s.chunkAddr)]),
    ];
    fc.assert(
      fc.property(proof, proof, proof, (a, b, c) => {
        expect(encodeClaim([a, b, c])).toBe(abi.encodeFunctionData('claim', [plain(a), plain(b), plain(c)]));
      }),
    );
  });

  test('of the claim of the vectors', () => {
    const { claimProofs, claimCalldataKeccak256 } = contracts.redistributionScenario;
    const read = (proof: (typeof claimProofs)[number]): InclusionProof => ({
      proofSegments: proof.proofSegments.map(fromHex),
      proveSegment: fromHex(proof.proveSegment),
      proofSegments2: proof.proofSegments2.map(fromHex),
      proveSegment2: fromHex(proof.proveSegment2),
      chunkSpan: BigInt(proof.chunkSpan),
      proofSegments3: proof.proofSegments3.map(fromHex),
      postageProof: {
        signature: fromHex(proof.postageProof.signature),
        postageId: fromHex(proof.postageProof.postageId),
        index: BigInt(proof.postageProof.index),
        timeStamp: BigInt(proof.postageProof.timeStamp),
      },
      socProof: proof.socProof.map((soc) => ({
        signer: fromHex(soc.signer),
        signature: fromHex(soc.signature),
        identifier: fromHex(soc.identifier),
        chunkAddr: fromHex(soc.chunkAddr),
      })),
    });
    const [proof1, proof2, proofLast] = claimProofs.map(read);
    const data = encodeClaim([proof1!, proof2!, proofLast!]);
    expect(keccak256(data)).toBe(claimCalldataKeccak256);
  });
});

describe('reads', () => {
  const owner = new Uint8Array(20).fill(0xab);

  test('a stake is read field by field', async () => {
    const overlay = new Uint8Array(32).fill(7);
    const fields = [overlay, 3n, 100n, 77n, 1];
    const stakes = new Interface([
      'function stakes(address) view returns (bytes32, uint256, uint256, uint256, uint8)',
    ]);
    const asked: unknown[] = [];
    const chain = {
      call: (request: object) => {
        asked.push(request);
        return Promise.resolve(stakes.encodeFunctionResult('stakes', fields));
      },
    };
    expect(await stakeOf(chain, '0xre', owner)).toEqual({
      overlay,
      amount: 100n,
      lastUpdatedBlock: 77n,
      height: 1,
    });
    expect(asked).toEqual([{ to: '0xre', data: stakes.encodeFunctionData('stakes', [hex(owner)]) }]);
  });

  test('the surplus is asked for in the name of the owner', async () => {
    const asked: unknown[] = [];
    const chain = {
      call: (request: object) => {
        asked.push(request);
        return Promise.resolve(`0x${'00'.repeat(31)}05`);
      },
    };
    expect(await withdrawableStake(chain, '0xre', owner)).toBe(5n);
    expect(asked).toEqual([{ to: '0xre', data: '0x6f1c5de7', from: hex(owner) }]);
  });
});
