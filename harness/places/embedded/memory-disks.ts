import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fromHex } from '../../../formats/crypto/hex.ts';
import type { Random } from '../../../formats/random.ts';
import { ADDRESS_BOOK } from '../../../node/p2p/address/address-book.ts';
import { HarnessError } from '../../base/errors.ts';
import { makeFolder, ownPath } from '../../base/own-folder.ts';
import { loadTampering, type Programs } from './programs.ts';

type Disk = InstanceType<Programs['MemoryDisk']>;

export class MemoryDisks {
  readonly #disks = new Map<string, Disk>();

  of(node: { readonly name: string; readonly dataDir: string }, Disk: Programs['MemoryDisk']): Disk {
    const disk = this.#disks.get(node.name) ?? new Disk(takeImage(node.dataDir));
    this.#disks.set(node.name, disk);
    return disk;
  }

  get(name: string): Disk | undefined {
    return this.#disks.get(name);
  }

  /** @throws HarnessError `PROCESS_FAILED` when the node has never run */
  save(name: string, dataDir: string): void {
    const disk = this.#disks.get(name);
    if (disk === undefined) throw new HarnessError('PROCESS_FAILED', `${name} has never run here`);
    makeFolder(dataDir, 0o700);
    writeFileSync(imageFile(dataDir), disk.image(ADDRESS_BOOK), { mode: 0o600 });
  }

  discard(name: string): void {
    this.#disks.delete(name);
  }

  async damage(name: string, chunks: number): Promise<number> {
    const disk = this.#disks.get(name);
    if (disk === undefined) return 0;
    return (await loadTampering()).flipInMemory(disk, chunks);
  }

  /** @param overlays of all nodes, 64 hex digits, with their names */
  async tear(
    name: string,
    { count, overlays, random }: { count: number; overlays: ReadonlyMap<string, string>; random: Random },
  ): Promise<number> {
    const disks = [...overlays].flatMap(([overlay, node]) => {
      const disk = this.#disks.get(node);
      return disk === undefined ? [] : [{ node, disk, overlay: fromHex(overlay) }];
    });
    const own = disks.find(({ node }) => node === name);
    if (own === undefined) return 0;
    const { tearInMemory } = await import('../../flavours/tampered/tear.ts');
    return tearInMemory(
      own,
      disks.filter(({ node }) => node !== name),
      { count, random },
    );
  }

  holds(name: string, address: string): boolean {
    return this.#disks.get(name)?.holds(fromHex(address)) ?? false;
  }

  clear(): void {
    this.#disks.clear();
  }
}

function imageFile(dataDir: string): string {
  return ownPath(dataDir, ['disk.image'], 'file');
}

/** The file is used once: from then on the disk is newer. */
function takeImage(dataDir: string): Uint8Array | undefined {
  const file = imageFile(dataDir);
  if (!existsSync(file)) return undefined;
  const image = readFileSync(file);
  rmSync(file);
  return image;
}
