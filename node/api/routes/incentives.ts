/** `http-api-completion.md` 5.12. Amounts are decimal strings. */
import { toHex } from '../../../formats/crypto/hex.ts';
import type { InclusionProof } from '../../onchain/incentive-contracts.ts';
import { type Dialect, emit } from '../dialect.ts';
import { orElse } from '../errors.ts';
import { type Port, route } from '../route/route.ts';
import { formatDuration } from '../values/duration.ts';
import { bigInteger, hex, uint } from '../values/kinds.ts';
import { length, optional, required, strictly } from '../values/params.ts';

const STAKE_GATES = ['started', 'stakeSlot', 'gas'] as const;
const MS_PER_SECOND = 1000;
const ANCHOR = required(hex, { checks: [strictly(length(32))] });

export const INCENTIVE_ROUTES = [
  route({
    method: 'GET',
    path: '/stake',
    port: 'both',
    summary: 'amount staked',
    gates: STAKE_GATES,
    success: [200],
    response: 'Stake',
    failure: 'STAKE_READ_FAILED',
    handle: async ({ services: { staking }, signal }) => ({
      status: 200,
      json: { stakedAmount: String(await staking.staked(signal)) },
    }),
  }),
  route({
    method: 'DELETE',
    path: '/stake',
    port: 'both',
    summary: 'withdraw all stake of a paused contract; answers when the transaction is mined',
    gates: STAKE_GATES,
    success: [200],
    refusals: ['STAKE_NOT_PAUSED', 'STAKE_IS_FROZEN'],
    response: 'StakeTransaction',
    failure: 'STAKE_MIGRATE_FAILED',
    serverErrors: ['STAKE_MIGRATE_FAILED'],
    errors: { NOTHING_TO_WITHDRAW: 'STAKE_MIGRATE_NONE' },
    handle: async ({ services: { staking }, gas, signal, dialect, port }) => ({
      status: 200,
      json: transaction(await staking.migrate(gas, signal), dialect, port),
    }),
  }),
  route({
    method: 'POST',
    path: '/stake/{amount}',
    port: 'both',
    summary: 'stake an amount; answers when its transactions are mined',
    gates: STAKE_GATES,
    params: { amount: required(bigInteger) },
    success: [200],
    refusals: ['STAKE_TOO_SMALL', 'OUT_OF_FUNDS', 'STAKE_IS_FROZEN'],
    response: 'StakeTransaction',
    failure: 'STAKE_FAILED',
    serverErrors: ['STAKE_FAILED'],
    handle: async ({ params: { amount }, services: { staking }, gas, signal, dialect, port }) => ({
      status: 200,
      json: transaction(await staking.deposit(amount, gas, signal), dialect, port),
    }),
  }),
  route({
    method: 'GET',
    path: '/stake/withdrawable',
    port: 'both',
    summary: 'surplus of the stake',
    gates: STAKE_GATES,
    success: [200],
    response: 'WithdrawableStake',
    failure: 'STAKE_READ_FAILED',
    handle: async ({ services: { staking }, signal }) => ({
      status: 200,
      json: { withdrawableAmount: String(await staking.withdrawable(signal)) },
    }),
  }),
  route({
    method: 'DELETE',
    path: '/stake/withdrawable',
    port: 'both',
    summary: 'withdraw the surplus of the stake; answers when the transaction is mined',
    gates: STAKE_GATES,
    success: [200],
    refusals: ['STAKE_WITHDRAW_NONE', 'STAKE_IS_FROZEN'],
    response: 'StakeTransaction',
    failure: 'STAKE_WITHDRAW_FAILED',
    serverErrors: ['STAKE_WITHDRAW_FAILED'],
    handle: async ({ services: { staking }, gas, signal, dialect, port }) => ({
      status: 200,
      json: transaction(await staking.withdraw(gas, signal), dialect, port),
    }),
  }),
  route({
    method: 'GET',
    path: '/redistributionstate',
    port: 'both',
    summary: 'state of the storage game',
    gates: ['started', 'fullMode', 'incentives'],
    success: [200],
    refusals: ['GAME_FUNDS_FAILED'],
    response: 'RedistributionState',
    failure: 'GAME_STATE_FAILED',
    async handle({ services, dialect, signal }) {
      const game = services.redistribution;
      const { lastSampleMs, reward, fees, ...state } = game.state();
      const funds = await orElse('GAME_FUNDS_FAILED', () => game.funds(signal));
      return {
        status: 200,
        json: {
          minimumGasFunds: String(funds.minimum),
          hasSufficientFunds: funds.sufficient,
          ...state,
          ...emit(dialect.fields.sampleDuration, formatDuration(lastSampleMs)),
          lastSampleDurationSeconds: lastSampleMs / MS_PER_SECOND,
          reward: String(reward),
          fees: String(fees),
        },
      };
    },
  }),
  route({
    method: 'GET',
    path: '/rchash/{depth}/{anchor1}/{anchor2}',
    port: 'both',
    effect: 'costs',
    summary: 'reserve sample with inclusion proofs',
    gates: ['started', 'incentives'],
    params: { depth: optional(uint(8), 0), anchor1: ANCHOR, anchor2: ANCHOR },
    success: [200],
    refusals: ['SAMPLING_BUSY'],
    response: 'ReserveSample',
    failure: 'SAMPLE_FAILED',
    async handle({ params, services, dialect, signal }) {
      const { hash, proofs, durationMs } = await services.redistribution.prove(params, signal);
      const [proof1, proof2, proofLast] = proofs;
      return {
        status: 200,
        json: {
          hash: toHex(hash),
          proofs: {
            proof1: proofBody(proof1, dialect),
            proof2: proofBody(proof2, dialect),
            proofLast: proofBody(proofLast, dialect),
          },
          durationSeconds: durationMs / MS_PER_SECOND,
        },
      };
    },
  }),
];

/** The former debug port spelled it differently. */
function transaction(hash: string, dialect: Dialect, port: Port): Record<string, unknown> {
  return { txHash: hash, ...(port === 'debug' ? emit(dialect.fields.debugTransaction, hash) : {}) };
}

function proofBody(proof: InclusionProof, dialect: Dialect): Record<string, unknown> {
  const { postageProof, socProof } = proof;
  const socs = socProof.map(({ signer, signature, identifier, chunkAddr }) => ({
    signer: toHex(signer),
    signature: toHex(signature),
    identifier: toHex(identifier),
    chunkAddr: toHex(chunkAddr),
  }));
  return {
    proofSegments: proof.proofSegments.map(toHex),
    proveSegment: toHex(proof.proveSegment),
    proofSegments2: proof.proofSegments2.map(toHex),
    proveSegment2: toHex(proof.proveSegment2),
    chunkSpan: proof.chunkSpan,
    proofSegments3: proof.proofSegments3.map(toHex),
    postageProof: {
      signature: toHex(postageProof.signature),
      postageId: toHex(postageProof.postageId),
      index: postageProof.index.toString(16),
      timeStamp: postageProof.timeStamp.toString(16),
    },
    socProof: socs.length === 0 ? dialect.noSocProof : socs,
  };
}
