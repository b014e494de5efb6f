import { expect, test } from 'vitest';
import { chequebookAddress, chequebookSalt } from '../../../../chain/deployment/chequebooks.ts';
import vectors from '../../../vectors/contracts.json' with { type: 'json' };

const { factory, deployer, salt, address } = vectors.chequebookDeployment;

test('a chequebook has the address that the factory gives to its sender and salt', () => {
  expect(chequebookAddress({ factory, sender: deployer, salt })).toBe(address);
});

test('each chequebook deployed at the start has a salt of its own', () => {
  expect(chequebookSalt(0)).toBe(`0x${'0'.repeat(64)}`);
  expect(chequebookSalt(258)).toBe(`0x${'0'.repeat(61)}102`);
});
