import { createServer } from 'node:http';
import { expect, test } from 'vitest';
import { endServer, LOOPBACK, listening } from '../../../../harness/base/calls.ts';

test('a server may be ended twice, also at once', async () => {
  const server = createServer();
  await listening(server, LOOPBACK);
  await Promise.all([endServer(server), endServer(server)]);
  await endServer(server);
  expect(server.listening).toBe(false);
});
