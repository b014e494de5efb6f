import type { Handle } from '../../places/driver.ts';
import type { PartWatch } from './part-watch.ts';

/** What has to end when a start fails. */
export interface Launched {
  /** Before this, nothing has been created or reported. */
  begun: boolean;
  readonly parts: { readonly name: string; readonly handle: Handle }[];
  /** Looks after the parts that were ready once. */
  readonly watch: PartWatch;
  /** Connections. */
  readonly open: { close(): Promise<void> }[];
}
