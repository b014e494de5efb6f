import { expect, test } from 'vitest';
import { createAdmission } from '../../../chain/admission.ts';

const TOKEN = 'a-token-of-a-chain';
const admission = createAdmission({ token: TOKEN, allowedHosts: ['chain'], origins: [] });

test.each([
  ['one host', '/node-0', ['chain'], undefined],
  ['two hosts', '/node-0', ['chain', 'evil.example'], 400],
  ['one host twice', '/node-0', ['chain', 'chain'], 400],
  ['another authority', 'http://evil.example/', ['chain'], 403],
  ['its own authority', 'http://chain:8545/', ['evil.example'], undefined],
])('a request with %s is judged at both endpoints', (_what, url, hosts, status) => {
  const authorization = `Bearer ${TOKEN}`;
  const request = {
    url,
    headers: { host: hosts[0], authorization },
    rawHeaders: [...hosts.flatMap((host) => ['Host', host]), 'Authorization', authorization],
  };
  expect(admission.rpcRefusal(request)?.status).toBe(status);
  expect(admission.controlRefusal(request)?.status).toBe(status);
});
