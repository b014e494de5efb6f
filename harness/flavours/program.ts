import { type ExecFileException, execFile } from 'node:child_process';
import { accessSync, closeSync, constants, openSync, readSync, statSync } from 'node:fs';
import { HarnessError, messageOf } from '../base/errors.ts';
import { inheritedEnvironment } from '../base/machine/processes.ts';

/** A script on a busy machine answers in seconds; one that takes this long is waiting for something. */
const ANSWER_TIMEOUT_MS = 60_000;
const ANSWER_BYTES_MAX = 1024 * 1024;

const ELF_MACHINES: Readonly<Record<number, string>> = {
  0x03: 'ia32',
  0x28: 'arm',
  0x3e: 'x64',
  0xb7: 'arm64',
  0xf3: 'riscv64',
};
const ELF_MACHINE_AT = 18;

/** @param isScript whether another program reads it @throws HarnessError `BINARY_INVALID` */
export function checkRunnable(binary: string, isScript = false): void {
  const stat = statSync(binary, { throwIfNoEntry: false });
  if (stat === undefined) throw invalidProgram(`there is no file ${binary}`);
  if (!stat.isFile()) throw invalidProgram(`${binary} is not a file`);
  if (isScript) return;
  try {
    accessSync(binary, constants.X_OK);
  } catch (cause) {
    throw invalidProgram(`${binary} is not executable`, {
      cause,
      hint: `Make it so with: chmod +x ${binary}`,
    });
  }
  const machine = machineOf(binary);
  if (machine !== undefined && machine !== process.arch) {
    throw invalidProgram(`${binary} is built for ${machine}, this machine is ${process.arch}`);
  }
}

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

/**
 * What it prints on both outputs, whatever its status.
 * @param prefix as in a `Command`
 * @param interpreter what runs it, with arguments; default: the system
 * @throws HarnessError `BINARY_INVALID`
 */
export function programOutput(
  binary: string,
  args: readonly string[],
  { prefix, interpreter = [] }: { readonly prefix?: string; readonly interpreter?: readonly string[] } = {},
): Promise<string> {
  const [file, ...before] = [...interpreter, binary];
  return new Promise((resolve, reject) => {
    execFile(
      file,
      [...before, ...args],
      {
        timeout: ANSWER_TIMEOUT_MS,
        maxBuffer: ANSWER_BYTES_MAX,
        encoding: 'utf8',
        env: inheritedEnvironment({ prefix }),
      },
      (error, stdout, stderr) => {
        if (error === null || typeof error.code === 'number') resolve(`${stdout}\n${stderr}`);
        else reject(invalidProgram(`${binary} cannot be run: ${howItFailed(error, args)}`, { cause: error }));
      },
    ).stdin?.end();
  });
}

function howItFailed(error: ExecFileException, args: readonly string[]): string {
  if (error.killed === true) return `'${args.join(' ')}' did not end within ${ANSWER_TIMEOUT_MS / 1000} s`;
  return typeof error.signal === 'string' ? `it was ended by ${error.signal}` : messageOf(error).trim();
}

/**
 * From indented lines such as `-b, --boot_nodes <list>  first contacts`. What follows a gap explains the option, and may
 * name others.
 */
export function optionsListed(help: string): ReadonlySet<string> {
  const heads = help
    .split('\n')
    .filter((line) => /^[ \t]+-/.test(line))
    .map((line) => line.trim().split(/ {2}|\t/)[0] ?? '');
  return new Set(
    heads.flatMap((head) => Array.from(head.matchAll(OPTION), ({ groups }) => groups?.['name'] ?? '')),
  );
}
const OPTION = /(?<![\w-])--(?<name>[A-Za-z0-9][\w.-]*)/g;

/** @param known answers by program @param where how messages name it @throws HarnessError `BINARY_INVALID` */
export async function remembered(
  known: Map<string, Promise<ReadonlySet<string>>>,
  { program, where }: { readonly program: string; readonly where: string },
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

/** @param wanted options that no other program has all of @throws HarnessError `BINARY_INVALID` */
export function expectOptions(
  options: ReadonlySet<string>,
  wanted: readonly string[],
  { program, kind, help }: { readonly program: string; readonly kind: string; readonly help: string },
): ReadonlySet<string> {
  if (wanted.every((name) => options.has(name))) return options;
  throw invalidProgram(
    `${program} is not ${kind}: its '${help}' does not list ${wanted.map((name) => `--${name}`).join(', ')}`,
  );
}

export function invalidProgram(
  message: string,
  options: ErrorOptions & { hint?: string } = {},
): HarnessError {
  return new HarnessError('BINARY_INVALID', message, options);
}
