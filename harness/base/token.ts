/** Sent, never shown. */
import { HarnessError, messageOf } from './errors.ts';
import { readFileLimited } from './read-limited.ts';

/** Where a token is: here, or in a file. Neither: the node requires none. */
export interface TokenSource {
  readonly token?: string | undefined;
  /** Absolute path. */
  readonly tokenFile?: string | undefined;
}

export const TOKEN = /^[\w.~+/=-]+$/;
export const TOKEN_EXPECTED = 'a token: letters, digits and - . _ ~ + / =';

const TOKEN_FILE_MAX = 4096;

/** Reads the file on first use: a cluster can be forgotten without it. */
export class Authorization {
  readonly #source: TokenSource;
  #read: string | undefined;

  constructor(source: TokenSource) {
    this.#source = source;
  }

  /** @throws HarnessError `DEFINITION_INVALID` when the file is unreadable or holds no token */
  headers(): Readonly<Record<string, string>> {
    const { token, tokenFile } = this.#source;
    if (token === undefined && tokenFile === undefined) return {};
    this.#read ??= token ?? tokenIn(tokenFile as string);
    return { authorization: `Bearer ${this.#read}` };
  }
}

function tokenIn(path: string): string {
  let text: string;
  try {
    text = readFileLimited(path, TOKEN_FILE_MAX).trim();
  } catch (cause) {
    throw new HarnessError('DEFINITION_INVALID', `cannot read the token: ${messageOf(cause)}`, { cause });
  }
  if (TOKEN.test(text)) return text;
  throw new HarnessError('DEFINITION_INVALID', `${path} holds no token, expected ${TOKEN_EXPECTED}`);
}
