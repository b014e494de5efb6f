/** Writers of archives: bytes as the standards say, with every field open to abuse. */
import * as fc from 'fast-check';
import { pack } from 'tar-stream';
import { expect } from 'vitest';
import { CollectionError } from '../../../../node/files/collection/collection.ts';

export interface TarFile {
  readonly name: string;
  readonly content?: Uint8Array | string;
  readonly type?: 'file' | 'directory' | 'symlink' | 'link';
  readonly pax?: Record<string, string>;
}

export async function tarOf(files: readonly TarFile[]): Promise<Uint8Array> {
  const archive = pack();
  for (const { name, content = '', type = 'file', pax } of files) {
    const isLink = type === 'symlink' || type === 'link';
    const header = {
      name,
      type,
      ...(isLink ? { linkname: 'target' } : {}),
      ...(pax === undefined ? {} : { pax }),
    };
    archive.entry(header, Buffer.from(content));
  }
  archive.finalize();
  return new Uint8Array(Buffer.concat(await Array.fromAsync(archive as AsyncIterable<Uint8Array>)));
}

export function tarHeader(fields: {
  name: string | Uint8Array;
  size: string | Uint8Array;
  type?: string;
  magic?: string;
  prefix?: string | Uint8Array;
  mode?: string;
  linkname?: string;
  /** Bytes at other places. */
  at?: Readonly<Record<number, string>>;
}): Buffer {
  const block = Buffer.alloc(512);
  Buffer.from(fields.name).copy(block, 0);
  Buffer.from(fields.size).copy(block, 124);
  block.write(fields.type ?? '0', 156, 'latin1');
  block.write(fields.magic ?? 'ustar\x0000', 257, 'latin1');
  block.write(fields.mode ?? '', 100, 'latin1');
  block.write(fields.linkname ?? '', 157);
  Buffer.from(fields.prefix ?? '').copy(block, 345);
  for (const [at, text] of Object.entries(fields.at ?? {})) block.write(text, Number(at), 'latin1');
  block.fill(' ', 148, 156);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}

export function tarBody(content: Uint8Array | string): Buffer {
  const bytes = Buffer.from(content);
  return Buffer.concat([bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512)]);
}

export const TAR_END = Buffer.alloc(1024);

export const octal = (value: number) => `${value.toString(8).padStart(11, '0')}\0`;

export function tarEntry(
  name: string | Uint8Array,
  content: Uint8Array | string = '',
  fields: Partial<Parameters<typeof tarHeader>[0]> = {},
): Buffer {
  return Buffer.concat([
    tarHeader({ name, size: octal(Buffer.from(content).length), ...fields }),
    tarBody(content),
  ]);
}

/** A record of pax, its length counted with itself. */
export function paxRecord(key: string, value: string | Uint8Array): Buffer {
  const rest = Buffer.concat([Buffer.from(` ${key}=`), Buffer.from(value), Buffer.from('\n')]);
  let length = rest.length;
  while (String(length).length + rest.length !== length) length = String(length).length + rest.length;
  return Buffer.concat([Buffer.from(String(length)), rest]);
}

export function paxEntry(records: Readonly<Record<string, string | Uint8Array>>, type = 'x'): Buffer {
  const content = Object.entries(records).map(([key, value]) => paxRecord(key, value));
  return tarEntry('pax_global_header', Buffer.concat(content), { type });
}

export interface Part {
  readonly headers: readonly string[];
  readonly content: Uint8Array | string;
}

export function multipartOf(boundary: string, parts: readonly Part[]): Uint8Array {
  const pieces = parts.flatMap(({ headers, content }) => [
    Buffer.from(`--${boundary}\r\n${headers.map((header) => `${header}\r\n`).join('')}\r\n`),
    Buffer.from(content),
    Buffer.from('\r\n'),
  ]);
  return new Uint8Array(Buffer.concat([...pieces, Buffer.from(`--${boundary}--\r\n`)]));
}

/** Whatever bytes are changed, the error says why. */
export async function expectReadOrRefused(
  whole: Uint8Array,
  read: (archive: Uint8Array) => Promise<unknown>,
): Promise<void> {
  const change = fc.record({ at: fc.nat(whole.length - 1), to: fc.nat(255) });
  await fc.assert(
    fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 4 }), async (changes) => {
      const bytes = whole.slice();
      for (const { at, to } of changes) bytes[at] = to;
      try {
        await read(bytes);
      } catch (error) {
        expect(error).toBeInstanceOf(CollectionError);
      }
    }),
    { numRuns: 400 },
  );
}
