import { EXIT, exitCodeOf, HarnessError, type HarnessErrorCode } from '../../harness/base/errors.ts';
import { dialectOf } from '../../node/api/dialect.ts';
import { ApiError, type ApiErrorCode, ERRORS, errorBody, statusOf } from '../../node/api/errors.ts';
import { code, page, table } from './markdown.ts';

const EXIT_MEANINGS: Readonly<Record<keyof typeof EXIT, string>> = {
  success: 'success',
  checkFailed: 'a check, a condition of a scenario or a conformance row failed',
  usage: 'the command, its files or the machine are at fault',
  thresholdBreached: 'only thresholds of a load, or dropped iterations, failed',
  interrupted: 'interrupted; everything the command started is stopped',
};

/** Cause and what to do about it. */
const MEANINGS: Readonly<Record<HarnessErrorCode, readonly [cause: string, fix: string]>> = {
  USAGE: ['a command has a wrong flag or value', 'the message names the values allowed; see `--help`'],
  ARGUMENT_INVALID: ['a method cannot take its argument', 'the message names the value and what is expected'],
  DEFINITION_INVALID: [
    'a cluster file or `Cluster.start` options have mistakes',
    'run `svcnet validate FILE`',
  ],
  NETWORK_INVALID: [
    'a network file has mistakes, or its nodes do not answer',
    'correct what is named; nothing was attached',
  ],
  CLUSTER_EXISTS: [
    'a cluster of this name runs, or was left to run and is down',
    'choose another `--name`, or run `svcnet start` or `svcnet down`',
  ],
  CLUSTER_NOT_FOUND: ['no cluster has this name', 'run `svcnet ps`'],
  CLUSTER_GONE: ['a cluster stopped while it was used', 'look at its logs in `.svcnet/failed`'],
  NODE_NOT_FOUND: ['the cluster has no node of this name', 'run `svcnet ps`'],
  NODE_STATE: ['a node is not in the state that the operation needs', 'start, stop or resume it first'],
  MEMBER_LOST: ['a node or the chain died', 'the message has the end of its log'],
  GROWTH_REFUSED: [
    'the cluster cannot gain nodes, or cannot lose this one for good',
    'the message says why; the hint says what kind of cluster can',
  ],
  FAULT_REFUSED: [
    'the cluster cannot have this fault',
    'start it with `--link-faults` or `--machine-faults`',
  ],
  STATE_INVALID: [
    "a file of the state folder is damaged, missing, of another version, another user's, not made by svcnet, or leads out of the folder",
    'remove what the message names, or choose another folder',
  ],
  CANNOT_READ: ['a file or folder cannot be read', 'check its owner and its mode'],
  CANNOT_WRITE: ['a folder cannot be written', 'check its owner, its mode and free space'],
  PORT_IN_USE: ['another process has a fixed port', 'stop the process named, or choose another `--port`'],
  PROCESS_FAILED: ['a process ended, or did not start', 'the hint has the end of its log'],
  CHAIN_FAILED: ['the chain does not answer, or a transaction failed', 'the message has the reason'],
  PREPARE_FAILED: ['a step of `prepare` failed', 'the message names the step'],
  CHAIN_STEADY: [
    'blocks come at their own pace, because a Bee takes part',
    'wait for blocks instead of mining',
  ],
  CHAIN_UNCONTROLLED: [
    'the chain of an attached network has no control endpoint',
    'name it as `chain.control`',
  ],
  CONTRACT_UNKNOWN: ['a contract of an attached network was not found', 'name it under `chain.contracts`'],
  BINARY_INVALID: [
    'a program, such as a Bee, cannot be run, or does not treat local addresses as public',
    'check `--bee-binary`, `SVCNET_BEE_BINARY` or the `image` of its group',
  ],
  PROGRAM_NOT_FOUND: [
    'a helper such as k6 or Prometheus is not installed',
    'install it, or name it by its flag',
  ],
  ENGINE_FAILED: ['the Docker engine does not answer, or refuses', 'start it, or check `DOCKER_HOST`'],
  IMAGE_FAILED: ['an image cannot be built or found', 'the message has the output of the engine'],
  SNAPSHOT_EXISTS: ['a snapshot has this name', 'use `--force`, or another name'],
  SNAPSHOT_NOT_FOUND: ['no snapshot has this name', 'run `svcnet snapshot ls`'],
  SNAPSHOT_REFUSED: ['a snapshot does not fit, or the cluster cannot be saved', 'the message has the reason'],
  LOAD_FAILED: [
    'a load could not be made',
    'the message has the reason; k6 has its own log in the run folder',
  ],
  RUN_NOT_FOUND: ['there is no run of this name', 'name a folder, or look into `.svcnet/runs`'],
  NOT_TRUSTED: [
    'a run, recipe or cluster file from elsewhere names code or a program',
    'look at what it names; `--trust` runs it',
  ],
  RUN_INVALID: ['the folder of a run is incomplete or damaged', 'the message names the file'],
  RUNS_DIFFER: ['two runs have nothing to compare', 'run the same scenario or load on both sides'],
  UPLOAD_UNKNOWN: [
    'no node has a tag of the upload',
    'upload through a node of this cluster; a direct upload needs no wait',
  ],
  BATCH_UNKNOWN: ['no node knows the batch', 'buy one with `svcnet stamp`'],
  WAIT_TIMEOUT: ['a condition did not come true in time', 'the message says what was last seen'],
  START_TIMEOUT: ['a start took too long', 'the message names the step; see `--timeout`'],
  INTERRUPTED: ['Ctrl-C or a signal', 'none needed'],
};

export function errorsPage(): string {
  const exits = Object.entries(EXIT).map(([name, value]) => [
    String(value),
    EXIT_MEANINGS[name as keyof typeof EXIT],
  ]);
  const codes = Object.entries(MEANINGS).map(([name, [cause, fix]]) => [
    code(name),
    String(exitCodeOf(new HarnessError(name as HarnessErrorCode, ''))),
    cause,
    fix,
  ]);
  const answers = (Object.keys(ERRORS) as ApiErrorCode[])
    .map((name) => [String(statusOf(new ApiError(name))), code(messageOf(name)), code(name)] as const)
    .toSorted(([a], [b]) => Number(a) - Number(b));
  return page(
    'Errors',
    'the error tables of the code',
    '## Exit codes',
    table(['Code', 'Meaning'], exits),
    '## Commands and library',
    'Errors of the library have a `code`; with `--json` a command prints it as `error.code`.',
    table(['Code', 'Exit code', 'Cause', 'What to do'], codes),
    '## Answers of a node',
    'The body is `{ "code": STATUS, "message": TEXT }`, where a parameter is at fault with `reasons` that name it. Texts of the `svc` dialect are shown, with `…` for the cause; the codes are those of `node/api/errors.ts`. Where only the request can have caused a failure of 500, `svc` answers 400, 404 or 413, and its `reasons` say what is wrong (`node/api/mistakes.ts`).',
    table(['Status', 'Message', 'Code in the source'], answers),
  );
}

/** The text may be that of the error underneath. */
function messageOf(name: ApiErrorCode): string {
  const [, message] = ERRORS[name];
  if (typeof message !== 'string' && 'text' in message && message.text === 'cause') {
    const before = 'before' in message ? message.before : '';
    return `${before}…`;
  }
  return String(errorBody(new ApiError(name), dialectOf('svc'))['message']);
}
