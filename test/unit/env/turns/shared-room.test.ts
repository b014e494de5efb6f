import { expect, test } from 'vitest';
import { SharedRoom } from '../../../../node/env/turns/shared-room.ts';

test('parts grow and shrink as long as all of them fit together', () => {
  const room = new SharedRoom(10);
  {
    using a = room.open();
    using b = room.open();
    expect([a.resize(6), b.resize(4), a.resize(7), b.resize(3), a.resize(7)]).toEqual([
      true,
      true,
      false,
      true,
      true,
    ]);
    expect(room.held).toBe(10);
  }
  expect(room.held).toBe(0);
});
