/** What a cluster that starts again from its own folder does not continue. */
import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isOfOneRun, TAMPERED_FILE } from '../../flavours/tampered/settings.ts';
import type { ClusterFolder } from '../state/state.ts';
import { namesIn } from '../state/state-folder.ts';

/** Faults ended with the processes that had them: those on disk would be the only ones left. */
export function forgetRun(folder: ClusterFolder, nodes: readonly string[]): void {
  rmSync(join(folder.path, 'faults'), { recursive: true, force: true });
  for (const node of nodes) {
    const tampered = dirname(TAMPERED_FILE);
    const path = join(folder.dataDir(node), tampered);
    for (const name of namesIn(path)) {
      if (isOfOneRun(join(tampered, name))) rmSync(join(path, name), { recursive: true, force: true });
    }
  }
  // Anvil leaves the folder of its socket behind when nothing is there to tidy up.
  const chain = dirname(folder.chainOptions());
  for (const name of namesIn(chain)) {
    if (name.startsWith('svcnet-chain-')) rmSync(join(chain, name), { recursive: true, force: true });
  }
}
