import { readFileSync, writeFileSync } from 'node:fs';
import { fromHex, toHex } from '../../../formats/crypto/hex.ts';
import { makeFolder, ownPath } from '../../base/own-folder.ts';
import type { EmbeddedSettings } from '../../flavours/flavour.ts';

export interface EmbeddedNode extends EmbeddedSettings {
  /** TCP if a peer is outside the process. */
  readonly transport: 'memory' | 'tcp';
  readonly store: 'memory' | 'disk';
  readonly shareResults: boolean;
  readonly tap: boolean;
  /** Hex. */
  readonly overlay: string;
}

interface Document extends Omit<EmbeddedNode, 'keys'> {
  /** Hex. */
  readonly keys: Record<keyof EmbeddedNode['keys'], string>;
}

export function writeEmbedded(dataDir: string, { keys, ...rest }: EmbeddedNode): void {
  makeFolder(dataDir, 0o700);
  const { swarm, libp2p, pss } = keys;
  const document: Document = {
    ...rest,
    keys: { swarm: toHex(swarm), libp2p: toHex(libp2p), pss: toHex(pss) },
  };
  writeFileSync(fileOf(dataDir), `${JSON.stringify(document, undefined, 2)}\n`, { mode: 0o600 });
}

export function readEmbedded(dataDir: string): EmbeddedNode {
  const { keys, ...rest } = JSON.parse(readFileSync(fileOf(dataDir), 'utf8')) as Document;
  const { swarm, libp2p, pss } = keys;
  return { ...rest, keys: { swarm: fromHex(swarm), libp2p: fromHex(libp2p), pss: fromHex(pss) } };
}

function fileOf(dataDir: string): string {
  return ownPath(dataDir, ['node.json'], 'file');
}
