import { CodedError } from '../formats/coded-error.ts';

export type LocalChainErrorCode =
  | 'ANVIL_MISSING'
  | 'ANVIL_START_FAILED'
  | 'ANVIL_EXITED'
  | 'BUSY'
  | 'PORT_IN_USE'
  | 'DEPLOYMENT_FAILED'
  | 'ENGINE_MISSING'
  | 'LISTEN_FAILED'
  | 'OPTIONS_INVALID'
  | 'PAUSED'
  | 'REFUSED'
  | 'STATE_BUSY'
  | 'STATE_REFUSED'
  | 'STEADY'
  | 'STOPPED';

export class LocalChainError extends CodedError<LocalChainErrorCode> {}
