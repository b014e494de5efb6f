import { anvilVersion, startAnvil } from './anvil.ts';
import type { Engine, EngineName, EngineOptions } from './engine.ts';
import { startInProcess } from './in-process/engine.ts';
import { inProcessVersion } from './in-process/provider.ts';

interface EngineKind {
  readonly version: () => string;
  /**
   * It mines when it is told to.
   * @throws LocalChainError ANVIL_MISSING, ANVIL_START_FAILED, ENGINE_MISSING; the signal's reason
   */
  readonly start: (options: EngineOptions) => Promise<Engine>;
}

export const ENGINES: Readonly<Record<EngineName, EngineKind>> = {
  anvil: { version: anvilVersion, start: startAnvil },
  'in-process': { version: inProcessVersion, start: startInProcess },
};
