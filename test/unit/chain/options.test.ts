import { expect, test } from 'vitest';
import { parseOptions } from '../../../chain/options.ts';

const address = `0x${'12'.repeat(20)}`;
const nonce = `0x${'34'.repeat(32)}`;
const token = 'a-token-of-a-chain';
const minimal = { networkId: 4020, token, accounts: [] };

const parse = (document: unknown) => parseOptions(JSON.stringify(document));

test('a minimal document gets the defaults', () => {
  expect(parse(minimal)).toMatchObject({
    controlPort: 0,
    stopOnStdinEnd: false,
    gate: false,
    chain: {
      host: '127.0.0.1',
      port: 0,
      token,
      allowedHosts: [],
      origins: [],
      chainId: 31_337,
      networkId: 4020n,
      blockTimeMs: 1_000,
      batches: [],
      chequebooks: [],
    },
  });
});

test('amounts may be numbers or decimal texts', () => {
  const document = {
    ...minimal,
    accounts: [{ address, native: '10000000000000000000', tokens: 7 }],
    batches: [{ owner: address, amount: '2073600000', depth: 20, immutable: true, nonce }],
    chequebooks: [{ issuer: address, deposit: '500000000000000000' }],
  };
  const { chain } = parse(document);
  expect(chain.accounts).toEqual([{ address, native: 10n ** 19n, tokens: 7n }]);
  expect(chain.batches).toEqual([
    { owner: address, amount: 2_073_600_000n, depth: 20, immutable: true, nonce },
  ]);
  expect(chain.chequebooks).toEqual([{ issuer: address, deposit: 500_000_000_000_000_000n }]);
});

test.each([
  ['an unknown key', { ...minimal, blocktime: 5 }, 'blocktime: no such option'],
  [
    'an unknown key inside',
    { ...minimal, accounts: [{ address, native: 1, tokens: 1, name: 'a' }] },
    'accounts.0.name: no such option',
  ],
  ['a missing key', { token, accounts: [] }, 'networkId is missing, expected a whole number'],
  [
    'a missing key inside',
    { ...minimal, accounts: [{ address, native: 1 }] },
    'accounts.0.tokens is missing',
  ],
  ['no token', { networkId: 1, accounts: [] }, 'token is missing, expected 16 to 512 letters, digits'],
  ['a short token, unnamed', { ...minimal, token: 'secret' }, 'token is another text, expected 16'],
  [
    'a host that is no text',
    { ...minimal, allowedHosts: [7] },
    'allowedHosts is [7], expected a list of texts',
  ],
  ['a negative amount', { ...minimal, networkId: -1 }, 'networkId is -1, expected a whole number'],
  ['an imprecise number', { ...minimal, networkId: 2 ** 60 }, 'as decimal text when above 2^53'],
  [
    'a short address',
    { ...minimal, accounts: [{ address: '0x12', native: 1, tokens: 1 }] },
    'accounts.0.address is "0x12", expected an address: 0x and 40 hex digits',
  ],
  [
    'a depth not above the buckets',
    { ...minimal, batches: [{ owner: address, amount: 1, depth: 16, immutable: true, nonce }] },
    'batches.0.depth is 16, expected a whole number from 17 to 255',
  ],
  [
    'a chequebook of nobody',
    { ...minimal, chequebooks: [{ issuer: '0x', deposit: 1 }] },
    'chequebooks.0.issuer is "0x", expected an address: 0x and 40 hex digits',
  ],
  [
    'a validity of one block',
    { ...minimal, minimumValidityBlocks: 1 },
    'minimumValidityBlocks is 1, expected a whole number from 2',
  ],
  [
    'a port out of range',
    { ...minimal, port: 65_536 },
    'port is 65536, expected a whole number from 0 to 65535',
  ],
  ['an object for a list', { ...minimal, accounts: {} }, 'accounts is {}, expected a list'],
  ['a list for the document', [], 'the document is [], expected a list or object'],
])('%s is reported with its value and what is expected', (_, document, message) => {
  expect(() => parse(document)).toThrow(
    expect.objectContaining({ code: 'OPTIONS_INVALID', message: expect.stringContaining(message) }),
  );
});

test('text that is not JSON is reported as such', () => {
  expect(() => parseOptions('{')).toThrow(
    expect.objectContaining({ code: 'OPTIONS_INVALID', message: expect.stringContaining('not JSON') }),
  );
});
