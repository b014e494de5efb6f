import type { DialectName } from '../../client/dialect.ts';
import type { NodeMode } from '../flavour.ts';

/** A text, which may have values such as `{api-port}`, a number, a truth value or a list of texts. */
export type FlavourValue = string | number | boolean | readonly string[];

/** A file with a key of a node. */
export interface FlavourKeyFile {
  /** Below the data directory. */
  readonly path: string;
  /** Default: `keystore`, version 3 with the password `{password}`. */
  readonly format?: 'keystore' | 'hex' | 'raw' | 'pem' | undefined;
}

/** A node program that this package does not know: what `readFlavour` returns. */
export interface FlavourInput {
  /** As groups call it. */
  readonly name: string;
  /** Path of the program. */
  readonly program: string;
  /** Checked before a start. Default of `args`: `--version`. */
  readonly version?: { readonly args?: readonly string[] | undefined; readonly pattern: string } | undefined;
  readonly args?: readonly string[] | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly config?:
    | {
        readonly path: string;
        readonly format: 'yaml' | 'json' | 'toml' | 'env';
        /** What the testbed decides. */
        readonly values?: Readonly<Record<string, FlavourValue>> | undefined;
        /** What options of a group can change. */
        readonly defaults?: Readonly<Record<string, FlavourValue>> | undefined;
        /** Arguments that make the program list its options; values that it does not list are left out. */
        readonly known?: readonly string[] | undefined;
      }
    | undefined;
  /** Further files below the data directory. */
  readonly files?: readonly { readonly path: string; readonly text: string }[] | undefined;
  readonly keys: {
    readonly swarm?: FlavourKeyFile | undefined;
    readonly libp2p: {
      readonly type: 'ed25519' | 'p256' | 'secp256k1';
      readonly path?: string | undefined;
      readonly format?: FlavourKeyFile['format'];
    };
    readonly pss?: FlavourKeyFile | undefined;
  };
  /** Where options of a group go. Default: `none`, they are refused. */
  readonly options?: 'config' | 'args' | 'none' | undefined;
  /** Default: `swarm`. */
  readonly dialect?: DialectName | undefined;
  /** Default: `full` alone. */
  readonly modes?: readonly NodeMode[] | undefined;
  /** It finds peers through `{bootnodes}`. Default: true. */
  readonly bootstraps?: boolean | undefined;
  /** Its timing and credit are the public network's. Default: true. */
  readonly publicConstants?: boolean | undefined;
  /** It may dial a peer where it listens instead of where it advertises. Default: false. */
  readonly learnsListeners?: boolean | undefined;
  /** Folders with what it stores. */
  readonly stored?: readonly string[] | undefined;
  /** What else its API must answer before it serves: a line that matches. */
  readonly well?: readonly { readonly path: string; readonly pattern: string }[] | undefined;
  /** Time until it dials a peer again that it could not reach, such as `30s`. */
  readonly redial?: string | undefined;
  /** Time that it may take to end. Default: `10s`. */
  readonly stop?: string | undefined;
}
