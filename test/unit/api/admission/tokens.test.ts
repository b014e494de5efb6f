import { describe, expect, test } from 'vitest';
import { createTokenCheck } from '../../../../node/api/admission/admission.ts';

const TOKENS = { api: 'full-full-full-full', apiRead: 'read-read-read-read', debug: 'debug-debug-debug' };

describe('tokens', () => {
  test.each([
    ['main', TOKENS.api, 'full'],
    ['main', TOKENS.apiRead, 'read'],
    ['main', TOKENS.debug, undefined],
    ['debug', TOKENS.api, 'full'],
    ['debug', TOKENS.apiRead, 'read'],
    ['debug', TOKENS.debug, 'full'],
  ] as const)('on the %s port, %s has the scope %s', (port, token, scope) => {
    expect(createTokenCheck(TOKENS, port).scopeOf(`Bearer ${token}`)).toBe(scope);
  });

  test.each([
    undefined,
    '',
    'Bearer',
    'Bearer ',
    TOKENS.api,
    `Basic ${TOKENS.api}`,
    `Bearer ${TOKENS.api}x`,
    `Bearer ${TOKENS.api.slice(1)}`,
    `Bearer ${TOKENS.api} ${TOKENS.api}`,
    `Bearer ${TOKENS.api.toUpperCase()}`,
  ])("'%s' opens nothing", (authorization) => {
    expect(createTokenCheck(TOKENS, 'main').scopeOf(authorization)).toBeUndefined();
  });

  test('the scheme is case-insensitive', () => {
    expect(createTokenCheck(TOKENS, 'main').scopeOf(`bearer  ${TOKENS.api}`)).toBe('full');
  });

  test('a port requires a token when one is configured for it', () => {
    const required = (tokens: object, port: 'main' | 'debug') => createTokenCheck(tokens, port).required;
    expect([required({}, 'main'), required({ api: '', apiRead: '', debug: '' }, 'debug')]).toEqual([
      false,
      false,
    ]);
    expect([required({ debug: TOKENS.debug }, 'main'), required({ debug: TOKENS.debug }, 'debug')]).toEqual([
      false,
      true,
    ]);
    expect([required({ api: TOKENS.api }, 'debug'), required({ apiRead: TOKENS.apiRead }, 'main')]).toEqual([
      true,
      true,
    ]);
  });

  test('an empty token opens nothing', () => {
    expect(createTokenCheck({ api: '' }, 'main').scopeOf('Bearer ')).toBeUndefined();
  });
});
