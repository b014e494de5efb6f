import { expect, test } from 'vitest';
import { createLogger } from '../../../../node/env/logger.ts';
import { Refusals } from '../../../../node/p2p/peers/refusals.ts';
import { ManualClock } from '../../protocols/manual-clock.ts';

function told() {
  const clock = new ManualClock();
  const lines: Record<string, unknown>[] = [];
  const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const refusals = new Refusals({ clock, log: createLogger({ verbosity: 'info' }, { destination }) });
  return { clock, lines, refusals };
}

const WRONG = { code: 'NETWORK_ID_INCOMPATIBLE', detail: 'incompatible network ID 7' };
const peer = (n: number) => ({ id: `12D3KooW${n}`, address: `/ip4/10.0.0.${n}/tcp/1634` });

test('a peer that is refused again and again has one line in ten minutes, and the next says how many are missing', async () => {
  const { clock, lines, refusals } = told();
  for (let n = 0; n < 50; n++) refusals.tell(peer(1), WRONG);
  expect(lines).toMatchObject([
    {
      msg: 'peer refused',
      remote: '12D3KooW1',
      address: '/ip4/10.0.0.1/tcp/1634',
      reason: 'NETWORK_ID_INCOMPATIBLE',
      detail: 'incompatible network ID 7',
      hint: expect.stringContaining('network-id'),
    },
  ]);
  await clock.advance(600_000);
  refusals.tell(peer(1), WRONG);
  expect(lines[1]).toMatchObject({ remote: '12D3KooW1', leftOut: 49 });
});

test('another reason, and another peer, have lines of their own', () => {
  const { lines, refusals } = told();
  refusals.tell(peer(1), WRONG);
  refusals.tell(peer(1), { code: 'RECORD_INVALID', detail: 'invalid ack: signature' });
  refusals.tell(peer(2), WRONG);
  expect(lines).toHaveLength(3);
});

test('peers without number write a limited number of lines', () => {
  const { lines, refusals } = told();
  for (let n = 0; n < 5_000; n++) refusals.tell(peer(n), WRONG);
  expect(lines).toHaveLength(20);
});

test('a full bin and a peer that is blocklisted already are nothing to tell', () => {
  const { lines, refusals } = told();
  for (const code of ['PICKER_REJECTION', 'PEER_BLOCKLISTED', 'STREAM_RESET', '']) {
    refusals.tell(peer(1), { code, detail: '' });
  }
  expect(lines).toEqual([]);
});
