/**
 * A program that is said to be a Bee: whether this machine can run it, whether it is one, and which options it knows.
 * The options are those of its own `start --help`: a version's text says less, and one unknown key ends its start.
 */
import { type ExecFileException, execFile } from 'node:child_process';
import { accessSync, closeSync, constants, openSync, readSync, statSync } from 'node:fs';
import { HarnessError, messageOf } from '../base/errors.ts';

/** It answers in some hundredths of a second; a program that takes this long waits for something. */
const HELP_TIMEOUT_MS = 10_000;
const HELP_BYTES_MAX = 1024 * 1024;
/** No other program has all of these. */
const BEE_OPTIONS = ['full-node', 'blockchain-rpc-endpoint', 'postage-stamp-address', 'staking-address'];

/** `e_machine` of an ELF header by the names that Node.js gives to processors. */
const ELF_MACHINES: Readonly<Record<number, string>> = {
  0x03: 'ia32',
  0x28: 'arm',
  0x3e: 'x64',
  0xb7: 'arm64',
  0xf3: 'riscv64',
};
const ELF_MACHINE_AT = 18;

const known = new Map<string, Promise<ReadonlySet<string>>>();

/**
 * Names of the options that `start` knows; asked once per program.
 * @param where it is named, for messages @throws HarnessError `BINARY_INVALID`
 */
export async function beeOptions(binary: string, where = 'bee'): Promise<ReadonlySet<string>> {
  const asked = known.get(binary) ?? askOptions(binary);
  known.set(binary, asked);
  try {
    return await asked;
  } catch (error) {
    known.delete(binary);
    if (!(error instanceof HarnessError)) throw error;
    const { hint } = error;
    throw new HarnessError(error.code, `${where}.binary: ${error.message}`, {
      cause: error,
      ...(hint === undefined ? {} : { hint }),
    });
  }
}

async function askOptions(binary: string): Promise<ReadonlySet<string>> {
  checkRunnable(binary);
  const help = await startHelp(binary);
  const options = new Set(
    [...help.matchAll(/^\s+(?:-\w, )?--([a-z0-9-]+)/gm)].map((match) => String(match[1])),
  );
  if (BEE_OPTIONS.every((name) => options.has(name))) return options;
  throw invalid(
    `${binary} is not a Bee: its 'start --help' does not list ${BEE_OPTIONS.map((name) => `--${name}`).join(', ')}`,
  );
}

function checkRunnable(binary: string): void {
  const stat = statSync(binary, { throwIfNoEntry: false });
  if (stat === undefined) throw invalid(`there is no file ${binary}`);
  if (!stat.isFile()) throw invalid(`${binary} is not a file`);
  try {
    accessSync(binary, constants.X_OK);
  } catch (cause) {
    throw invalid(`${binary} is not executable`, { cause, hint: `Make it so with: chmod +x ${binary}` });
  }
  const machine = machineOf(binary);
  if (machine !== undefined && machine !== process.arch) {
    throw invalid(`${binary} is built for ${machine}, this machine is ${process.arch}`);
  }
}

/** Processor that a program is for; undefined when its header does not say. */
function machineOf(binary: string): string | undefined {
  const header = Buffer.alloc(ELF_MACHINE_AT + 2);
  const file = openSync(binary, 'r');
  try {
    readSync(file, header, 0, header.length, 0);
  } finally {
    closeSync(file);
  }
  if (header.toString('latin1', 0, 4) !== '\x7fELF') return undefined;
  const machine = header.readUInt16LE(ELF_MACHINE_AT);
  return ELF_MACHINES[machine] ?? `machine ${machine}`;
}

function startHelp(binary: string): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(
      binary,
      ['start', '--help'],
      { timeout: HELP_TIMEOUT_MS, maxBuffer: HELP_BYTES_MAX, encoding: 'utf8' },
      (error, stdout, stderr) => {
        // A program that is no Bee may end with any status; what it says decides.
        const said = `${stdout}\n${stderr}`;
        if (error === null || typeof error.code === 'number') resolve(said);
        else reject(invalid(`${binary} cannot be run: ${howItFailed(error)}`, { cause: error }));
      },
    ).stdin?.end();
  });
}

function howItFailed(error: ExecFileException): string {
  if (error.killed === true) return `'start --help' did not end within ${HELP_TIMEOUT_MS / 1000} s`;
  return typeof error.signal === 'string' ? `it was ended by ${error.signal}` : messageOf(error).trim();
}

function invalid(message: string, options: ErrorOptions & { hint?: string } = {}): HarnessError {
  return new HarnessError('BINARY_INVALID', message, options);
}
