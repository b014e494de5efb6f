import { fc, test as property } from '@fast-check/vitest';
import { describe, expect, test } from 'vitest';
import { bytesOf, shown, textOf } from '../../../node/manifest/byte-text.ts';
import { Manifest } from '../../../node/manifest/manifest.ts';
import { decodeMetadata, encodeMetadata } from '../../../node/manifest/metadata.ts';

describe('names of any bytes', () => {
  const byte = fc.oneof(fc.nat(255), fc.constantFrom(0xc3, 0xa9, 0xed, 0xa0, 0x80, 0xf0, 0x9f, 0x98));
  property.prop([fc.array(byte)])('survive the way to text and back', (bytes) => {
    const name = Uint8Array.from(bytes);
    expect(bytesOf(textOf(name))).toEqual(Buffer.from(name));
  });

  test.each([
    ['636166c3a9', 'café'],
    ['636166e9', 'caf\udce9'],
    ['e9c3a9', '\udce9é'],
    ['c3', '\udcc3'],
    ['eda080', '\udced\udca0\udc80'],
    ['f09f9880f09f98', '😀\udcf0\udc9f\udc98'],
    ['efbbbf61', '\ufeffa'],
  ])('%s is the text %j', (hex, text) => {
    expect(textOf(Buffer.from(hex, 'hex'))).toBe(text);
    expect(bytesOf(text).toString('hex')).toBe(hex);
  });

  test('are paths of a manifest as they are', async () => {
    const manifest = Manifest.create();
    const entry = new Uint8Array(32).fill(1);
    await manifest.add('caf\udce9', entry);
    expect(await manifest.lookup('caf\udce9')).toMatchObject({ reference: entry });
    expect(await manifest.lookup('caf\ufffd')).toBeUndefined();
    const paths = await Array.fromAsync(manifest.walk(), ({ path }) => path);
    expect(paths).toContain('caf\udce9');
  });

  test('are in metadata as a Bee writes them', () => {
    const encoded = Buffer.from(encodeMetadata({ Filename: 'a\udce9\udcff"\ufffd' }));
    expect(encoded.toString().trimEnd()).toBe('{"Filename":"a\\ufffd\\ufffd\\"\ufffd"}');
    expect(decodeMetadata(Buffer.from('{"a":"\\udce9"}'))).toEqual({ a: '\ufffd' });
  });

  test('are shown in quotes, cut, without control characters', () => {
    expect(shown('a"\u001b[2J\u202e\udce9')).toBe(String.raw`"a\"�[2J��"`);
    expect(shown('x'.repeat(500))).toBe(`"${'x'.repeat(200)}…"`);
  });
});
