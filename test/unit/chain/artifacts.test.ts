import { Interface, type ParamType } from 'ethers';
import { beforeAll, describe, expect, test } from 'vitest';
import chequebook from '../../../chain/artifacts/ERC20SimpleSwap.json' with { type: 'json' };
import postageStamp from '../../../chain/artifacts/PostageStamp.json' with { type: 'json' };
import priceOracle from '../../../chain/artifacts/PriceOracle.json' with { type: 'json' };
import redistribution from '../../../chain/artifacts/Redistribution.json' with { type: 'json' };
import factory from '../../../chain/artifacts/SimpleSwapFactory.json' with { type: 'json' };
import stakeRegistry from '../../../chain/artifacts/StakeRegistry.json' with { type: 'json' };
import swapPriceOracle from '../../../chain/artifacts/SwapPriceOracle.json' with { type: 'json' };
import token from '../../../chain/artifacts/TestToken.json' with { type: 'json' };
import { compileContracts, renderArtifacts, staleArtifacts } from '../../../chain/compile.ts';
import signatures from '../../vectors/abi-signatures.json' with { type: 'json' };

const CODE_BYTES_MAX = 24_576;

const contracts = [
  { artifact: token, expected: signatures.TestToken },
  { artifact: postageStamp, expected: signatures.PostageStamp },
  { artifact: priceOracle, expected: signatures.PriceOracle },
  { artifact: stakeRegistry, expected: signatures.StakeRegistry },
  { artifact: redistribution, expected: signatures.Redistribution },
  { artifact: factory, expected: signatures.SimpleSwapFactory },
  { artifact: chequebook, expected: signatures.ERC20SimpleSwap },
  { artifact: swapPriceOracle, expected: signatures.SwapPriceOracle },
].map((row) => ({ ...row, name: row.artifact.contract, abi: Interface.from(row.artifact.abi) }));

function written(parameter: ParamType): string {
  const { name } = parameter;
  return `${writtenType(parameter)}${parameter.indexed ? ' indexed' : ''}${name === '' ? '' : ` ${name}`}`;
}

function writtenType(parameter: ParamType): string {
  if (parameter.arrayChildren !== null) return `${writtenType(parameter.arrayChildren)}[]`;
  if (parameter.components !== null) return `(${parameter.components.map(written).join(', ')})`;
  return parameter.type;
}

describe.each(contracts)('$name', ({ abi, expected, artifact }) => {
  test.each(expected.functions)(
    'has the function $signature',
    ({ signature, selector, mutability, returns }) => {
      const found = abi.getFunction(selector);
      expect(found?.format('sighash')).toBe(signature);
      // A constant needs no state: `pure` keeps the promise of `view`.
      expect(mutability === 'view' ? ['view', 'pure'] : [mutability]).toContain(found?.stateMutability);
      const named = returns.some((text) => text.includes(' '));
      expect(found?.outputs.map(named ? written : writtenType)).toEqual(returns);
    },
  );

  test.each(expected.events)('has the event $signature', ({ topic0, name, args }) => {
    const found = abi.getEvent(topic0);
    expect(found?.name).toBe(name);
    expect(found?.inputs.map(written)).toEqual(args);
  });

  test('has every error', () => {
    const found = expected.errors.map(({ selector }) => abi.getError(selector)?.format('sighash'));
    expect(found).toEqual(expected.errors.map(({ signature }) => signature));
  });

  test('is constructed with the specified arguments', () => {
    const given = abi.deploy.inputs.map((parameter) => parameter.type);
    expect(given).toEqual(expected.constructor.map((text) => text.split(' ')[0]));
  });

  test('fits into the size limit for contract code', () => {
    expect((artifact.deployedBytecode.length - 2) / 2).toBeLessThanOrEqual(CODE_BYTES_MAX);
  });
});

describe('artifacts', () => {
  let artifacts: ReturnType<typeof renderArtifacts> = [];
  beforeAll(() => {
    artifacts = renderArtifacts(compileContracts());
  });

  test('are what the compiler makes of the sources', () => {
    expect(artifacts).toHaveLength(contracts.length);
    expect(staleArtifacts(artifacts)).toEqual([]);
  });

  test('are reported when they are out of date', () => {
    const changed = artifacts.map(({ path, text }) => ({
      path,
      text: text.replace('"TestToken"', '"Other"'),
    }));
    expect(staleArtifacts(changed)).toEqual(['TestToken.json']);
  });
});
