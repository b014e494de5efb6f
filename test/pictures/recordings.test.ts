import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../temporary-folder.ts';
import { comparable, played, RECORDINGS } from './recordings.ts';
import { terminalSvg, textOf } from './terminal.ts';

const PICTURES = join(import.meta.dirname, '../../docs/pictures');

test.each(RECORDINGS)('docs/pictures/$file is up to date; npm run pictures draws it', async (recording) => {
  const sessions = await played(recording, temporaryFolder('svcnet-recording'));
  const drawn = terminalSvg(sessions, recording);
  const kept = readFileSync(join(PICTURES, recording.file), 'utf8');
  expect(comparable(textOf(kept))).toEqual(comparable(textOf(drawn)));
});

test('a recording keeps its words, whatever they are', () => {
  const sessions = [{ command: 'a <b> && c', printed: '  ✖ one\n  ✔ two & three\n' }];
  expect(textOf(terminalSvg(sessions, { moving: true }))).toEqual([
    '$ a <b> && c',
    '  ✖ one',
    '  ✔ two & three',
    '',
  ]);
});

test('times, ports, dates and effects do not count, other words do', () => {
  expect(comparable(['✔ mesh  2 links  1.5 s', '', 'at 127.0.0.1:80'])).toEqual(
    comparable(['at 127.0.0.1:99', '✔ mesh 2 links     20 ms']),
  );
  expect(comparable(['0:01.5 cuts the power of node-0 (1 power cut, 38 transactions lost)'])).toEqual(
    comparable(['0:00.0 cuts the power of node-0 (1 power cut, 1 slot torn)']),
  );
  expect(comparable(['3 of 3'])).not.toEqual(comparable(['2 of 3']));
});
