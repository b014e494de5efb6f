import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import { Screen } from '../../../../../harness/base/terminal/screen.ts';

class FakeTerminal extends EventEmitter {
  columns = 80;
  rows = 24;
  written: string[] = [];
  write(text: string): void {
    this.written.push(text);
  }
}

test('the cursor is hidden while there is a picture, and shown again afterwards', () => {
  const terminal = new FakeTerminal();
  const exits = process.listenerCount('exit');
  {
    using screen = new Screen(terminal);
    screen.draw(() => ['one', 'two']);
    expect(terminal.written[0]).toContain('\u001b[?25l');
    expect(process.listenerCount('exit')).toBe(exits + 1);
  }
  expect(terminal.written.at(-1)).toBe('\u001b[?25h\u001b[?1049l');
  expect(process.listenerCount('exit')).toBe(exits);
  expect(terminal.listenerCount('resize')).toBe(0);
});

test('each line and everything below is cleared, and nothing scrolls', () => {
  const terminal = new FakeTerminal();
  using screen = new Screen(terminal);
  screen.draw(() => ['one', 'two']);
  expect(terminal.written.at(-1)).toBe('\u001b[Hone\u001b[K\r\ntwo\u001b[K\u001b[J');
});

test('resizing the terminal redraws the same picture', () => {
  const terminal = new FakeTerminal();
  using screen = new Screen(terminal);
  screen.draw(({ width, rows }) => [`${width} x ${rows}`]);
  terminal.columns = 60;
  terminal.rows = 10;
  terminal.emit('resize');
  expect(terminal.written.at(-1)).toContain('60 x 10');
});
