import type { Handle } from '../places/driver.ts';

/** What has to end when a start fails. */
export interface Launched {
  /** Before this, nothing has been created or reported. */
  begun: boolean;
  readonly parts: { readonly name: string; readonly handle: Handle }[];
  /** Connections. */
  readonly open: { close(): Promise<void> }[];
}
