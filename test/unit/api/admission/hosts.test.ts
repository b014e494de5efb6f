import { describe, expect, test } from 'vitest';
import { createHostCheck, nameOf } from '../../../../node/api/admission/hosts.ts';

describe('host names', () => {
  test.each([
    undefined,
    '127.0.0.1',
    '127.0.0.1:1633',
    '192.168.1.7:80',
    '[::1]',
    '[::1]:1633',
    '[fd00::12]:1633',
    'localhost',
    'localhost:1633',
    'LocalHost.:1633',
    'a.localhost',
    'bah5acgza.swarm.localhost:1633',
    'node.example.org',
    'NODE.example.org.:1633',
  ])('%s is accepted', (host) => {
    expect(createHostCheck(['Node.example.org'])(host)).toBe(true);
  });

  test.each([
    'evil.example',
    'evil.example:1633',
    'localhost.evil.example',
    'notlocalhost',
    '127.0.0.1.evil.example',
    'example.org',
    'a.node.example.org',
    '127.1',
    '2130706433',
    '[::1].evil.example',
    'localhost:80:80',
    'evil.example/localhost',
    'evil.example@localhost',
    'a b',
    '',
    ':1633',
    '*',
  ])("'%s' is not accepted", (host) => {
    expect(createHostCheck(['node.example.org'])(host)).toBe(false);
  });

  test('a star lets every name in', () => {
    expect(createHostCheck(['*'])('evil.example')).toBe(true);
  });

  test('the name is in lower case, without port and closing dot', () => {
    expect(['A.B.:1', '[::1]:2', 'x'].map(nameOf)).toEqual(['a.b', '[::1]', 'x']);
  });
});
