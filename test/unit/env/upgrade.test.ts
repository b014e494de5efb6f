import { once } from 'node:events';
import { IncomingMessage } from 'node:http';
import { duplexPair } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { responseOn } from '../../../node/env/upgrade.ts';

test('an answer instead of another protocol closes its connection, though the client keeps its own side open', async () => {
  const [connection, client] = duplexPair();
  const request = new IncomingMessage(connection as never);
  const { response } = responseOn(request, connection)!;
  const closed = [once(response, 'close'), once(connection, 'close')];
  response.end('no');
  expect(await text(client)).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*\r\nno/);
  await Promise.all(closed);
  expect([response.writableFinished, connection.destroyed]).toEqual([true, true]);
});
