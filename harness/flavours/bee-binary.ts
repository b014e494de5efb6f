/**
 * Checks a program that is supposed to be a Bee: whether this machine can run it, whether it is one, and
 * which options it knows. The options come from its own `start --help`: the version number says less, and a
 * single unknown key makes it exit.
 */
import { type ExecFileException, execFile } from 'node:child_process';
import { accessSync, closeSync, constants, openSync, readSync, statSync } from 'node:fs';
import { HarnessError, messageOf } from '../base/errors.ts';

/** A Bee answers in some hundredths of a second; a program that takes this long is waiting for something. */
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

const START_HELP = ['start', '--help'];

const known = new Map<string, Promise<ReadonlySet<string>>>();

/**
 * Names of the options that `start` knows; asked once per program.
 * @param where it is named, for messages @throws HarnessError `BINARY_INVALID`
 */
export function beeOptions(binary: string, where = 'bee'): Promise<ReadonlySet<string>> {
  return remembered(binary, `${where}.binary`, async () => {
    checkRunnable(binary);
    return optionsIn(await startHelp(binary), binary);
  });
}

/**
 * The same for the program in a container's image.
 * @param run runs it to its end @throws HarnessError `BINARY_INVALID`
 */
export function imageOptions(
  image: string,
  where: string,
  run: (image: string, args: readonly string[]) => Promise<string>,
): Promise<ReadonlySet<string>> {
  return remembered(image, `${where}.image`, async () =>
    optionsIn(await run(image, START_HELP), `image ${image}`),
  );
}

/** Options of an image that was asked before. */
export function knownOptions(image: string): Promise<ReadonlySet<string>> {
  const asked = known.get(image);
  if (asked === undefined) throw new TypeError(`image ${image} is asked for its options before it is used`);
  return asked;
}

async function remembered(
  program: string,
  where: string,
  ask: () => Promise<ReadonlySet<string>>,
): Promise<ReadonlySet<string>> {
  const asked = known.get(program) ?? ask();
  known.set(program, asked);
  try {
    return await asked;
  } catch (error) {
    known.delete(program);
    if (!(error instanceof HarnessError)) throw error;
    const { hint } = error;
    throw new HarnessError(error.code, `${where}: ${error.message}`, { cause: error, hint });
  }
}

/** @param program for messages */
function optionsIn(help: string, program: string): ReadonlySet<string> {
  const options = new Set(
    [...help.matchAll(/^\s+(?:-\w, )?--([a-z0-9-]+)/gm)].map((match) => String(match[1])),
  );
  if (BEE_OPTIONS.every((name) => options.has(name))) return options;
  throw invalid(
    `${program} is not a Bee: its 'start --help' does not list ${BEE_OPTIONS.map((name) => `--${name}`).join(', ')}`,
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

/** Processor that a program was built for; undefined when its header does not say. */
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
      START_HELP,
      { timeout: HELP_TIMEOUT_MS, maxBuffer: HELP_BYTES_MAX, encoding: 'utf8' },
      (error, stdout, stderr) => {
        // A program that is not a Bee may end with any status; its output decides.
        const output = `${stdout}\n${stderr}`;
        if (error === null || typeof error.code === 'number') resolve(output);
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
